"""Memories become RAM and multipliers DSP slices: counts of the mapped netlists."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from flow import synthesis
from flow.design import resolve
from flow.regression import regress
from flow.synthesis import SynthesisFailed, Variant, synthesise, used_files, variants

MEM, STREAM, FLOAT = "jackdaw:lib:mem", "jackdaw:lib:stream", "jackdaw:lib:float"
TREE, LEARNER = "jackdaw:engine:replay_tree", "jackdaw:engine:learner"
# Bounds, inclusive: a number is exact, a pair is a range.
Bound = int | float | tuple[float, float]
CASES: list[tuple[str, str, dict[str, int], dict[str, Bound]]] = [
    (MEM, "jd_mem_1r1w", {"Depth": 64, "LaneW": 32},
     {"lutram": (2, 8), "bram36": 0, "ff": 32}),
    (MEM, "jd_mem_1r1w", {"Depth": 1024, "Lanes": 16, "LaneW": 32, "ReadLatency": 2},
     {"bram36": (14.5, 16), "ff": (1, 513), "lut": (0, 32), "lutram": 0}),
    (MEM, "jd_mem_1r1w", {"Depth": 512, "Lanes": 8, "LaneW": 20, "ReadLatency": 2},
     {"bram36": (2.5, 3), "ff": (1, 161), "lutram": 0}),
    (MEM, "jd_mem_1r1w", {"Depth": 8192, "Lanes": 16, "LaneW": 32, "ReadLatency": 4, "Ultra": 1},
     {"uram": (15, 16), "bram36": 0, "ff": (1, 3 * 512 + 4), "lutram": 0}),
    (MEM, "jd_mem_lut", {"Depth": 32, "Width": 32, "Reads": 2}, {"lutram": (4, 16), "ff": 0}),
    (STREAM, "jd_stream_fifo", {"Width": 512, "Depth": 512},
     {"bram36": 7.5, "ff": (1, 64), "lutram": 0}),
    (STREAM, "jd_stream_fifo", {"Width": 64, "Depth": 16},
     {"bram36": 0, "lutram": (4, 12), "ff": (64, 100)}),
    (FLOAT, "jd_float_mul", {"Latency": 4}, {"dsp": 2, "ff": (150, 250), "lut": (1, 700)}),
    (FLOAT, "jd_float_mul", {"ExpW": 5, "ManW": 10, "Latency": 4}, {"dsp": 1}),
    (FLOAT, "jd_float_add", {"Latency": 6}, {"dsp": 0, "ff": (200, 360), "lut": (1, 600)}),
    (TREE, "jd_replay_generate", {}, {"dsp": 8, "ff": (1, 2200)}),
    (TREE, "jd_replay_level", {"Level": 2, "NLog2": 12},
     {"lutram": (1, 200), "bram36": (0, 16), "ff": (1, 9000)}),
    (LEARNER, "jd_learner_master", {"Groups": 2048}, {"bram36": (1, 80), "ff": (0, 2000)}),
]  # fmt: skip


def check(variant: Variant, bounds: dict[str, Bound]) -> None:
    """Compare the counts of a variant with their bounds."""
    row = synthesise(variant)
    for key, bound in bounds.items():
        low, high = bound if isinstance(bound, tuple) else (bound, bound)
        assert low <= row[key] <= high, f"{variant.top}: {row[key]} {key}, want {low}..{high}"


@pytest.mark.parametrize(
    ("core", "top", "parameters", "bounds"),
    [case if i < 3 else regress(*case) for i, case in enumerate(CASES)],
    ids=[f"{c[1]}-{i}" for i, c in enumerate(CASES)],
)
def test_counts(core, top, parameters, bounds):
    check(Variant(core, top, "test", parameters, timeout_s=300), bounds)


@pytest.mark.parametrize(
    ("attribute", "error", "message"),
    [(True, SynthesisFailed, "cannot infer memory"), (False, AssertionError, "0 lutram, want")],
)
def test_counts_fail_when_a_reset_breaks_the_inference(
    monkeypatch, tmp_path, attribute, error, message
):
    design = resolve(MEM)
    path = next(p for p in design.sources if p.name == "jd_mem_1r1w.sv")
    broken = tmp_path / path.name
    text = path.read_text()
    if not attribute:
        text = re.sub(r"\(\* ram_style.*?\*\)", "", text)
    want = "    if (write_en_i) begin\n"
    assert want in text
    broken.write_text(
        text.replace(
            want, f"    if (!rst_ni) mem <= '{{default: '0}};\n    else {want.lstrip()}", 1
        )
    )
    planted = replace(
        design,
        sources=tuple(broken if p == path else p for p in design.sources),
        files=tuple(broken if p == path else p for p in design.files),
    )
    monkeypatch.setattr(synthesis, "resolve", lambda core: planted)
    _, top, parameters, bounds = CASES[0]
    with pytest.raises(error, match=message):
        check(Variant(MEM, top, "broken", parameters, timeout_s=300), bounds)


@pytest.mark.parametrize(
    ("core", "top", "parameters"),
    [
        (MEM, "jd_mem_1r1w", {"Depth": 512, "Lanes": 8, "LaneW": 20}),
        (TREE, "jd_replay_level", {"Level": 9, "KLog2": 2, "NLog2": 20}),
        regress(TREE, "jd_replay_level", {"Level": 3, "KLog2": 6, "NLog2": 20}),
        regress(TREE, "jd_replay_front", {"KLog2": 2, "NLog2": 18, "LeafW": 29}),
    ],
)
def test_lanes_are_whole_bytes(core, top, parameters, tmp_path):
    """RAM has a write enable for every 8 or every 9 bits: a lane is no other part of a word."""
    found = synthesis.memories(Variant(core, top, "lanes", parameters), tmp_path)
    lanes = {name: word for name, word in found.items() if name.endswith("mem") and word[1] > 1}
    assert lanes
    for name, (width, ports) in lanes.items():
        bits = width // ports
        assert bits % 8 == 0 or bits % 9 == 0, f"{top}: {bits} bits of {name} have an enable"


def test_time_limit_is_named(tmp_path):
    variant = Variant(FLOAT, "jd_float_mul", "late", {"Latency": 3}, timeout_s=0.01)
    with pytest.raises(SynthesisFailed, match=r"jd_float_mul late: no end within"):
        synthesise(variant)


def test_every_core_has_variants():
    cores = {v.core for v in variants()}
    assert len(cores) >= 13
    assert all(variants(core) for core in cores)


DEVICE = "jackdaw:jackdaw:accelerator"
NOT_IN_ALL = [f"jackdaw:engine:{name}_top" for name in ("qat", "mcts", "sparse")]
CORES = sorted({v.core for v in variants()} - {DEVICE, *NOT_IN_ALL})


@pytest.mark.long
@pytest.mark.parametrize("core", [*NOT_IN_ALL, *map(regress, CORES)])
def test_every_core_can_be_read(core, tmp_path):
    """The reader of the flow is stricter than the simulator's, e.g. with names used too early."""
    synthesis.read(Variant(core, resolve(core).toplevel, "read"), tmp_path)


def test_a_device_of_all_engines_can_be_read(tmp_path):
    [whole] = [v for v in variants(DEVICE) if v.name == "all"]
    synthesis.read(whole, tmp_path)


def test_what_cannot_be_read_is_an_error(tmp_path):
    variant = Variant(FLOAT, "jd_float_mul", "bad", {"Latency": 99})
    with pytest.raises(SynthesisFailed, match="jd_float_mul bad"):
        synthesis.read(variant, tmp_path)


def test_only_used_files_count():
    names = {p.name for p in used_files(resolve(FLOAT), "jd_float_mul")}
    assert names == {"jd_assert.svh", "jd_float_mul.sv", "jd_float_pkg.sv"}
