# SPDX-License-Identifier: Apache-2.0
"""Operands for the floating-point environment."""

from __future__ import annotations

import random

from pyuvm import uvm_sequence

from verif.agents.stream import StreamItem, send
from verif.bench import rng
from verif.float.coverage import CLASSES, Format


def of_class(kind: str, form: Format, generator: random.Random) -> int:
    """A random bit pattern of a class, of either sign."""
    top, ones = (1 << form.exp) - 1, (1 << form.man) - 1
    quiet = 1 << (form.man - 1)
    fraction = generator.choice((1, ones, generator.randint(1, ones)))
    exponent = generator.choice((1, top >> 1, top - 1, generator.randint(1, top - 1)))
    magnitude = {
        "zero": 0,
        "subnormal": fraction,
        "normal": exponent << form.man | generator.choice((0, fraction)),
        "infinity": top << form.man,
        "quiet_nan": top << form.man | quiet | fraction,
        "signaling_nan": top << form.man | (fraction & ~quiet or 1),
    }[kind]
    return generator.getrandbits(1) << (form.exp + form.man) | magnitude


class Classes(uvm_sequence):
    """Every class of a with every class of b, added and subtracted, `rounds` times."""

    def __init__(self, form: Format, rounds: int, kinds: tuple[str, ...] = CLASSES) -> None:
        super().__init__("classes")
        self.form = form
        self.rounds = rounds
        self.kinds = kinds

    async def body(self) -> None:
        """Send them in random order of the rounds' pairs."""
        generator = rng("classes")
        pairs = [(a, b, s) for a in self.kinds for b in self.kinds for s in (0, 1)]
        for _ in range(self.rounds):
            generator.shuffle(pairs)
            for a, b, subtract in pairs:
                operands = {
                    "a": of_class(a, self.form, generator),
                    "b": of_class(b, self.form, generator),
                    "subtract": subtract,
                }
                await send(self, StreamItem(**operands))


class Random(uvm_sequence):
    """Random operands, half of them with exponents close to each other."""

    def __init__(self, form: Format, count: int) -> None:
        super().__init__("random")
        self.form = form
        self.count = count

    async def body(self) -> None:
        """Send them."""
        generator = rng("random")
        width = 1 + self.form.exp + self.form.man
        for _ in range(self.count):
            a = generator.getrandbits(width)
            b = generator.getrandbits(width)
            if generator.getrandbits(1):
                b = (a + generator.randrange(4 << self.form.man)) & (1 << width) - 1
            await send(self, StreamItem(a=a, b=b, subtract=generator.getrandbits(1)))
