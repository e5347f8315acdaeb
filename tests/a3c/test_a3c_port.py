"""The memory port of the a3c engine: whose reads go first, how many are out, traffic of all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from flow import simulate
from flow.regression import builds
from verif.play import RESET_CLOCKS, Block, Player, words

ADDRESS_BITS, ID_BITS, BEAT = 40, 8, 64
PATIENCE, READS = 15, 16
PORT = Block(
    "jackdaw:engine:a3c_port",
    "jd_a3c_port",
    {
        "unit_axi_arvalid_i": 2, "unit_axi_araddr_i": 2 * ADDRESS_BITS, "unit_axi_arlen_i": 16,
        "unit_axi_arid_i": 2 * ID_BITS, "unit_axi_rready_i": 2, "unit_axi_awvalid_i": 2,
        "unit_axi_wvalid_i": 2, "unit_axi_bready_i": 2, "misc_axi_arvalid_i": 3,
        "misc_axi_rready_i": 3, "misc_axi_awvalid_i": 3, "misc_axi_wvalid_i": 3,
        "misc_axi_bready_i": 3, "m_axi_arready_i": 1, "m_axi_rvalid_i": 1, "m_axi_rlast_i": 1,
        "m_axi_rid_i": ID_BITS, "m_axi_awready_i": 1, "m_axi_wready_i": 1, "m_axi_bvalid_i": 1,
    },
    {
        "unit_axi_arready_o": 2, "unit_axi_rvalid_o": 2, "m_axi_arvalid_o": 1,
        "m_axi_araddr_o": ADDRESS_BITS, "m_axi_arid_o": ID_BITS,
    },
)  # fmt: skip
pytestmark = builds(lambda: Player(PORT, {}, 1))


def reads(
    sim: Player,
    clocks: int,
    asks: Callable[[int, int], bool],
    ready: Callable[[int], bool] = lambda clock: True,
    latency: int = 3,
) -> tuple[list[tuple[int, int]], list[int]]:
    """Play the units and memory; every read is of one beat.

    Args:
        asks: whether a unit begins to ask for its next read, by unit and clock.
        ready: whether memory takes an address, by clock.
        latency: clocks from an address to its data.
    Returns: (unit, number) of the reads in the order of the port, and their clocks.
    """
    asking, number = [False, False], [0, 0]
    out: deque[tuple[int, int]] = deque()
    went: list[tuple[int, int]] = []
    when: list[int] = []
    for clock in range(clocks):
        asking = [asking[u] or asks(u, clock) for u in range(2)]
        address = sum(BEAT * (2 * number[u] + u) << ADDRESS_BITS * u for u in range(2))
        answer = out[0][1] if out and out[0][0] <= clock else None
        inputs = {
            "unit_axi_arvalid_i": asking[0] | asking[1] << 1,
            "unit_axi_araddr_i": address,
            "unit_axi_rready_i": 3,
            "m_axi_arready_i": int(ready(clock)),
            "m_axi_rvalid_i": int(answer is not None),
            "m_axi_rlast_i": 1,
            "m_axi_rid_i": answer or 0,
        }
        got = sim.run(
            1,
            **{
                name: np.frombuffer(
                    value.to_bytes(4 * words(PORT.inputs[name]), "little"), "<u4"
                ).reshape(1, -1)
                for name, value in inputs.items()
            },
        )
        taken = int(got["unit_axi_arready_o"][0])
        for u in range(2):
            if asking[u] and taken >> u & 1:
                asking[u], number[u] = False, number[u] + 1
        if answer is not None:
            assert int(got["unit_axi_rvalid_o"][0]) == 1 << (answer >> 2) - 1
            out.popleft()
        if int(got["m_axi_arvalid_o"][0]) and ready(clock):
            value = int.from_bytes(got["m_axi_araddr_o"][0].tobytes(), "little") // BEAT
            name = int(got["m_axi_arid_o"][0])
            assert name >> 2 == 1 + value % 2, f"read {value} has the ID {name}"
            went.append((value % 2, value // 2))
            when.append(clock)
            out.append((clock + latency, name))
            assert len(out) <= READS
    for u in range(2):
        mine = [n for unit, n in went if unit == u]
        assert mine == list(range(len(mine))), f"unit {u}: {mine}"
    return went, when


def chosen(pattern: np.ndarray, *index: int) -> bool:
    """An element of a drawn pattern."""
    return bool(pattern[index])


def test_port_second_goes_first(seed: int) -> None:
    """While both ask, a read of the first goes after PATIENCE of the second; a slow memory too."""
    rng = np.random.default_rng([seed, 3])
    slow = rng.random(4000) < 0.3
    with Player(PORT, {}, seed) as sim:
        for ready in (lambda clock: True, lambda clock: bool(slow[clock])):
            went, _ = reads(sim, 900, lambda unit, clock: True, ready)
            places = [place for place, (unit, _) in enumerate(went) if unit == 0]
            gaps = np.diff(places[1:-1])  # the first ones fill the port's registers
            assert len(places) > 8
            # Two of the second may be in the port's registers.
            assert gaps.min() >= PATIENCE and gaps.max() <= PATIENCE + 3, gaps
            sim.run(RESET_CLOCKS, rst_ni=np.zeros(RESET_CLOCKS))


def test_port_first_alone(seed: int) -> None:
    """Without the second unit the first one's reads go, one per clock."""
    with Player(PORT, {}, seed) as sim:
        went, when = reads(sim, 300, lambda unit, clock: unit == 0)
    assert len(went) > 290
    assert np.diff(when).max() == 1


def test_port_random(seed: int) -> None:
    """Reads now and then, memory as slow as it likes: each one goes once, and the answer is its."""
    rng = np.random.default_rng([seed, 4])
    with Player(PORT, {}, seed) as sim:
        for _ in range(10):
            asks = rng.random((2, 400)) < rng.random((2, 1))
            quick = rng.random(400) < rng.random() * 0.9 + 0.1
            went, _ = reads(
                sim,
                400,
                partial(chosen, asks),
                partial(chosen, quick),
                int(rng.integers(1, 40)),
            )
            assert {unit for unit, _ in went} == {0, 1}
            sim.run(RESET_CLOCKS, rst_ni=np.zeros(RESET_CLOCKS))


TRAFFIC = {"Clients": 5, "MaxOutstanding": 16, "Limit": 16, "Queue": 128}


@pytest.mark.regress
@pytest.mark.cocotb
@pytest.mark.parametrize("test", ["Random", "Limited", "BusError", "ResetMidway", "BackPressure"])
def test_port_traffic(test: str, seed: int) -> None:
    """Two units and three blocks, each with queues of 16 bursts each way."""
    simulate.run(
        "jackdaw:engine:a3c_port", toplevel="jd_a3c_port_bench", module="verif.lib.tb_axi",
        test=test, parameters=TRAFFIC, seed=seed,
        sources=["verif/a3c/jd_a3c_port_bench.sv"],
    )  # fmt: skip
