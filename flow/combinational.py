"""What the outputs of a block depend on in the same clock, from its elaborated netlist."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from flow.synthesis import MEMORY_BYTES, YOSYS, Variant, execute, netlist_folder, reading

# Words are kept, so that a netlist has few cells; a memory keeps its read registers inside.
STEPS = ("hierarchy -check", "proc", "flatten", "opt_clean", "memory_collect", "memory_dff")
CLOCKED = ("$dff", "$dffe", "$sdff", "$sdffe", "$sdffce")
EMPTY = ("$scopeinfo", "$print", "$check")
# Cells of which each output bit depends on the input bits of its own place.
BITWISE = ("$and", "$or", "$xor", "$xnor", "$not", "$mux", "$pmux", "$bwmux", "$pos")
SELECTS = {"$mux": "S", "$pmux": "S"}  # of all bits


def elaborate(variant: Variant) -> dict[str, Any]:
    """The variant's flat netlist, of words. Raises: SynthesisFailed."""
    made = netlist_folder(variant)
    digest = hashlib.sha256(repr(STEPS).encode()).hexdigest()[:8]
    folder = made.with_name(f"{made.name}-words-{digest}")
    path = folder / "netlist.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"netlist.{os.getpid()}"
        log = part.with_suffix(f".{os.getpid()}.log")
        steps = [reading(variant), *STEPS, f"write_json {part}"]
        command = [sys.executable, "-c", YOSYS, *(f"tee -q -a {log} {step}" for step in steps)]
        execute(command, variant, log, MEMORY_BYTES)
        part.replace(path)
    module: dict[str, Any] = json.loads(path.read_text())["modules"][variant.top]
    return module


def paths(module: dict[str, Any]) -> dict[str, set[str]]:
    """The inputs that each output of a netlist depends on in the same clock, if there are any.

    Raises: ValueError if a cell is of a kind that is not known to be a register or logic.
    """
    sources: dict[int, list[int]] = {}
    for cell in module["cells"].values():
        for bit, bits in _arcs(cell):
            sources[bit] = [b for b in bits if isinstance(b, int)]
    pins = {
        bit: name
        for name, port in module["ports"].items()
        if port["direction"] == "input"
        for bit in port["bits"]
    }
    found = {}
    for name, port in module["ports"].items():
        if port["direction"] == "output" and (inputs := _reach(port["bits"], sources, pins)):
            found[name] = inputs
    return found


def through(variant: Variant, outputs: str = "*", inputs: str = "*") -> list[str]:
    """The paths of a variant between ports whose names match, as text: `output <- inputs`."""
    found = []
    for output, reached in sorted(paths(elaborate(variant)).items()):
        matching = sorted(name for name in reached if fnmatchcase(name, inputs))
        if matching and fnmatchcase(output, outputs):
            found.append(f"{output} <- {', '.join(matching)}")
    return found


def _reach(bits: Iterable[Any], sources: dict[int, list[int]], pins: dict[int, str]) -> set[str]:
    found, seen = set(), set()
    waiting = [bit for bit in bits if isinstance(bit, int)]
    while waiting:
        bit = waiting.pop()
        if bit in seen:
            continue
        seen.add(bit)
        if bit in pins:
            found.add(pins[bit])
        waiting += sources.get(bit, ())
    return found


def _arcs(cell: dict[str, Any]) -> Iterator[tuple[int, list[Any]]]:
    """Each output bit of a cell with the bits that it depends on in the same clock."""
    kind, bits = cell["type"], cell["connections"]
    if kind in (*CLOCKED, *EMPTY):
        return
    if not _is_logic(kind):
        raise ValueError(f"cell {kind}: want a register of {CLOCKED}, a memory or logic")
    directions = cell["port_directions"]
    if kind == "$mem_v2":
        yield from _read_ports(cell)
        return
    everything = [bit for port in bits if directions[port] == "input" for bit in bits[port]]
    for port in bits:
        if directions[port] == "output":
            for place, bit in enumerate(bits[port]):
                own = kind in BITWISE
                yield bit, _of_place(cell, place, len(bits[port])) if own else everything


def _of_place(cell: dict[str, Any], place: int, width: int) -> list[Any]:
    select = SELECTS.get(cell["type"], "")
    found: list[Any] = []
    for port, bits in cell["connections"].items():
        if cell["port_directions"][port] == "output":
            continue
        if port == select:
            found += bits
        elif cell["type"] == "$pmux":  # B has one word for each bit of S
            found += bits[place::width]
        else:  # a shorter operand is extended by its sign or by 0
            found.append(bits[min(place, len(bits) - 1)])
    return found


def _read_ports(cell: dict[str, Any]) -> Iterator[tuple[int, list[Any]]]:
    """The read ports of a memory that have no register."""
    bits = cell["connections"]
    clocked = cell["parameters"]["RD_CLK_ENABLE"][::-1]
    width, depth = len(bits["RD_DATA"]) // len(clocked), len(bits["RD_ADDR"]) // len(clocked)
    for port, enabled in enumerate(clocked):
        if enabled != "1":
            address = bits["RD_ADDR"][port * depth : (port + 1) * depth]
            for bit in bits["RD_DATA"][port * width : (port + 1) * width]:
                yield bit, address


def _is_logic(kind: str) -> bool:
    """Whether a cell is a memory, or logic without state."""
    return kind.startswith("$") and not any(part in kind for part in ("ff", "latch", "sr", "fsm"))
