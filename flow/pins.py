"""A block's bus pins by flat AXI names: generated wiring around a block whose ports are structs.

Blocks carry a bus as one packed struct each way (`jd_axi_pkg`). cocotb and C++ harnesses drive a
bus by its signals. So a block that is simulated alone stands in a module `<block>_pins`, instance
`u_dut`, which has the block's parameters and ports, and in place of each struct its fields:

    axil_req_i -> s_axil_awaddr_i ...     client_req_i -> s_axi_araddr_i ...
    mem_req_o  -> m_axi_araddr_o ...      page_req_o   -> m_axil_awaddr_o ...
    unit_req_i -> unit_axi_araddr_i ...

An array of structs becomes unpacked arrays, from which a bus model takes one element, or packed
ones for a harness.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from flow import BUILD, ROOT, write_whole
from flow.design import resolve

PACKAGE = ROOT / "rtl/lib/axi/jd_axi_pkg.sv"
FOLDER = BUILD / "pins"
PREFIX = {"axil": "s_axil", "mem": "m_axi", "client": "s_axi", "page": "m_axil"}
STRUCT = re.compile(r"typedef struct packed \{(.*?)\} (\w+);", re.S)
FIELD = re.compile(r"^\s*(\w+)\s*(\[\d+:0\])?\s+(\w+);", re.M)
HEADER = (
    r"^module {name}\b(?P<imports>[^#(]*)"
    r"(?:#\((?P<parameters>.*?)\n\) )?\((?P<ports>.*?)\n\);"
)
PORT = re.compile(r"^\s*(input|output)\s+(.*?)\s*(\w+)( *\[[^\]]*\])?,?\s*(?://.*)?$", re.M)
PARAMETER = re.compile(r"^\s*parameter\b[^=]*?(\w+)\s*=", re.M)


@dataclass(frozen=True)
class Flat:
    """A block in a module with flat pins.

    Attributes:
        toplevel: the module to simulate.
        sources: SystemVerilog to add to the block's.
        control: Verilator's control file, because of which `u_dut` is there for cocotb.
    """

    toplevel: str
    sources: tuple[str, ...] = ()
    control: tuple[str, ...] = ()


def flat(
    core: str, toplevel: str, sources: Iterable[Path | str] = (), packed: bool = False
) -> Flat:
    """The block in a module with flat pins; the block itself if no port is a struct of a bus.

    Args:
        core: FuseSoC core that has the block.
        toplevel: the block.
        sources: more sources, relative to the root.
        packed: arrays of structs become packed arrays.
    """
    files = [*(ROOT / source for source in sources), *resolve(core).sources]
    source = next((p for p in files if p.stem == toplevel), None)
    text = wrapper(toplevel, source.read_text(), packed) if source else ""
    if not text:
        return Flat(toplevel)
    public = f'`verilator_config\npublic_flat_rw -module "{toplevel}" -var "clk_i"\n'
    folder = FOLDER / hashlib.sha256((text + public).encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name, content in ((f"{toplevel}_pins.sv", text), (f"{toplevel}.vlt", public)):
        if not (folder / name).exists():
            write_whole(folder / name, content)
        names.append(os.path.relpath(folder / name, ROOT))
    return Flat(f"{toplevel}_pins", (names[0],), (names[1],))


def wrapper(name: str, text: str, packed: bool = False) -> str:
    """The text of a block's pins, from the text of its file; empty if no port is such a struct."""
    header = re.search(HEADER.replace("{name}", name), text, re.M | re.S)
    ports = PORT.findall(header["ports"]) if header else []
    if header is None or not any(_bundle(kind) for _, kind, _, _ in ports):
        return ""
    pins, wires, inside = [], [], []
    for way, kind, port, dimension in ports:
        bundle = _bundle(kind)
        if bundle is None:
            pins.append(f"  {way} {kind} {port}{dimension}")
            inside.append(f"    .{port}")
            continue
        prefix, stem, array = _prefix(port, bundle[0]), port[:-2], bundle[1]
        inside.append(f"    .{port} ({stem})")
        wires.append(f"  {kind} {stem};")
        if array:
            wires.append(f"  for (genvar i = 0; i < $size({stem}); i++) begin : gen_{stem}")
        for path, width in _leaves(bundle[0]):
            pin = f"{prefix}_{path.rpartition('.')[2]}_{port[-1]}"
            before, after = (f"{array}{width}", "") if packed else (width, _unpacked(array))
            pins.append(f"  {way} logic {before} {pin}{after}")
            here, there = (f"{pin}[i]", f"{stem}[i].{path}") if array else (pin, f"{stem}.{path}")
            target, source = (here, there) if way == "output" else (there, here)
            wires.append(f"  {'  ' if array else ''}assign {target} = {source};")
        if array:
            wires.append("  end")
    parameters = header["parameters"]
    values = ", ".join(f".{p}({p})" for p in PARAMETER.findall(parameters or ""))
    derived = re.findall(r"\blocalparam\b[^=]*?(\w+)\s*=", parameters or "")
    body = " ".join((*pins, *wires, *inside))
    idle = [p for p in derived if not re.search(rf"\b{p}\b", body)]
    # A parameter that only a bus inside needed.
    waiver = "// verilator lint_off UNUSEDPARAM\n" if idle else ""
    return f"""// SPDX-License-Identifier: Apache-2.0
//
// {name} with the pins of its buses by flat AXI names. Written by flow/pins.py; do not edit.
{waiver}module {name}_pins{header["imports"]}{f"#({parameters}{chr(10)}) " if parameters else ""}(
{("," + chr(10)).join(pins)}
);
{chr(10).join(wires)}
  {name} {f"#({values}) " if values else ""}u_dut (
{("," + chr(10)).join(inside)}
  );
endmodule : {name}_pins
"""


@functools.cache
def _structs() -> dict[str, list[tuple[str, str, str]]]:
    """Struct of the package -> type, width and name of each field."""
    return {name: FIELD.findall(body) for body, name in STRUCT.findall(PACKAGE.read_text())}


def _bundle(kind: str) -> tuple[str, str] | None:
    """A port's struct, and its dimension if it is an array."""
    name, _, array = kind.partition(" ")
    return (name, array.strip()) if name in _structs() else None


def _leaves(struct: str) -> Iterator[tuple[str, str]]:
    """The fields of a struct and of those in it, as paths, and their widths."""
    for kind, width, name in _structs()[struct]:
        if kind == "logic":
            yield name, width
        else:
            yield from ((f"{name}.{path}", wide) for path, wide in _leaves(kind))


def _prefix(port: str, struct: str) -> str:
    stem = re.sub(r"_(req|rsp)_[io]$", "", port)
    kind = struct.partition("_")[0]
    return PREFIX.get(stem, stem if stem == kind else f"{stem}_{kind}")


def _unpacked(array: str) -> str:
    return re.sub(r"\[(.*):0\]", r" [(\1)+1]", array)
