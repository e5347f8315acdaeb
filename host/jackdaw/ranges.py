"""Ranges: what settings and arguments may be; all else is refused by a named error.

    @dataclass(frozen=True)
    class Settings:
        batch: Annotated[int, Range(1, 4096)]
        tau: Annotated[float | None, Range(0, 1)] = None

        def __post_init__(self) -> None:
            check(self)

Nothing is bent to fit: a whole number may come as any numeric type, but a fraction, a NaN, a truth
value or what would wrap is an error that says what was got and what is wanted. Infinities are
refused unless a range says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from jackdaw.errors import ConfigError

INFINITE = math.inf
FLOAT32_MAX = float(np.finfo(np.float32).max)
WORD_MAX = (1 << 32) - 1
SEED_MAX = (1 << 64) - 1
STEPS_MAX = (1 << 31) - 1
PLAIN_INTEGERS = "iu"


@dataclass(frozen=True)
class Range:
    """Numbers from low to high.

    Attributes:
        low, high: bounds, themselves allowed.
        above: low itself is not allowed.
        below: high itself is not allowed.
        infinite: infinities are allowed, if the bounds are infinite.
    """

    low: float = -INFINITE
    high: float = INFINITE
    above: bool = False
    below: bool = False
    infinite: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number is inside; a NaN is not."""
        if not self.infinite and not math.isfinite(value):
            return False
        low = self.low < value if self.above else self.low <= value
        return low and (value < self.high if self.below else value <= self.high)

    def __str__(self) -> str:
        low, high = abs(self.low) < FLOAT32_MAX, abs(self.high) < FLOAT32_MAX
        if low and high and not (self.above or self.below):
            return f"{shown(self.low)}..{shown(self.high)}"
        parts = [f"{'more than' if self.above else 'at least'} {shown(self.low)}"] if low else []
        parts += [f"{'less than' if self.below else 'at most'} {shown(self.high)}"] if high else []
        return ", ".join(parts) or ("a number" if self.infinite else "a finite number")


@dataclass(frozen=True)
class Choice:
    """One of some texts."""

    texts: Sequence[str]

    def __str__(self) -> str:
        return f"{', '.join(self.texts[:-1])} or {self.texts[-1]}"


ANY = Range()
POSITIVE = Range(0, FLOAT32_MAX, above=True)  # of binary32
COUNT = Range(1, STEPS_MAX)


def shown(value: float) -> str:
    """A bound as people write it."""
    if value == int(value):
        whole = int(value)
        for less in (0, 1):  # 2**32-1
            power = whole + less
            if power >= 1 << 20 and power & (power - 1) == 0:
                return f"2**{power.bit_length() - 1}" + ("-1" if less else "")
        return str(whole) if abs(whole) < 1e15 else f"{value:.4g}"
    return f"{value:.7g}"


def refused(name: str, value: Any, want: object) -> ConfigError:
    """The error of a value that is not what is wanted."""
    text = repr(value)
    return ConfigError(f"{name}: got {text if len(text) <= 80 else text[:77] + '...'}, want {want}")


def whole(name: str, value: Any, low: float = -INFINITE, high: float = INFINITE) -> int:
    """A whole number of any numeric type but bool, as an int.

    Raises: ConfigError for a fraction, another type, or one outside low..high.
    """
    if type(value) is int:
        found = value
    else:
        want = f"a whole number, {Range(low, high)}"
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if isinstance(value, (bool, np.bool_)) or not isinstance(
            value, (int, float, np.integer, np.floating)
        ):
            raise refused(name, value, want)
        if not math.isfinite(value) or value != int(value):
            raise refused(name, value, want)
        found = int(value)
    if not low <= found <= high:
        raise refused(name, value, Range(low, high))
    return found


def real(name: str, value: Any, allowed: Range = ANY) -> float:
    """A real number, as a float.

    Raises: ConfigError for a NaN, another type, or one outside the range.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise refused(name, value, allowed)
    try:
        found = float(value)
    except OverflowError:
        raise refused(name, value, allowed) from None
    if not allowed.holds(found):
        raise refused(name, value, allowed)
    return found


def truth(name: str, value: Any) -> bool:
    """True or False. Raises: ConfigError for anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise refused(name, value, "True or False")
    return bool(value)


