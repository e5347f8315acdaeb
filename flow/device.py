"""The device's top of a configuration: generated wiring between hand-written parts.

The top is page after page of port lists that say nothing, so it is written from the configuration
and the engines' manifests. It has no parameters: every number is in its text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from flow import BUILD, write_whole
from flow.configuration import Config, Instance, Link
from flow.design import add_library
from flow.manifest import Stream

TOP = "jd_top"
FOLDER = BUILD / "devices"
ENGINE_ID_W = 4
BIT = "1'b"
WAIVER = "device.vlt"
# In a second instance of a module Verilator takes the locals of functions of one for those that
# hide signals of the other.
WAIVED = "`verilator_config\nlint_off -rule VARHIDDEN\n"

# AXI4-Lite: signal, width (1: scalar), driven by the master.
AXIL = (
    ("awvalid", 1, True), ("awready", 1, False), ("awaddr", 20, True),
    ("wvalid", 1, True), ("wready", 1, False), ("wdata", 32, True), ("wstrb", 4, True),
    ("bvalid", 1, False), ("bready", 1, True), ("bresp", 2, False),
    ("arvalid", 1, True), ("arready", 1, False), ("araddr", 20, True),
    ("rvalid", 1, False), ("rready", 1, True), ("rdata", 32, False), ("rresp", 2, False),
)  # fmt: skip
# AXI4, with the constant signals after each address's length. Width 0: that of an ID.
AXI = (
    ("arvalid", 1, True), ("arready", 1, False), ("arid", 0, True), ("araddr", 40, True),
    ("arlen", 8, True), ("arsize", 3, True), ("arburst", 2, True), ("arlock", 1, True),
    ("arcache", 4, True), ("arprot", 3, True),
    ("rvalid", 1, False), ("rready", 1, True), ("rid", 0, False), ("rdata", 512, False),
    ("rresp", 2, False), ("rlast", 1, False),
    ("awvalid", 1, True), ("awready", 1, False), ("awid", 0, True), ("awaddr", 40, True),
    ("awlen", 8, True), ("awsize", 3, True), ("awburst", 2, True), ("awlock", 1, True),
    ("awcache", 4, True), ("awprot", 3, True),
    ("wvalid", 1, True), ("wready", 1, False), ("wdata", 512, True), ("wstrb", 64, True),
    ("wlast", 1, True),
    ("bvalid", 1, False), ("bready", 1, True), ("bid", 0, False), ("bresp", 2, False),
)  # fmt: skip


def core(config: Config) -> str:
    """Write the core of a configuration's device below `build/devices`, if it is not there.

    Returns: its FuseSoC name; FuseSoC knows it in this process.
    """
    text = top(config)
    digest = hashlib.sha256((text + repr(cores(config))).encode()).hexdigest()[:12]
    name = f"jackdaw:device:{config.name.replace('-', '_')}_{digest}"
    folder = FOLDER / digest
    write(config, text, name, folder)
    add_library(f"device_{digest}", folder)
    return name


def write(config: Config, text: str, name: str, folder: Path) -> None:
    """Write top and core file into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{TOP}.sv": text, "device.core": core_file(config, name)}
    if _twice(config):
        files[WAIVER] = WAIVED
    for file, content in files.items():
        path = folder / file
        if not path.exists() or path.read_text() != content:
            write_whole(path, content)


def _twice(config: Config) -> bool:
    """Whether a kind of engine is there more than once."""
    return len({i.engine.name for i in config.instances}) < len(config.instances)


def cores(config: Config) -> list[str]:
    """The FuseSoC cores that a device consists of."""
    return ["jackdaw:shell:shell", *dict.fromkeys(i.engine.core for i in config.instances)]


def core_file(config: Config, name: str) -> str:
    """The text of the device's core file."""
    waiver = f", {WAIVER}: {{file_type: vlt}}" if _twice(config) else ""
    return f"""CAPI=2:
name: {name}:0.1.0
description: The device of configuration {config.name}.
filesets:
  rtl:
    files: [{TOP}.sv{waiver}]
    file_type: systemVerilogSource
    depend: [{", ".join(cores(config))}]
targets:
  default: &default {{filesets: [rtl], toplevel: {TOP}}}
  lint: {{<<: *default, flow: lint, flow_options: {{tool: verilator, verilator_options: [-Wall]}}}}
"""


def top(config: Config) -> str:
    """The text of the device's top."""
    if not config.instances:
        raise ValueError(f"configuration {config.name} has no engine")
    id_w = ENGINE_ID_W + (config.clients - 1).bit_length()
    sections = [
        _header(config),
        _control(config),
        _memory(config),
        *([_links(config)] if config.links else []),
        *(_engine(config, instance) for instance in config.instances),
    ]
    body = "\n".join(line for section in sections for line in section)
    return f"""{_title(config)}module {TOP}
  import jd_axi_pkg::*;
(
{_pins(config, id_w)}
);
{body.rstrip()}
endmodule : {TOP}
"""


