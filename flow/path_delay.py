"""The longest paths of a netlist that Yosys mapped to UltraScale+, by an estimate of delays.

Yosys places and routes nothing for UltraScale+, so a path's delay is estimated: each cell has one
delay, each net one that grows with its fan-out, and dedicated wires (carry chains, cascades, LUT to
wide multiplexer) none. Registers that a vendor's tool would move into a DSP or RAM block are not
moved here, so paths through these are overestimated.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PERIOD_NS = 4.0  # 250 MHz
# ns: cautious assumptions for UltraScale+ of speed grade -2; docs/synthesis.md compares them.
CLOCK_TO_Q = {"FF": 0.08, "RAM": 1.1, "URAM": 1.3, "LUTRAM": 0.6, "SRL": 0.6, "DSP": 0.5}
REGISTERED_RAM = 0.35  # clock to output of a block RAM with its output register
SETUP = {"FF": 0.06, "RAM": 0.35, "URAM": 0.4, "LUTRAM": 0.3, "SRL": 0.3, "DSP": 0.3}
LUT, WIDE_MUX = 0.12, 0.10
CARRY_ENTER, CARRY_CARRY, CARRY_LEAVE = 0.18, 0.025, 0.16  # per CARRY4, half of a CARRY8
MULTIPLY, CASCADE_ADD = 2.45, 1.2  # DSP48E2 without inner registers; from PCIN to P
MULTIPLY_INNER = 1.85  # with input registers: those before it that feed nothing else become them
NET, NET_FANOUT = 0.24, 0.03  # a routed net, and more for each doubling of its fan-out
CONSTANT = {"0", "1", "x", "z"}


@dataclass(frozen=True)
class Longest:
    """A path: ns, cells passed (by kind), the names of its ends, and the cells between."""

    ns: float
    luts: int
    carries: int
    multipliers: int
    start: str
    end: str

    @property
    def levels(self) -> int:
        """Logic levels: LUTs, CARRY4s and multipliers in a row."""
        return self.luts + self.carries + self.multipliers


def kind(cell: str) -> str:
    """What a cell of the mapped netlist is."""
    if cell.startswith("LUT") or cell in ("INV", "BUF", "BUFG"):
        return "LUT" if cell.startswith("LUT") else "WIRE"
    if cell.startswith("MUXF"):
        return "MUX"
    for prefix, name in (("FD", "FF"), ("CARRY", "CARRY"), ("DSP", "DSP"), ("SRL", "SRL"),
                         ("RAMB", "RAM"), ("URAM", "URAM"), ("RAM", "LUTRAM")):  # fmt: skip
        if cell.startswith(prefix):
            return name
    raise ValueError(f"cell {cell} has no delay: want a cell of synth_xilinx -family xcup")


def longest(netlist: Path, count: int = 1) -> tuple[list[Longest], Longest | None]:
    """Find the longest paths.

    Args:
        netlist: JSON of Yosys with one module, without hierarchy.
        count: how many register-to-register paths, each with another pair of end points.
    Returns: the longest register-to-register paths, longest first; and the longest path that starts
        or ends at a port, as if there were a register outside (None: no such path).
    Raises: ValueError on an unknown cell or a combinational loop.
    """
    return _Walk(next(iter(json.loads(netlist.read_text())["modules"].values()))).run(count)


def _arcs(what: str, port: str, cell: dict[str, Any]) -> str | None:
    """The kind of an input: `D` ends a path, `C` is passed to the outputs, None is no input."""
    if what == "FF":
        return "D" if port != "C" else None
    if what in ("LUT", "MUX", "WIRE", "CARRY"):
        return "C"
    if what == "LUTRAM":  # the address of a read port passes, all else is written with the clock
        if port == "WCLK":
            return None
        return "C" if port.startswith(("DPRA", "ADDR")) and port not in ("ADDRH",) else "D"
    if what == "SRL":
        return None if port == "CLK" else "C" if port.startswith("A") else "D"
    if what in ("RAM", "URAM"):
        return None if "CLK" in port.upper() else "D"
    if port == "CLK":
        return None
    return "C"


class _Walk:
    def __init__(self, module: dict[str, Any]) -> None:
        self.cells = list(module["cells"].items())
        self.kinds = [kind(c["type"]) for _, c in self.cells]
        self.ports = module["ports"]
        self.names: dict[int, str] = {}
        for name, net in module["netnames"].items():
            if net.get("hide_name"):
                continue
            wide = len(net["bits"]) > 1
            for i, bit in enumerate(net["bits"]):
                label = f"{name}[{i}]" if wide else name
                if bit not in self.names or len(label) < len(self.names[bit]):
                    self.names[bit] = label
        self.fanout: dict[int, int] = defaultdict(int)
        self.driver: dict[int, tuple[int, str]] = {}
        for index, (_, cell) in enumerate(self.cells):
            for port, bits in cell["connections"].items():
                for bit in bits:
                    if bit in CONSTANT:
                        continue
                    if cell["port_directions"][port] == "input":
                        self.fanout[bit] += 1
                    else:
                        self.driver[bit] = (index, port)
        self.absorbed = self._absorbed()
        # Of each bit: ns, (LUTs, CARRY4s, multipliers), start; registers and ports apart.
        self.arrival: list[dict[int, tuple[float, tuple[int, int, int], str]]] = [{}, {}]

    def _absorbed(self) -> dict[int, bool]:
        """Of each DSP: both factors come from registers that feed only DSPs."""
        feeds: dict[int, set[str]] = defaultdict(set)
        for index, (_, cell) in enumerate(self.cells):
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "input":
                    for bit in bits:
                        feeds[bit].add(self.kinds[index])
        return {
            index: all(
                bit in CONSTANT
                or (self.kinds[self.driver[bit][0]] == "FF" and feeds[bit] == {"DSP"})
                for port in ("A", "B")
                for bit in cell["connections"][port]
                if bit in CONSTANT or bit in self.driver
            )
            for index, (_, cell) in enumerate(self.cells)
            if self.kinds[index] == "DSP"
        }

    def name(self, index: int, port: str) -> str:
        cell = self.cells[index][1]
        for bits in [cell["connections"].get(p, []) for p in ("Q", "O", "P", port)]:
            for bit in bits:
                if bit in self.names:
                    return self.names[bit]
        name = self.cells[index][0]
        return name if not name.startswith("$") else f"{cell['type']} {name.split('$')[-1]}"

    def net(self, bit: int, to: str, port: str) -> float:
        """Delay of the net from its driver to an input."""
        if bit not in self.driver:
            return NET + NET_FANOUT * math.log2(max(1, self.fanout[bit]))
        index, from_port = self.driver[bit]
        source = self.kinds[index]
        if to == "WIRE" or source == "WIRE":
            return 0.0 if to == "WIRE" else NET + NET_FANOUT * math.log2(max(1, self.fanout[bit]))
        if (to == "CARRY" and port == "CI" and source == "CARRY") or (to == "MUX" and port != "S"):
            return 0.0
        if to == "CARRY" and source == "LUT" and self.fanout[bit] == 1:
            return 0.0
        if to == "DSP" and from_port in ("PCOUT", "ACOUT", "BCOUT"):
            return 0.0
        return NET + NET_FANOUT * math.log2(max(1, self.fanout[bit]))

    def run(self, count: int) -> tuple[list[Longest], Longest | None]:
        waiting: dict[int, int] = {}
        readers: dict[int, list[tuple[int, str]]] = defaultdict(list)
        ready: list[int] = []
        registers, ports = self.arrival
        for name, port in self.ports.items():
            if port["direction"] == "input":
                for i, bit in enumerate(port["bits"]):
                    wide = len(port["bits"]) > 1
                    ports[bit] = (0.0, (0, 0, 0), f"{name}[{i}]" if wide else name)
        for index, (_, cell) in enumerate(self.cells):
            what = self.kinds[index]
            inputs: set[int] = set()
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] != "input" or _arcs(what, port, cell) != "C":
                    continue
                for bit in bits:
                    if bit in self.driver:
                        readers[bit].append((index, port))
                        inputs.add(bit)
            waiting[index] = len(inputs)
            if what not in ("LUT", "MUX", "WIRE", "CARRY", "DSP"):
                late = self._clock_to_q(index)
                for port, bits in cell["connections"].items():
                    if cell["port_directions"][port] == "output":
                        for bit in bits:
                            registers[bit] = (late, (0, 0, 0), self.name(index, port))
            if not inputs:
                ready.append(index)
        # A register's outputs are known at once; those of the rest when their inputs are.
        known: set[int] = set()
        pending = [b for b, (i, _) in self.driver.items()
                   if self.kinds[i] in ("FF", "RAM", "URAM")]  # fmt: skip
        done: set[int] = set()
        while pending or ready:
            while pending:
                bit = pending.pop()
                if bit in known:
                    continue
                known.add(bit)
                seen: set[int] = set()
                for index, _ in readers[bit]:
                    if index not in seen:
                        seen.add(index)
                        waiting[index] -= 1
                        if not waiting[index]:
                            ready.append(index)
            if ready:
                index = ready.pop()
                if index in done:
                    continue
                done.add(index)
                if self.kinds[index] not in ("FF", "RAM", "URAM"):
                    pending.extend(self._pass(index))
        stuck = [i for i in range(len(self.cells)) if i not in done]
        if stuck:
            raise ValueError(
                f"combinational loop through {len(stuck)} cells, e.g. {self.name(stuck[0], 'O')}"
            )
        return self._ends(count)

    def _clock_to_q(self, index: int) -> float:
        what, cell = self.kinds[index], self.cells[index][1]
        if what == "RAM" and any(
            str(cell["parameters"].get(p, "0")).strip("0") for p in ("DOA_REG", "DOB_REG")
        ):
            return REGISTERED_RAM
        return CLOCK_TO_Q[what]

    def _pass(self, index: int) -> list[int]:
        """Set the arrival at a cell's outputs; return the output bits."""
        cell, what = self.cells[index][1], self.kinds[index]
        directions = cell["port_directions"]
        outputs = [
            b
            for port, bits in cell["connections"].items()
            if directions[port] == "output"
            for b in bits
            if b not in CONSTANT
        ]
        for table in self.arrival:
            best: dict[str, tuple[float, tuple[int, int, int], str]] = {}
            for port, bits in cell["connections"].items():
                if directions[port] != "input" or _arcs(what, port, cell) != "C":
                    continue
                for i, bit in enumerate(bits):
                    if bit in CONSTANT or bit not in table:
                        continue
                    ns, n, start = table[bit]
                    ns += self.net(bit, what, port)
                    key = f"{i}" if what == "CARRY" and port in ("S", "DI") else port
                    if key not in best or ns > best[key][0]:
                        best[key] = (ns, n, start)
            if not best:
                continue
            if what == "CARRY":
                self._carry(cell, table, best)
                continue
            for port, bits in cell["connections"].items():
                if directions[port] != "output":
                    continue
                candidates = []
                for key, (ns, (luts, carries, multipliers), start) in best.items():
                    if what == "DSP":
                        add = CASCADE_ADD if key in ("PCIN", "C") else MULTIPLY
                        if key in ("A", "B") and self.absorbed[index]:
                            ns, add = 0.0, MULTIPLY_INNER
                        candidates.append((ns + add, (luts, carries, multipliers + 1), start))
                    elif what == "WIRE":
                        candidates.append((ns, (luts, carries, multipliers), start))
                    elif what == "MUX":
                        candidates.append((ns + WIDE_MUX, (luts, carries, multipliers), start))
                    else:
                        candidates.append((ns + LUT, (luts + 1, carries, multipliers), start))
                top = max(candidates)
                for bit in bits:
                    if bit not in CONSTANT and (bit not in table or table[bit][0] < top[0]):
                        table[bit] = top
        return outputs

    def _carry(
        self,
        cell: dict[str, Any],
        table: dict[int, tuple[float, tuple[int, int, int], str]],
        best: dict[str, tuple[float, tuple[int, int, int], str]],
    ) -> None:
        chain = best.get("CI") or best.get("CYINIT")
        if chain is not None and "CI" not in best:
            chain = (chain[0] + CARRY_ENTER, chain[1], chain[2])
        for i in range(4):
            here = best.get(f"{i}")
            sums = []
            if chain is not None:
                sums.append((chain[0] + CARRY_LEAVE, chain[1], chain[2]))
            if here is not None:
                sums.append((here[0] + CARRY_LEAVE, here[1], here[2]))
                entered = (here[0] + CARRY_ENTER, here[1], here[2])
                if chain is None or entered[0] > chain[0]:
                    chain = entered
            if sums:
                ns, n, start = max(sums)
                self._set(cell, "O", i, table, (ns, (n[0], n[1] + 1, n[2]), start))
            if chain is not None:
                passed = chain[0] + CARRY_CARRY
                n = chain[1]
                self._set(cell, "CO", i, table, (passed, (n[0], n[1] + 1, n[2]), chain[2]))

    def _set(
        self,
        cell: dict[str, Any],
        port: str,
        i: int,
        table: dict[int, tuple[float, tuple[int, int, int], str]],
        value: tuple[float, tuple[int, int, int], str],
    ) -> None:
        bits = cell["connections"].get(port, [])
        if i < len(bits) and bits[i] not in CONSTANT:
            table[bits[i]] = value

    def _ends(self, count: int) -> tuple[list[Longest], Longest | None]:
        registers = self.arrival[0]
        inner: dict[tuple[str, str], Longest] = {}
        outer: Longest | None = None

        def group(name: str) -> str:
            found = re.fullmatch(r"(.*)\[(\d+)\]", name)  # an array is one long vector
            return f"{found[1]} {int(found[2]) // 32}" if found else name

        for index, (_, cell) in enumerate(self.cells):
            what = self.kinds[index]
            if what in ("LUT", "MUX", "WIRE", "CARRY", "DSP"):
                continue
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] != "input" or _arcs(what, port, cell) != "D":
                    continue
                for bit in bits:
                    if bit in CONSTANT:
                        continue
                    for table in self.arrival:
                        if bit not in table:
                            continue
                        ns, n, start = table[bit]
                        ns += self.net(bit, what, port) + SETUP[what]
                        if table is registers:
                            key = (group(start), "")
                            if key in inner and inner[key].ns >= ns:
                                continue
                        elif outer is not None and outer.ns >= ns:
                            continue
                        path = Longest(round(ns, 2), *n, start, self.name(index, port))
                        if table is registers:
                            key = (group(start), group(path.end))
                            inner[key] = max(inner.get(key, path), path, key=lambda p: p.ns)
                        else:
                            outer = path
        for name, port in self.ports.items():
            if port["direction"] != "output":
                continue
            for bit in port["bits"]:
                for table in self.arrival:
                    if bit in table and (outer is None or table[bit][0] > outer.ns):
                        ns, n, start = table[bit]
                        ns += NET + SETUP["FF"]
                        if outer is None or ns > outer.ns:
                            outer = Longest(round(ns, 2), *n, start, name)
        best = sorted(inner.values(), key=lambda p: -p.ns)[:count]
        return best, outer