def seed(value: Any) -> int:
    """A run's seed, 64 bits. Raises: ConfigError."""
    return whole("seed", value, 0, SEED_MAX)


def wholes(
    name: str,
    values: Any,
    low: int = 0,
    high: int = WORD_MAX,
    shape: tuple[int | None, ...] | None = None,
) -> np.ndarray:
    """Whole numbers of any numeric type but bool, as an int64 array (uint64 beyond 2**63-1).

    Args:
        name: what they are, for errors.
        values: an array, or what becomes one.
        low, high: least and largest.
        shape: wanted; None in it stands for any length. None: any shape.
    Raises: ConfigError for fractions, NaN, another type or shape, or numbers outside low..high.
    """
    given = _array(name, values, shape)
    kind = given.dtype.kind
    if high > 1 << 53 and not isinstance(values, np.ndarray):  # NumPy rounds lists of large ones
        exact = [whole(name, value, low, high) for value in np.asarray(values, object).reshape(-1)]
        return np.array(exact, np.uint64 if high >= 1 << 63 else np.int64).reshape(given.shape)
    if kind not in "iuf":
        if given.size:
            raise ConfigError(f"{name}: got {given.dtype}, want whole numbers, {Range(low, high)}")
        return given.astype(np.int64)
    if given.size:
        if kind == "f":
            flat = given.reshape(-1)
            bad = ~np.isfinite(flat) | (flat != np.trunc(flat))
            if bad.any():
                raise refused(name, flat[bad][0].item(), f"whole numbers, {Range(low, high)}")
        least, most = given.min(), given.max()
        if int(least) < low or int(most) > high:
            wrong = least if int(least) < low else most
            raise refused(name, int(wrong), Range(low, high))
    return given.astype(np.uint64 if high >= 1 << 63 else np.int64, copy=False)


def reals(
    name: str,
    values: Any,
    allowed: Range | None = ANY,
    shape: tuple[int | None, ...] | None = None,
) -> np.ndarray:
    """Real numbers of any numeric type but bool, as a float32 array.

    Args:
        name: what they are, for errors.
        values: an array, or what becomes one.
        allowed: of each; None: anything, NaN and infinities too.
        shape: as of `wholes`.
    Raises: ConfigError for another type or shape, or numbers outside the range.
    """
    given = _array(name, values, shape)
    if given.dtype.kind not in "iuf":
        if given.size:
            raise ConfigError(f"{name}: got {given.dtype}, want real numbers")
        return given.astype(np.float32)
    with np.errstate(over="ignore"):
        found = given.astype(np.float32, copy=False)
    if allowed is not None and given.size:
        least, most = float(found.min()), float(found.max())  # a NaN is both
        for bound in (least, most):
            if not allowed.holds(bound):
                raise refused(name, bound, allowed)
    return found


def entries(name: str, given: Any, wanted: Iterable[str]) -> Mapping[str, Any]:
    """A mapping with some keys, as a saved state is one. Raises: ConfigError."""
    if not isinstance(given, Mapping):
        raise refused(name, given, "a mapping")
    for key in wanted:
        if key not in given:
            raise ConfigError(f"{name}: got no {key}")
    return given


def one_of(name: str, value: Any, wanted: Iterable[str]) -> str:
    """One of some texts. Raises: ConfigError."""
    if not isinstance(value, str) or value not in wanted:
        raise refused(name, value, f"one of {', '.join(wanted)}")
    return value


def _array(name: str, values: Any, shape: tuple[int | None, ...] | None) -> np.ndarray:
    try:
        given = np.asarray(values)
    except (ValueError, TypeError):
        raise refused(name, values, "an array") from None
    if shape is not None and (
        given.ndim != len(shape)
        or any(want not in (None, got) for got, want in zip(given.shape, shape, strict=True))
    ):
        text = ", ".join("any" if want is None else str(want) for want in shape)
        raise ConfigError(f"{name}: got shape {given.shape}, want [{text}]")
    return given