def _title(config: Config) -> str:
    pages = "".join(
        f"//          page {i.page}: {i.name}"
        f"{'' if i.name == i.engine.name else f' ({i.engine.name})'}, memory port "
        f"{', '.join(map(str, i.ports))}\n"
        for i in config.instances
    )
    return f"""// SPDX-License-Identifier: Apache-2.0
//
// The device of configuration {config.name}: directory, engines, links, memory ports.
// Written by flow/device.py; do not edit.
//
// Streams  s_axil_*: control, AXI4-Lite; page 0 is the directory, pages without an engine SLVERR;
{pages}//          m_axi_*: device memory, AXI4. irq_o: level.
// Timing   a control access crosses the demultiplexer in one clock each way.
// Numbers  those of the engines.
// Source   docs/shell.md.
"""


def _range(width: int) -> str:
    return "" if width == 1 else f"[{width - 1}:0] "


def _pins(config: Config, id_w: int) -> str:
    lines = ["  input  logic clk_i", "  input  logic rst_ni", "  output logic irq_o"]
    for name, width, master in AXIL:
        way, end = ("input ", "i") if master else ("output", "o")
        lines.append(f"  {way} logic {_range(width)}s_axil_{name}_{end}")
    for name, width, master in AXI:
        way, end = ("output", "o") if master else ("input ", "i")
        pin = f"m_axi_{name}_{end} [{config.memory_ports}]"
        lines.append(f"  {way} logic {_range(width or id_w)}{pin}")
    return ",\n".join(lines)


def _header(config: Config) -> Iterator[str]:
    n = len(config.instances)
    ids = ", ".join(f"{i.engine.package}::ENGINE_ID" for i in reversed(config.instances))
    ports = [port for i in config.instances for port in i.ports]
    table = ", ".join(f"4'd{port}" for port in reversed(ports))
    yield f"  localparam logic [{n - 1}:0][31:0] ENGINE_IDS = {{{ids}}};"
    yield f"  localparam logic [{len(ports) - 1}:0][3:0] PORT_OF = {{{table}}};"
    yield ""
    yield "  logic [63:0] time_now;"
    yield f"  logic [{n - 1}:0] irq;"
    ends = sorted({_clear(name) for link in config.links for name in (link.source, link.sink)})
    if ends:
        yield f"  logic {', '.join(ends)};"
    yield ""


def _control(config: Config) -> Iterator[str]:
    pages = len(config.instances) + 1
    yield "  // ---- Control: page p in element p"
    yield "  axil_req_t axil_req;"
    yield "  axil_rsp_t axil_rsp;"
    for name, _, master in AXIL:
        yield (
            f"  assign axil_req.{name} = s_axil_{name}_i;"
            if master
            else f"  assign s_axil_{name}_o = axil_rsp.{name};"
        )
    yield f"  axil_req_t [{pages - 1}:0] page_req;"
    yield f"  axil_rsp_t [{pages - 1}:0] page_rsp;"
    yield f"  jd_axil_demux #(.Targets({pages})) u_demux ("
    yield "    .clk_i, .rst_ni,"
    yield "    .axil_req_i(axil_req), .axil_rsp_o(axil_rsp),"
    yield "    .page_req_o(page_req), .page_rsp_i(page_rsp)"
    yield "  );"
    yield "  jd_shell_directory #("
    yield f"    .Engines({len(config.instances)}), .EngineIds(ENGINE_IDS),"
    yield f"    .ClockHz({config.clock_hz}), .MemSizeLog2({config.memory_size_log2}),"
    yield f"    .MemPorts({config.memory_ports}), .BuildHash(32'h{config.build_hash:08x})"
    yield "  ) u_directory ("
    yield "    .clk_i, .rst_ni, .irq_o, .irq_i(irq), .time_o(time_now),"
    yield "    .axil_req_i(page_req[0]), .axil_rsp_o(page_rsp[0])"
    yield "  );"
    yield ""


def _memory(config: Config) -> Iterator[str]:
    yield "  // ---- Memory: client c in element c"
    yield f"  axi_req_t [{config.clients - 1}:0] mem_req;"
    yield f"  axi_rsp_t [{config.clients - 1}:0] mem_rsp;"
    yield "  jd_shell_memory #("
    yield f"    .Clients({config.clients}), .MemPorts({config.memory_ports}), .PortOf(PORT_OF)"
    yield "  ) u_memory ("
    yield "    .clk_i, .rst_ni, .client_req_i(mem_req), .client_rsp_o(mem_rsp),"
    yield ",\n".join(f"    .m_axi_{name}_{'o' if master else 'i'}" for name, _, master in AXI)
    yield "  );"
    yield ""


