"""A device is synthesised as the sum of its parts, whose netlists are linked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flow import synthesis
from flow.configuration import load_config, parse
from flow.synthesis import SynthesisFailed, Variant, netlist_folder, synthesise, variants
from flow.synthesis_table import COLUMNS, markdown, slow

DEVICE = "jackdaw:jackdaw:accelerator"
FIFO = Variant("jackdaw:lib:stream", "jd_stream_fifo", "part", {"Width": 64, "Depth": 16})
LINK = Variant("jackdaw:shell:shell", "jd_shell_link", "test", parts={"u_fifo": FIFO})
WORDS = Variant("jackdaw:lib:mem", "jd_mem_1r1w", "part", {"Depth": 16, "Lanes": 1, "LaneW": 16})
TURN = Variant("jackdaw:lib:stream", "jd_stream_transpose", "test", {"Lanes": 8, "WordW": 16},
               parts={"jd_mem_1r1w": WORDS})  # fmt: skip
COUNTS = ("lut", "ff", "lutram", "srl", "dsp", "bram36", "uram", "carry")


def device(name: str) -> Variant:
    return next(v for v in variants(DEVICE) if v.name == name)


HARDWARE = {  # whose latencies are those of the hardware, not of the simulator
    "learner": ("MulLatency", "AddLatency", "DivLatency", "SqrtLatency"),
    "a3c": ("DivLatency", "SqrtLatency"),
}


@pytest.mark.parametrize("name", ["small", "all"])
def test_parts_have_the_parameters_of_the_device(name):
    parts = device(name).parts
    config = load_config(name)
    assert [f"u_{i.name}" for i in config.instances] == list(parts)
    for instance in config.instances:
        part = parts[f"u_{instance.name}"]
        assert (part.core, part.top) == (instance.engine.core, instance.engine.top)
        values = instance.engine.values(part.parameters, name)
        latencies = set(HARDWARE.get(instance.name, ()))
        assert {n: v for n, v in values.items() if n not in latencies} == {
            n: v for n, v in instance.parameters.items() if n not in latencies
        }
        assert all(values[n] != instance.parameters[n] for n in latencies)  # the hardware's


@pytest.mark.parametrize(
    ("top", "name", "of"),
    [("jd_learner_top", "P=8", "small"), ("jd_replay_top", "K=16, 2^16", "all")],
)
def test_a_part_that_is_a_block_is_made_once(top, name, of):
    [block] = [v for v in variants() if (v.top, v.name) == (top, name)]
    [part] = [p for p in device(of).parts.values() if p.top == top]
    assert netlist_folder(part) == netlist_folder(block)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"u_fifo": replace(FIFO, parameters={"Depth": 9})}, "Depth of part u_fifo is 9, want 16"),
        ({"u_other": FIFO}, r"got parts \['u_other'\], want \['u_fifo'\]"),
    ],
)
def test_wrong_parts_are_named(tmp_path, parts, message):
    with pytest.raises(SynthesisFailed, match=message):
        synthesis.mapped_shell(replace(LINK, parts=parts), tmp_path)


def test_each_instance_of_a_module_has_the_parameters_of_the_part(tmp_path):
    parts = {"jd_mem_1r1w": replace(WORDS, parameters={"Depth": 8})}
    with pytest.raises(SynthesisFailed, match=r"Depth of part gen_lane\[0\].u_words is 8, want 16"):
        synthesis.mapped_shell(replace(TURN, parts=parts), tmp_path)


def test_parts_stand_below_their_device():
    empty: dict[str, Any] = dict.fromkeys(COLUMNS) | {"path": "", "path_ns": 5.0}
    part = {"block": "jd_part", "configuration": "all: part", **empty}
    row = {"block": "jd_top", "configuration": "all", **empty, "parts": [part]}
    names = [line.split(" | ")[:2] for line in markdown([row]).splitlines()[2:]]
    assert names == [["| `jd_top`", "all"], ["| `jd_part`", "all: part"]]
    assert slow([row]) == [row]


def check_sums(variant: Variant) -> dict[str, Any]:
    """Synthesise a variant with parts; its counts are their sums, its longest path is no less."""
    row = synthesise(variant)
    shell, *parts = row["parts"]
    assert shell["configuration"] == f"{variant.name}: shell" and shell["lut"]
    assert [part["block"] for part in parts] == [part.top for part in variant.parts.values()]
    for key in COUNTS:
        assert row[key] == sum(part[key] for part in row["parts"])
    for part in parts:
        assert row["path_ns"] >= part["path_ns"] - 0.2  # fan-outs differ at the borders
    return row


@pytest.mark.regress
def test_parts_make_what_is_mapped_whole():
    row, whole = check_sums(LINK), synthesise(replace(LINK, parts={}))
    for key in ("ff", "lutram", "dsp", "bram36", "uram"):
        assert row[key] == whole[key]
    assert 0.9 < row["lut"] / whole["lut"] < 1.1


@pytest.mark.regress
def test_instances_of_a_module_count_each():
    row, whole = synthesise(TURN), synthesise(replace(TURN, parts={}))
    shell, part = row["parts"]
    assert part["configuration"] == "part, one of 8"
    for key in COUNTS:
        assert row[key] == shell[key] + 8 * part[key]
    for key in ("ff", "lutram", "dsp", "bram36", "uram"):
        assert row[key] == whole[key]


@pytest.mark.regress
def test_a_device_is_the_sum_of_its_parts():
    engines = {"scale": {"parameters": {"Depth": 32}}}
    config = parse("scale", {"ClockHz": 1, "MemSizeLog2": 20, "MemPorts": 1, "engines": engines})
    check_sums(synthesis.of_device(Variant(DEVICE, "jd_top", "scale"), config))