# ---- Dataclasses with declared ranges
@dataclass(frozen=True)
class Field:
    """What a field of a dataclass may be.

    Attributes:
        kind: int, float, bool, str, or another type, of which nothing is checked.
        none: None is allowed.
        length: of a tuple: its length, 0 for one or more elements; None: no tuple.
        allowed: of numbers or texts.
    """

    kind: type
    none: bool
    length: int | None
    allowed: Range | Choice | None

    def __str__(self) -> str:
        names = {int: "whole numbers", float: "numbers", str: "texts", bool: "truth values"}
        what = {int: "a whole number", float: "a number", str: "a text", bool: "True or False"}
        if self.length is None:
            text = what.get(self.kind, self.kind.__name__)
        else:
            count = str(self.length) if self.length else "one or more"
            text = f"{count} {names.get(self.kind, self.kind.__name__)}"
        if self.allowed is not None:
            short = self.kind is float or isinstance(self.allowed, Choice)
            if self.length is not None:
                text += f" of {self.allowed}"
            else:
                text = str(self.allowed) if short else f"{text}, {self.allowed}"
        return text + (", or None" if self.none else "")

    def checked(self, name: str, value: Any) -> Any:
        """The value in the field's type. Raises: ConfigError."""
        if value is None and self.none:
            return None
        if self.length is None:
            return self._one(name, value)
        if not isinstance(value, (tuple, list)):
            raise refused(name, value, self)
        if len(value) != self.length if self.length else not value:
            raise refused(name, value, self)
        try:
            return tuple(self._one(name, one) for one in value)
        except ConfigError:
            raise refused(name, value, self) from None

    def _one(self, name: str, value: Any) -> Any:
        allowed = self.allowed if isinstance(self.allowed, Range) else ANY
        if self.kind is bool:
            return truth(name, value)
        try:
            if self.kind is int:
                return whole(name, value, allowed.low, allowed.high)
            if self.kind is float:
                return real(name, value, allowed)
        except ConfigError:
            raise refused(name, value, self) from None
        if self.kind is str and not isinstance(value, str):
            raise refused(name, value, self)
        if isinstance(self.allowed, Choice) and value not in self.allowed.texts:
            raise refused(name, value, self)
        return value

    def read(self, name: str, text: str) -> Any:
        """A value as a command line writes it. Raises: ConfigError."""
        if self.none and text in ("None", "none"):
            return None
        if self.length is not None:
            return self.checked(name, [self._word(name, word) for word in text.split(",")])
        return self.checked(name, self._word(name, text))

    def _word(self, name: str, text: str) -> Any:
        truths = {"True": True, "true": True, "False": False, "false": False}
        try:
            if self.kind is bool:
                return truths[text]
            return self.kind(text) if self.kind in (int, float) else text
        except (ValueError, KeyError):
            raise refused(name, text, self) from None


def declared(kind: Any) -> dict[str, Field]:
    """The fields of a dataclass, by name."""
    return _declared(kind)


@cache
def _declared(kind: Any) -> dict[str, Field]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: _field(hints[field.name]) for field in fields(kind)}


def _field(hint: Any) -> Field:
    allowed = None
    if get_origin(hint) is Annotated:
        hint, *more = get_args(hint)
        allowed = next((m for m in more if isinstance(m, (Range, Choice))), None)
    none = False
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        none = len(kinds) < len(get_args(hint))
        hint = kinds[0]
    if get_origin(hint) is tuple:
        kinds = list(get_args(hint))
        return Field(kinds[0], none, 0 if kinds[-1] is Ellipsis else len(kinds), allowed)
    return Field(hint if isinstance(hint, type) else object, none, None, allowed)


def check(settings: Any, where: str = "") -> None:
    """Hold every field of a dataclass against its declaration; numbers get the field's type.

    Args:
        settings: the dataclass, also a frozen one.
        where: before the field's name in an error.
    Raises: ConfigError for the first one that does not fit.
    """
    for name, field in declared(type(settings)).items():
        value = field.checked(f"{where} {name}".strip(), getattr(settings, name))
        object.__setattr__(settings, name, value)
