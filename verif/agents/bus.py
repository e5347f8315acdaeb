"""Binds agents to ports with the house's suffixes.

RTL ports are called `m_axi_araddr_o` and `s_axil_wdata_i`; bus models look for `m_axi_araddr`.
`Ports` is a view of a design in which a port has its name without `_i` or `_o`:

    AxiLiteMaster(AxiLiteBus.from_prefix(Ports(dut), "s_axil"), dut.clk_i, ...)

It also supplies signals that the design has not (an engine's memory port has no `arsize`, which is
a constant) and picks one element where the ports are unpacked arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

AXI_CONSTANTS = {"awsize": (6, 3), "awburst": (1, 2), "arsize": (6, 3), "arburst": (1, 2)}


class Constant:
    """Stands for a signal that the design has not: reads as a constant, ignores writes."""

    def __init__(self, value: int, width: int) -> None:
        self._value = value
        self._width = width

    @property
    def value(self) -> int:
        return self._value

    @value.setter
    def value(self, _: int) -> None:
        pass

    def setimmediatevalue(self, _: int) -> None:
        """Ignore it."""

    def __len__(self) -> int:
        return self._width


@cache
def _children(entity: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for child in entity:
        name = child._name
        found[name] = child
        if name.endswith(("_i", "_o")):
            found[name[:-2]] = child
    return found


class Ports:
    """A design's ports by their names without suffix.

    Args:
        entity: the cocotb handle of the design.
        index: element, where the ports are unpacked arrays.
        constants: name -> (value, width) of signals to supply if the design has them not.
    """

    def __init__(
        self,
        entity: Any,
        index: int | None = None,
        constants: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        self._entity = entity
        self._name = entity._name
        self._log = entity._log
        self._index = index
        self._constants = dict(constants or {})

    def __dir__(self) -> list[str]:
        return [*_children(self._entity), *self._constants]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        children = _children(self._entity)
        if name in children:
            return children[name] if self._index is None else children[name][self._index]
        if name in self._constants:
            return Constant(*self._constants[name])
        raise AttributeError(f"{self._name} has no port {name}, {name}_i or {name}_o")


def axi_ports(entity: Any, prefix: str, index: int | None = None) -> Ports:
    """Ports with an AXI4 memory port whose size (64 bytes) and burst (INCR) are constants."""
    constants = {f"{prefix}_{name}": value for name, value in AXI_CONSTANTS.items()}
    return Ports(entity, index, constants)
