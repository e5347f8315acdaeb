"""The device's pins: no output depends on an input in the same clock (AXI4)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from flow import synthesis
from flow.combinational import through
from flow.configuration import load_config
from flow.design import resolve
from flow.regression import regress
from flow.synthesis import Variant

AXI, SHELL = "jackdaw:lib:axi", "jackdaw:shell:shell"
PORTS = Variant(SHELL, "jd_shell_memory", "test", {"Clients": 3, "MemPorts": 2, "PortOf": 0x100})
DEMUX = Variant(AXI, "jd_axil_demux", "test", {"Targets": 3})


def device(name: str) -> Variant:
    """The whole device of a configuration."""
    return Variant("", "jd_top", name, made=load_config(name).core())


def test_slice_cuts_every_path() -> None:
    assert through(Variant(AXI, "jd_axi_slice", "test", {})) == []


def test_slice_cuts_what_it_is_told() -> None:
    """A slice without its register of RREADY has that path, and no other one."""
    variant = Variant(AXI, "jd_axi_slice", "test", {"Forward": 0b11111, "Backward": 0b10111})
    assert through(variant) == ["mem_req_o <- client_req_i"]


def test_control_has_no_path() -> None:
    assert through(DEMUX) == []


def test_memory_ports_have_no_path() -> None:
    """From pin to pin none; from an engine only its write data, which follow no input there."""
    assert through(PORTS, "m_axi_*", "m_axi_*") == []
    data = [f"m_axi_w{what}_o <- client_req_i" for what in ("data", "last", "strb", "valid")]
    assert through(PORTS, "m_axi_*") == data


@pytest.mark.parametrize("name", ["small", regress("demo"), regress("a3c")])
def test_device_has_no_path(name: str) -> None:
    """Engines and shell together."""
    assert through(device(name)) == []


def test_path_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the register of RREADY and BREADY the ports have the multiplexer's paths."""
    design = resolve(SHELL)
    path = next(p for p in design.sources if p.name == "jd_shell_memory.sv")
    broken = tmp_path / path.name
    text, count = re.subn(r"5'b01001", "'0", path.read_text())
    assert count == 1
    broken.write_text(text)
    planted = replace(
        design,
        sources=tuple(broken if p == path else p for p in design.sources),
        files=tuple(broken if p == path else p for p in design.files),
    )
    monkeypatch.setattr(synthesis, "resolve", lambda core: planted)
    found = through(PORTS, "m_axi_*", "m_axi_*")
    assert found == ["m_axi_bready_o <- m_axi_bid_i", "m_axi_rready_o <- m_axi_rid_i"]
