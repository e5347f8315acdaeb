"""The estimate of delays on small netlists whose longest path is known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flow.path_delay import CLOCK_TO_Q, LUT, NET, SETUP, longest


def netlist(tmp_path, cells):
    """A module of these cells: name -> (type, {input port: bits}, {output port: bits})."""
    module: dict[str, dict[str, Any]] = {
        "ports": {"clk_i": {"direction": "input", "bits": [2]}}, "netnames": {}, "cells": {},
    }  # fmt: skip
    for name, (kind, inputs, outputs) in cells.items():
        module["cells"][name] = {
            "type": kind,
            "parameters": {},
            "port_directions": {
                **dict.fromkeys(inputs, "input"),
                **dict.fromkeys(outputs, "output"),
            },
            "connections": {**inputs, **outputs},
        }
        for bits in outputs.values():
            for bit in bits:
                module["netnames"][f"{name}_out{bit}"] = {"bits": [bit], "hide_name": 0}
    path = tmp_path / "netlist.json"
    path.write_text(json.dumps({"modules": {"top": module}}))
    return path


def flop(data, out):
    return ("FDRE", {"C": [2], "CE": ["1"], "R": ["0"], "D": [data]}, {"Q": [out]})


def test_chain_of_luts(tmp_path):
    cells = {"a": flop(20, 10), "b": flop(14, 20)}
    for i in range(4):
        cells[f"l{i}"] = ("LUT1", {"I0": [10 + i]}, {"O": [11 + i]})
    paths, port = longest(netlist(tmp_path, cells), 3)
    want = CLOCK_TO_Q["FF"] + 4 * (NET + LUT) + NET + SETUP["FF"]
    assert paths[0].ns == pytest.approx(want, abs=0.011)
    assert (paths[0].luts, paths[0].levels) == (4, 4)
    assert paths[0].start.startswith("a_") and paths[0].end.startswith("b_")
    assert port is None


def test_carry_chain_is_faster_than_luts(tmp_path):
    cells = {"a": flop(99, 10), "b": flop(53, 98)}
    chain = 10
    for i in range(8):
        outputs = {
            "CO": [20 + 4 * i + j for j in range(4)],
            "O": [100 + 4 * i + j for j in range(4)],
        }
        inputs = {"S": ["0"] * 4, "DI": ["0"] * 4, "CI": [chain if i else "0"],
                  "CYINIT": ["0" if i else chain]}  # fmt: skip
        cells[f"c{i}"] = ("CARRY4", inputs, outputs)
        chain = 23 + 4 * i
    cells["b"] = flop(chain, 98)
    paths, _ = longest(netlist(tmp_path, cells), 1)
    assert paths[0].carries == 8 and paths[0].luts == 0
    assert paths[0].ns < 8 * (NET + LUT)


def test_loop_is_an_error(tmp_path):
    cells = {"x": ("LUT1", {"I0": [11]}, {"O": [10]}), "y": ("LUT1", {"I0": [10]}, {"O": [11]})}
    with pytest.raises(ValueError, match="combinational loop through 2 cells"):
        longest(netlist(tmp_path, cells))


def test_unknown_cell_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="cell TBUF has no delay"):
        longest(netlist(tmp_path, {"x": ("TBUF", {"I": [3]}, {"O": [4]})}))
