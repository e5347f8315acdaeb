"""Stream blocks: skid, slice, FIFO, arbiter, fork, width; and that the checks can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import simulate
from flow.regression import regress

pytestmark = pytest.mark.cocotb

CORE = "jackdaw:lib:stream"
FIFOS = [(1, 1), (7, 2), (9, 3), regress(65, 7), regress(8, 64)]
ARBITERS = [(3, 9), regress(1, 1), regress(8, 33)]
FORKS = [(3, 9), regress(1, 1), regress(8, 33)]
WIDTHS = [(7, 21), (21, 7), regress(1, 2), regress(2, 1), regress(32, 512), regress(512, 32)]


def stream(test: str, toplevel: str, parameters: dict[str, int], seed: int) -> Path:
    """Run a test of a FIFO, a skid or a slice."""
    return simulate.run(
        CORE, toplevel=toplevel, module="verif.lib.tb_stream", test=test, parameters=parameters,
        seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize(("width", "depth"), FIFOS)
def test_fifo_traffic(width: int, depth: int, seed: int) -> None:
    parameters = {"Width": width, "Depth": depth}
    for test in ("Random", "FullRate", "ResetMidway"):
        stream(test, "jd_stream_fifo", parameters, seed)


@pytest.mark.parametrize("width", [regress(1), 65])
def test_skid_traffic(width: int, seed: int) -> None:
    for test in ("Random", "FullRate", "ResetMidway"):
        stream(test, "jd_stream_skid", {"Width": width}, seed)


@pytest.mark.parametrize(
    ("width", "forward", "backward"), [(65, 0, 1), (9, 1, 0), regress(7, 1, 1)]
)
def test_slice_traffic(width: int, forward: int, backward: int, seed: int) -> None:
    parameters = {"Width": width, "Forward": forward, "Backward": backward}
    for test in ("Random", "FullRate", "ResetMidway"):
        stream(test, "jd_stream_slice", parameters, seed)


@pytest.mark.parametrize(("streams", "width"), ARBITERS)
def test_arbiter_traffic(streams: int, width: int, seed: int) -> None:
    for test in ("Random", "FullRate", "ResetMidway"):
        simulate.run(
            CORE, toplevel="jd_arbiter_bench", module="verif.lib.tb_arbiter", test=test,
            parameters={"Streams": streams, "Width": width}, seed=seed,
            sources=["verif/lib/jd_arbiter_bench.sv"],
        )  # fmt: skip


@pytest.mark.parametrize(("takers", "width"), FORKS)
def test_fork_traffic(takers: int, width: int, seed: int) -> None:
    for test in ("Random", "FullRate", "ResetMidway"):
        simulate.run(
            CORE, toplevel="jd_fork_bench", module="verif.lib.tb_fork", test=test,
            parameters={"Takers": takers, "Width": width}, seed=seed,
            sources=["verif/lib/jd_fork_bench.sv"],
        )  # fmt: skip


@pytest.mark.parametrize(("in_bits", "out_bits"), WIDTHS)
def test_width_traffic(in_bits: int, out_bits: int, seed: int) -> None:
    for test in ("Random", "FullRate", "Room", "ResetMidway"):
        simulate.run(
            CORE, toplevel="jd_stream_width", module="verif.lib.tb_width", test=test,
            parameters={"InW": in_bits, "OutW": out_bits}, seed=seed,
        )  # fmt: skip


def test_scoreboard_wrong_output_fails(seed: int) -> None:
    parameters = {"Width": 7, "Depth": 2}
    stream("WrongModel", "jd_stream_fifo", parameters, seed)  # passes: it expects the error
    stream("MissingOutput", "jd_stream_fifo", parameters, seed)


def test_coverage_missed_bin_fails(seed: int) -> None:
    with pytest.raises(simulate.SimulationFailed, match=r"missed .*lib\.stream\.level\.full"):
        stream("MissedBin", "jd_stream_fifo", {"Width": 65, "Depth": 7}, seed)


@pytest.mark.parametrize("broken", [0, 1])
def test_assertion_unstable_word_fires(broken: int, seed: int) -> None:
    def unstable() -> None:
        simulate.run(
            CORE, toplevel="jd_unstable_bench", module="verif.lib.tb_stream", test="Unstable",
            parameters={"Break": broken}, seed=seed, sources=["verif/lib/jd_unstable_bench.sv"],
        )  # fmt: skip

    if broken:
        with pytest.raises(simulate.SimulationFailed, match="InStable_M"):
            unstable()
    else:
        unstable()
