"""Loading of networks: every rule and its order, derived constants, slots that stay."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from flow.library import CheckFailed
from flow.regression import builds, keep
from models.a3c.network import FULL, NET_A, NET_S, NET_T, PAPER, SMALL, Geometry, Network, conv, fc
from models.a3c.validate import WHOLE, NetworkError, validate
from models.registers.a3c import Error
from verif.a3c.network import Ended, Loader, descriptors, edges

# Its limits are met to the row by the networks of test_network_limits.
ODD = Geometry(
    n_pe=32, nb_max=2, n_net=1, line_words=32, fm_rows=400, pb_inference=660, pb_training=960,
    gb_rows=553,
)  # fmt: skip
BUILDS = {"small": SMALL, "full": FULL, "paper": replace(PAPER, n_pe=128), "odd": ODD}
LIMITS = ("fm_rows", "pb_inference", "pb_training", "gb_rows")
TRIALS = 120
SEARCHED = 600
FROM_NETWORK = 4
CAPACITY = (Error.E_CAP_FM, Error.E_CAP_PB, Error.E_CAP_GB)
pytestmark = builds(lambda name: Loader(BUILDS[name], 1))


def outcome(words: np.ndarray, g: Geometry) -> tuple[Ended, Network | None]:
    """What the golden model says of a descriptor."""
    try:
        return Ended(0, WHOLE, FROM_NETWORK), validate(words, g)
    except NetworkError as error:
        return Ended(int(error.code), error.layer, FROM_NETWORK), None


def picked(g: Geometry, seed: int) -> list[np.ndarray]:
    """Random descriptors: TRIALS, then some of every error, good ones, and some at each limit."""
    rng = np.random.default_rng([seed, g.n_pe])
    out = list(islice(descriptors(rng, g, 0.6), TRIALS))
    seen: dict[object, int] = {}
    for words in islice(descriptors(rng, g, 0.6), SEARCHED):
        end, network = outcome(words, g)
        keys: list[object] = [(end.error, end.info0 == WHOLE)]
        for limit in LIMITS if network or end.error in CAPACITY else ():
            for change in (-1, 1, 2, 4):
                moved = replace(g, **{limit: getattr(g, limit) + change})
                other = outcome(words, moved)[0]
                if other != end:
                    keys.append((limit, change > 0))
        if any(seen.get(key, 0) < (20 if network and key == keys[0] else 3) for key in keys):
            out.append(words)
            for key in keys:
                seen[key] = seen.get(key, 0) + 1
    return out


def compare(loader: Loader, words: np.ndarray, slot: int, what: str) -> Ended:
    """Load a descriptor, compare with the golden model; returns how it ended."""
    want, network = outcome(words, loader.g)
    got = loader.load(words, slot)
    assert got.error == want.error, f"{what}: {Error(got.error)}, want {want}"
    if network is None:
        assert got == want, f"{what}: got {got}, want {want}"
    else:
        loader.held[slot] = network
    loader.check()
    return got


@builds(lambda: Loader(BUILDS["odd"], 1))
def test_network_edges(seed: int) -> None:
    """Every field of a convolution and of a connected layer at the edges of what is legal."""
    g = BUILDS["odd"]
    thin = tuple(replace(layer, lanes_backward=32) for layer in (*NET_T.layers[2:], fc(7, 5)))
    loader = Loader(g, seed)
    with loader.sim:
        for index, words in enumerate(
            (*edges(Network(NET_T.layers[:2] + thin)), *edges(Network(thin)))
        ):
            compare(loader, words, 0, f"edge {index}")


@builds(lambda: Loader(ODD, 1))
def test_network_limits(seed: int) -> None:
    """Networks that fill a buffer to the row, and the next larger ones."""
    back = (16, 32)
    last = fc(16, 16, back)
    families: list[list[Network]] = [
        [Network((fc(16 * n, 16, back),)) for n in range(195, 203)],  # feature maps
        [Network((fc(16, 16 * n, back),)) for n in range(1, 24)],  # parameters for BW
        [
            Network((conv(2, 16 * n, 4, 4, 4), fc(16 * n, 16, back), last)) for n in range(8, 13)
        ],  # parameters of a convolution
        [
            Network((conv(1, 1, (1, n), 1, s), fc((n - 1) // s + 1, 16, back)))
            for n in (15, 16, 17, 31, 32, 33, 34)
            for s in (1, 2, 4)
        ],  # line buffers
        [
            Network((conv(2, 16, 4, 4, 4), conv(16, 128, 1, 1, 1), fc(128, 16 * n, back)))
            for n in range(10, 15)
        ],  # gradients, and at 13 the parameters for BW
    ]
    loader = Loader(ODD, seed)
    with loader.sim:
        for number, family in enumerate(families):
            codes = set()
            for network in family:
                words = np.zeros(48, np.uint32)
                words[: 1 + 4 * len(network.layers)] = network.encode()
                codes.add(compare(loader, words, 0, f"family {number}: {network}").error)
            assert 0 in codes and len(codes) > 1, f"family {number}: {codes}"


@pytest.mark.parametrize("name", keep(BUILDS))
def test_network_load(name: str, seed: int) -> None:
    """Descriptors good and bad, one after the other, against the golden model."""
    g = BUILDS[name]
    loader = Loader(g, seed)
    rng = np.random.default_rng([seed, 72])
    codes: set[Error] = set()
    good = 0
    with loader.sim:
        loader.check()
        for index, words in enumerate(picked(g, seed)):
            got = compare(loader, words, int(rng.integers(g.n_net)), f"descriptor {index}")
            if got.error:
                codes.add(Error(got.error))
            else:
                good += 1
    assert good > 20, f"{good} good networks"
    wanted = {
        Error.E_RESERVED, Error.E_ZERO, Error.E_MAX, Error.E_STRIDE, Error.E_SHAPE, Error.E_ORDER,
        Error.E_LANES, Error.E_CAP_FM, Error.E_CAP_PB,
    }  # fmt: skip
    assert codes >= wanted, f"never: {wanted - codes}"


@builds(lambda: Loader(SMALL, 1))
def test_network_bus_error(seed: int) -> None:
    """A beat that cannot be read ends the load, whatever the rest says; the slot stays."""
    loader = Loader(SMALL, seed)
    good = np.concatenate([NET_S.encode(), np.zeros(48 - 17, np.uint32)])
    with loader.sim:
        assert loader.load(good, 1).error == 0
        loader.held[1] = NET_S
        for responses in ((2, 0, 0), (0, 3, 0), (0, 0, 2), (0, 2, 3), (3, 2, 0)):
            first = next(r for r in responses if r)
            for words in (good, good & 0xFFFF):
                got = loader.load(words, 1, responses)
                assert got == Ended(int(Error.E_BUS_RD), 2, first), responses
                loader.check()


@builds(lambda: Loader(SMALL, 1))
def test_network_reset(seed: int) -> None:
    """A reset empties the slots, in the middle of a load, too."""
    loader = Loader(SMALL, seed)
    words = np.concatenate([NET_T.encode(), np.zeros(48 - 17, np.uint32)])
    with loader.sim:
        for clocks in (1, 5, 30, 100):
            assert loader.load(words, 2).error == 0
            loader.held[2] = NET_T
            loader.check()
            loader.sim.run(clocks, start_i=np.arange(clocks) == 0, cmd_ready_i=np.ones(clocks),
                           beat_valid_i=np.arange(clocks) > 2,
                           beat_data_i=np.tile(words[:16], (clocks, 1)))  # fmt: skip
            loader.sim.run(2, rst_ni=np.zeros(2))
            loader.held = [None] * SMALL.n_net
            loader.check()


@pytest.mark.regress
@builds(lambda: Loader(FULL, 1))
def test_network_of_the_paper(seed: int) -> None:
    """The network that the figures are for."""
    words = np.concatenate([NET_A.encode(), np.zeros(48 - 17, np.uint32)])
    loader = Loader(FULL, seed)
    with loader.sim:
        assert loader.load(words, 0).error == 0
        loader.held[0] = NET_A
        loader.check()


@builds(lambda: Loader(SMALL, 1))
def test_network_rule(seed: int) -> None:
    """A read of a slot without a network is seen."""
    loader = Loader(SMALL, seed)
    with loader.sim, pytest.raises(CheckFailed) as found:
        loader.sim.run(3, read_valid_i=np.ones(3))
    assert found.value.name == "ReadHeld_M"
