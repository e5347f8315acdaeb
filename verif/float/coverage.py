# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of the floating-point blocks: classes of operands and of results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyuvm import uvm_component

from verif.coverage import Coverage

CLASSES = ("zero", "subnormal", "normal", "infinity", "quiet_nan", "signaling_nan")


@dataclass(frozen=True)
class Format:
    """A binary format: `exp` exponent bits and `man` fraction bits."""

    exp: int
    man: int

    def classify(self, bits: int) -> str:
        """The class of a bit pattern, one of CLASSES."""
        exponent, fraction = bits >> self.man & (1 << self.exp) - 1, bits & (1 << self.man) - 1
        if exponent == (1 << self.exp) - 1:
            if not fraction:
                return "infinity"
            return "quiet_nan" if fraction >> (self.man - 1) else "signaling_nan"
        if exponent:
            return "normal"
        return "subnormal" if fraction else "zero"


class OperandCoverage(Coverage):
    """Every class of a with every class of b, for each operation; fed with input items."""

    def __init__(
        self, name: str, parent: uvm_component, form: Format, subtracts: bool, unary: bool
    ) -> None:
        points: dict[str, dict[str, Callable[[Any], bool]]] = {}
        for subtract in (0, 1) if subtracts else (0,):
            points["sub" if subtract else "operation"] = {
                f"{a}_{b}": self._condition(form, a, b, subtract if subtracts else None)
                for a in CLASSES
                for b in (("any",) if unary else CLASSES)
            }
        super().__init__(name, parent, "float.operands", points)

    @staticmethod
    def _condition(form: Format, a: str, b: str, subtract: int | None) -> Callable[[Any], bool]:
        def hit(item: Any) -> bool:
            return (
                form.classify(item.a) == a
                and b in ("any", form.classify(item.b))
                and subtract in (None, item.subtract)
            )

        return hit


class ResultCoverage(Coverage):
    """Every class that a result can have; fed with output items."""

    def __init__(self, name: str, parent: uvm_component, form: Format, subnormal: bool) -> None:
        def has(kind: str) -> Callable[[Any], bool]:
            return lambda item: form.classify(item.result) == kind

        kinds = [k for k in CLASSES[:5] if subnormal or k != "subnormal"]
        super().__init__(name, parent, "float.results", {"kind": {k: has(k) for k in kinds}})