def _links(config: Config) -> Iterator[str]:
    yield "  // ---- Links: a soft reset of either end empties them"
    for link in config.links:
        name, width = link.name, link.out.bits + link.out.last
        for side in ("in", "out"):
            yield f"  logic {name}_{side}_valid, {name}_{side}_ready;"
            yield f"  logic {_range(width)}{name}_{side}_data;"
        yield f"  jd_shell_link #(.Width({width})) u_{name} ("
        yield "    .clk_i, .rst_ni,"
        yield f"    .clear_i({_clear(link.source)} || {_clear(link.sink)}),"
        yield ",\n".join(
            f"    .{side}_{signal}_{way}({name}_{side}_{signal})"
            for side, master in (("in", True), ("out", False))
            for signal, way in (
                ("valid", "i" if master else "o"),
                ("ready", "o" if master else "i"),
                ("data", "i" if master else "o"),
            )
        )
        yield "  );"
    yield ""


def _engine(config: Config, instance: Instance) -> Iterator[str]:
    manifest, name = instance.engine, instance.name
    streams = list(_streams(config, instance))
    yield f"  // ---- {name}"
    yield from _without_link(config, instance)
    values = ",\n".join(
        f"    .{p.name}({BIT if p.bit else ''}{instance.parameters[p.name]})"
        for p in manifest.parameters.values()
    )
    first, last = instance.client, instance.client + len(instance.ports) - 1
    ports = f"[{first}]" if first == last else f"[{last}:{first}]"
    yield f"  {manifest.top} #("
    yield values
    yield f"  ) u_{name} ("
    yield f"    .clk_i, .rst_ni, .time_i(time_now), .irq_o(irq[{instance.page - 1}]),"
    lines = [
        f"    .axil_req_i(page_req[{instance.page}]), .axil_rsp_o(page_rsp[{instance.page}])",
        f"    .mem_req_o(mem_req{ports}), .mem_rsp_i(mem_rsp{ports})",
    ]
    yield ",\n".join(lines + streams)
    yield "  );"
    yield ""


def _link_of(config: Config, instance: Instance, stream: Stream) -> Link | None:
    for link in config.links:
        if (instance.name, stream) in ((link.source, link.out), (link.sink, link.into)):
            return link
    return None


def _outputs(stream: Stream) -> list[tuple[str, int]]:
    """What the engine drives of a stream."""
    if not stream.out:
        return [("ready", 1)]
    return [("valid", 1), ("data", stream.bits), *([("last", 1)] if stream.last else [])]


def _without_link(config: Config, instance: Instance) -> Iterator[str]:
    """Signals that an engine drives and nothing reads."""
    if not instance.engine.streams:
        return
    wires = [
        (f"{instance.name}_{stream.name}_{signal}", width)
        for stream in instance.engine.streams.values()
        if _link_of(config, instance, stream) is None
        for signal, width in _outputs(stream)
    ]
    if not _neighbours(config, instance):
        wires.append((_clear(instance.name), 1))
    for wire, width in wires:
        yield f"  logic {_range(width)}{wire};"
    if wires:
        yield f"  logic unused_{instance.name};"
        yield f"  assign unused_{instance.name} = ^{{{', '.join(wire for wire, _ in wires)}}};"


def _clear(name: str) -> str:
    """The signal by which an engine empties its links."""
    return f"{name}_link_clear"


def _neighbours(config: Config, instance: Instance) -> list[str]:
    """The engines at the other ends of an engine's links."""
    others = {link.sink for link in config.links if link.source == instance.name}
    others |= {link.source for link in config.links if link.sink == instance.name}
    return sorted(others)


def _streams(config: Config, instance: Instance) -> Iterator[str]:
    """The connections of an engine's streams; one without a link neither gives nor takes words."""
    if not instance.engine.streams:
        return
    for stream in instance.engine.streams.values():
        mine, other = ("o", "i") if stream.out else ("i", "o")
        link = _link_of(config, instance, stream)
        driven = dict(_outputs(stream))
        signals = ["valid", "ready", "data", *(["last"] if stream.last else [])]
        for signal in signals:
            if link is None:
                wire = f"{instance.name}_{stream.name}_{signal}" if signal in driven else "'0"
            else:
                wire = f"{link.name}_{'in' if stream.out else 'out'}_{signal}"
                if signal == "last":
                    wire = f"{wire.removesuffix('last')}data[{stream.bits}]"
                elif signal == "data" and stream.last:
                    wire += f"[{stream.bits - 1}:0]"
            yield f"    .{stream.name}_{signal}_{other if signal == 'ready' else mine}({wire})"
    told = " || ".join(map(_clear, _neighbours(config, instance))) or "'0"
    yield f"    .link_clear_o({_clear(instance.name)})"
    yield f"    .link_clear_i({told})"
