"""AXI blocks: movers at the multiplexer or a slice, copier, AXI4-Lite demultiplexer."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import simulate
from flow.regression import keep, regress
from verif.coverage import require

pytestmark = pytest.mark.cocotb

SMALL = {"Clients": 1, "MaxOutstanding": 1}
ODD = {"Clients": 3, "MaxOutstanding": 3, "IdW": 2}
LARGE = {"Clients": 1, "MaxOutstanding": 16}
FRAME = {"Clients": 2, "MaxOutstanding": 16, "Frame": 1, "Queue": 128}
DIRECT = {"Clients": 1, "MaxOutstanding": 3, "IdW": 2, "Direct": 1}
SLICE = {"Clients": 1, "MaxOutstanding": 16, "Direct": 1, "Slice": 1}
LIMIT = {"Clients": 1, "MaxOutstanding": 16, "Direct": 1, "Limit": 3}
COPIES = {
    "odd": {"Rows": 200, "Outstanding": 3},
    "small": {"Rows": 128, "Outstanding": 1},
    "large": {"Rows": 256, "Outstanding": 16},
}
QUEUE = {"Clients": 1, "MaxOutstanding": 16, "Direct": 1, "Queue": 256}
QUEUES = {"Clients": 3, "MaxOutstanding": 3, "IdW": 2, "Queue": 80, "Burst": 8}
READY = {**SLICE, "Forward": 0, "Backward": 0b01001}  # as at the device's ports


def movers(test: str, parameters: dict[str, int], seed: int) -> Path:
    """Run a test of the movers."""
    return simulate.run(
        "jackdaw:lib:engine", toplevel="jd_movers_bench", module="verif.lib.tb_axi", test=test,
        parameters=parameters, seed=seed, sources=["verif/lib/jd_movers_bench.sv"],
    )  # fmt: skip


@pytest.mark.parametrize(
    "parameters", [regress(SMALL), ODD, regress(LARGE)], ids=["small", "odd", "large"]
)
def test_movers_traffic(parameters: dict[str, int], seed: int) -> None:
    folders = [
        movers("Random", parameters, seed),
        movers("BusError", parameters, seed),
        movers("BackPressure", parameters, seed),
        movers("ResetMidway", parameters, seed),
    ]
    require(folders)


def test_movers_alone(seed: int) -> None:
    """Without the multiplexer: data may move in the first clock of their burst."""
    for test in ("Random", "FullRate"):
        movers(test, DIRECT, seed)


@pytest.mark.parametrize("parameters", [SLICE, READY], ids=["all", "ready"])
def test_slice_traffic(parameters: dict[str, int], seed: int) -> None:
    """Through a slice: order, back-pressure, a beat per clock."""
    for test in ("Random", "BackPressure", "ResetMidway", "FullRate"):
        movers(test, parameters, seed)


def test_limit_traffic(seed: int) -> None:
    """Movers of 16 bursts after a limit of 3: it is reached, and never passed."""
    for test in ("Random", "ResetMidway", "Limited"):
        movers(test, LIMIT, seed)


@pytest.mark.parametrize("test", ["Random", "BusError", "ResetMidway", "FullRate"])
def test_queue_traffic(test: str, seed: int) -> None:
    """Queues alone: their users may be slow, R and W never wait for them; a beat per clock."""
    movers(test, QUEUE, seed)


@pytest.mark.parametrize("test", ["Random", "BackPressure", "ResetMidway"])
def test_queues_traffic(test: str, seed: int) -> None:
    """Short queues at the multiplexer, writes in bursts of 8."""
    movers(test, QUEUES, seed)


@pytest.mark.parametrize("held", ["out", "in"])
def test_slow_users_of_movers_fail(held: str, seed: int) -> None:
    """Movers whose users are slow, at the frame: it sees that R or W waits, by design."""
    name = {"out": "ReadNeverWaits_A", "in": "DataAtHand_A"}[held]
    with pytest.raises(simulate.SimulationFailed, match=f"u_frame.u_prompt.{name}"):
        movers(f"Slow{held.capitalize()}", {**FRAME, "Queue": 0}, seed)


@pytest.mark.parametrize("test", ["Random", "BusError", "ResetMidway", "Limited"])
def test_frame_traffic(test: str, seed: int) -> None:
    """The frame's memory port, with two clients of 16 reads and writes each."""
    movers(test, FRAME, seed)


def test_movers_too_many_bursts_fail(seed: int) -> None:
    with pytest.raises(simulate.SimulationFailed, match=r"port\.monitor: 17 \w+ of engine port 0"):
        movers("TooMany", {**DIRECT, "MaxOutstanding": 17}, seed)


def test_movers_full_rate(seed: int) -> None:
    movers("FullRate", LARGE, seed)


@pytest.mark.parametrize(("targets", "page"), [regress(1, 12), (3, 12), regress(2, 8)])
def test_demux_traffic(targets: int, page: int, seed: int) -> None:
    for test in ("Random", "ResetMidway"):
        simulate.run(
            "jackdaw:lib:axi", toplevel="jd_axil_demux", module="verif.lib.tb_demux", test=test,
            parameters={"Targets": targets, "PageBits": page}, seed=seed,
        )  # fmt: skip


def copies(test: str, name: str, seed: int) -> Path:
    """Run a test of the copier."""
    return simulate.run(
        "jackdaw:lib:axi", toplevel="jd_axi_copy", module="verif.lib.tb_copy", test=test,
        parameters=COPIES[name], seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize("name", keep(COPIES))
def test_copy_traffic(name: str, seed: int) -> None:
    tests = ("Random", "BackPressure", "BusError", "Stop", "ResetMidway")
    require([copies(test, name, seed) for test in tests])


@pytest.mark.parametrize("name", [regress("large")])
def test_copy_full_rate(name: str, seed: int) -> None:
    copies("FullRate", name, seed)


def arrays(test: str, seed: int, bits: int = 21) -> Path:
    """Run a test of the reader and the writer of arrays, of 2^bits - 1 elements at most."""
    return simulate.run(
        "jackdaw:lib:axi", toplevel="jd_arrays_bench", module="verif.lib.tb_arrays", test=test,
        parameters={"CountW": bits}, seed=seed, sources=["verif/lib/jd_arrays_bench.sv"],
    )  # fmt: skip


def test_arrays_traffic(seed: int) -> None:
    tests = ("Random", "BackPressure", "Balanced", "ResetMidway")
    require([arrays(test, seed) for test in tests])


def test_arrays_of_the_largest_count(seed: int) -> None:
    arrays("Most", seed, bits=5)


@pytest.mark.parametrize("test", ["FullRate", "GivenUp"])
def test_arrays(test: str, seed: int) -> None:
    arrays(test, seed)
