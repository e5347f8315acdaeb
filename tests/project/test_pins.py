"""Flat pins around blocks whose ports are structs."""

from __future__ import annotations

import re

from flow.design import resolve
from flow.device import AXI, AXIL
from flow.manifest import engines
from flow.pins import wrapper

PIN = re.compile(r"^  (input|output) logic .*?(\w+)((?: \[.*\])?),?$", re.M)

TWO = """
module jd_other (
  input logic clk_i
);
endmodule
module jd_block
  import jd_axi_pkg::*;
#(
  parameter  int unsigned Places = 2,   // 1..4
  localparam int unsigned All    = Places + 1
) (
  input  logic                clk_i,
  input  axi_read_req_t [All-1:0] user_req_i,   // from the users
  output axi_read_rsp_t [All-1:0] user_rsp_o,
  output register_req_t       register_req_o,
  input  register_rsp_t       register_rsp_i
);
endmodule
"""


def pins(text: str) -> dict[str, tuple[str, str]]:
    """Direction and dimension of each pin."""
    return {name: (way, array) for way, name, array in PIN.findall(text)}


def test_pins_of_engines() -> None:
    """Each has all of AXI4-Lite and AXI4 but the signals that are constant."""
    for manifest in engines().values():
        text = next(p for p in resolve(manifest.core).sources if p.stem == manifest.top).read_text()
        found = pins(wrapper(manifest.top, text))
        constant = ("size", "burst", "lock", "cache", "prot")
        for prefix, table, ways in (("s_axil", AXIL, "io"), ("m_axi", AXI, "oi")):
            for signal, _, master in table:
                if not signal.endswith(constant):
                    end = ways[not master]
                    want = {"i": "input", "o": "output"}[end]
                    assert found[f"{prefix}_{signal}_{end}"][0] == want, signal
        arrays = {array for name, (_, array) in found.items() if name.startswith("m_axi")}
        assert arrays == ({" [(Ports-1)+1]"} if isinstance(manifest.memory_ports, str) else {""})


def test_pins_of_a_block() -> None:
    """Names, arrays, parameters; the module of that name, whatever else is in the file."""
    text = wrapper("jd_block", TWO)
    found = pins(text)
    assert found["user_axi_araddr_i"] == ("input", " [(All-1)+1]")
    assert found["register_mask_o"] == ("output", "") and found["clk_i"] == ("input", "")
    assert "jd_block #(.Places(Places)) u_dut (" in text
    assert "assign user_axi_rdata_o[i] = user_rsp[i].rdata;" in text
    packed = wrapper("jd_block", TWO, packed=True)
    assert "output logic [All-1:0][511:0] user_axi_rdata_o," in packed


def test_pins_are_not_wanted() -> None:
    """A block without such a port stays alone."""
    assert wrapper("jd_other", TWO) == ""
