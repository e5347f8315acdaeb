"""What the generated register maps are made of: registers and their fields."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A bit field of a register.

    Attributes:
        name: name in the register description.
        lsb: position of its lowest bit.
        width: bits.
        access: RO, RW, WO, W1C (write 1 to clear) or W1S (write 1 to set).
        reset: value after a hard reset (0 where the hardware drives it).
        description: one line.
    """

    name: str
    lsb: int
    width: int
    access: str
    reset: int
    description: str

    @property
    def mask(self) -> int:
        """The field's bits in the word."""
        return ((1 << self.width) - 1) << self.lsb

    def get(self, word: int) -> int:
        """Extract the field from a word."""
        return (word & self.mask) >> self.lsb

    def put(self, value: int, word: int = 0) -> int:
        """Return the word with the field set. Raises ValueError if the value does not fit."""
        if not 0 <= value < 1 << self.width:
            raise ValueError(f"{self.name}: {value}, want 0..{(1 << self.width) - 1}")
        return (word & ~self.mask) | (value << self.lsb)


@dataclass(frozen=True)
class Register:
    """A 32-bit register, or an array of them.

    Attributes:
        name: name in the register description; the halves of a 64-bit one end in _LO and _HI.
        offset: byte offset in the page, of the first one in an array.
        access: RO, RW or WO: what the bus answers without SLVERR.
        reset: value after a hard reset.
        idle_only: a write while the engine is not idle answers SLVERR.
        count: elements of the array, 1 if it is none.
        stride: bytes from one element to the next.
        fields: from the low bits up.
        description: one line.
    """

    name: str
    offset: int
    access: str
    reset: int
    idle_only: bool
    count: int
    stride: int
    fields: tuple[Field, ...]
    description: str

    def at(self, index: int) -> int:
        """Byte offset of an element. Raises IndexError."""
        if not 0 <= index < self.count:
            raise IndexError(f"{self.name}[{index}]: want 0..{self.count - 1}")
        return self.offset + index * self.stride

    def field(self, name: str) -> Field:
        """The field of this name. Raises KeyError."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"{self.name}.{name}")

    def word(self, **values: int) -> int:
        """The word with these fields; others are 0. Raises: KeyError, ValueError (does not fit)."""
        word = 0
        for name, value in values.items():
            word = self.field(name).put(value, word)
        return word

    @property
    def write_mask(self) -> int:
        """The bits that keep what is written."""
        return sum(field.mask for field in self.fields if field.access == "RW")


def by_offset(registers: tuple[Register, ...]) -> dict[int, Register]:
    """Map each implemented byte offset, array elements included, to its register."""
    return {reg.at(index): reg for reg in registers for index in range(reg.count)}
