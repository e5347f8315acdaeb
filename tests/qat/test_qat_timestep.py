"""One timestep of the qat engine against autograd, lane by lane, and whatever must not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flow.regression import regress
from models.qat import ops
from models.qat.layout import ACTOR, CRITIC, Geometry, plan
from models.qat.records import Transitions, pack, to_fixed, unpack
from models.qat.timestep import Datapath, Outcome, Phase, Stage, Step
from models.qat.torch_ref import TorchDdpg

SMALL = Geometry(n=2, lw=4, vc=16, w_lines=4096)
ADAM = ops.Adam(1677722, 16777, 1, 4294967, 83886)


def draw(rng: np.random.Generator, n: int, states: int, actions: int) -> Transitions:
    return Transitions.of(
        rng.normal(0, 1, (n, states)),
        rng.uniform(-1, 1, (n, actions)),
        rng.normal(0, 1, n),
        np.where(rng.random(n) < 0.1, 0, 0.99),
        rng.normal(0, 1, (n, states)),
    )


def prepared(
    seed: int,
    states: int = 5,
    actions: int = 2,
    hidden: tuple[int, ...] = (20, 13),
    geometry: Geometry = SMALL,
    **options: Any,
) -> Datapath:
    """A datapath with random networks, whose targets are a little off."""
    rng = np.random.default_rng(seed)
    path = Datapath(geometry)
    path.table = plan(states, actions, hidden, geometry, **options)
    # The gap between states and actions depends on LW: what lies there is drawn last.
    for net in (ACTOR, CRITIC):
        for layer in path.layers(net):
            first = net == CRITIC and layer is path.layers(net)[0]
            q = states + actions if first else layer.q
            drawn = rng.uniform(-1, 1, (layer.p, q)) / np.sqrt(q)
            moved = drawn + rng.normal(0, 0.003, drawn.shape)
            for memory, values in ((path.w, drawn), (path.t, moved)):
                place, fixed = path.weights(memory, layer), to_fixed(values, ops.WEIGHT)
                if first:
                    place[:, :states], place[:, -actions:] = fixed[:, :states], fixed[:, states:]
                else:
                    place[...] = fixed
            bias = to_fixed(rng.uniform(-0.3, 0.3, layer.p), ops.WEIGHT)
            for memory in (path.w, path.t):
                path.biases(memory, layer)[...] = bias
    return path


STEP = Step(24, 24, None, None, 0, 4, False, True)


def run(path: Datapath, step: Step, rows: Transitions, weight: Any = None) -> list[Phase]:
    """A timestep on rows in memory; returns what lay in the slots."""

    def part(first: int, count: int) -> tuple[Transitions, np.ndarray | None]:
        chunk = slice(first, first + count)
        parts = (rows.state, rows.action, rows.reward, rows.discount, rows.following)
        some = Transitions(*(x[chunk] for x in parts))
        return some, None if weight is None else weight[chunk]

    phases: list[Phase] = []
    path.timestep(step, part, Outcome(), lambda *_: None, seen=phases.append)
    return phases


def captured(path: Datapath, rows: Transitions, step: Step = STEP) -> None:
    """Let the monitors see all states and a little more, as in a run, and switch to half mode.

    No monitor sees a target network: its activations must lie in what online ones have shown.
    """
    run(path, step, rows)
    run(path, step, replace(rows, state=rows.following))
    path.low, path.high = ([x + (x >> 6) for x in ends] for ends in (path.low, path.high))
    path.capture()


def compare(path: Datapath, rows: Transitions, step: Step, weight: Any = None) -> dict[str, float]:
    """Gradients and values of a timestep without updates against autograd: largest differences."""
    reference = TorchDdpg(path)
    critic, actor = run(path, step, rows, weight)
    q, want_critic = reference.critic(rows, weight, critic.outputs[CRITIC])
    mu, want_actor = reference.actor(rows, actor.outputs[ACTOR], actor.outputs[CRITIC])
    scale = 2.0**step.actor_scale
    worst = 0.0
    for net, wants, factor in ((CRITIC, want_critic, 1.0), (ACTOR, want_actor, scale)):
        parts = [
            part
            for layer in path.layers(net)
            for part in (path.weights(path.g, layer), path.biases(path.g, layer))
        ]
        for part, want in zip(parts, wants, strict=True):
            got = np.ldexp(part.astype(np.float64), -ops.GRADIENT) / factor
            largest = float(want.abs().max())
            if net == CRITIC and want.shape == (1,):
                # The last bias sums errors of both signs: what is left may be small by chance.
                largest = float(np.abs(critic.misc[:, 5]).sum()) / 65536
            worst = max(worst, float(np.abs(got - want.numpy()).max()) / largest)
    return {
        "gradient": worst,
        "q": float(np.abs(critic.misc[:, 4] / 65536 - q.numpy()).max()),
        "mu": float(np.abs(actor.outputs[ACTOR][-1] / 65536 - mu.numpy()).max()),
        "flips": reference.flips,
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("half", [False, True])
def test_gradients_are_autograds(half: bool, weighted: bool, seed: int) -> None:
    """Every gradient within 1e-3 of its tensor's largest.

    Full: activations are rounded to 2**-17, the tangent is within 3.15e-5. Half: activations have
    15 bits and a sign, and errors of 2**-16 of a tensor's largest value pass three layers.
    """
    path, rng = prepared(seed), np.random.default_rng(seed + 1)
    rows = draw(rng, 24, 5, 2)
    weight = rng.integers(1 << 20, 1 << 24, 24) if weighted else None
    if half:
        captured(path, rows)
    found = compare(path, rows, replace(STEP, half=half), weight)
    assert found["gradient"] < 1e-3, found
    assert found["q"] < (1e-3 if half else 1e-4), found
    assert found["mu"] < (1e-3 if half else 1e-4), found
    assert found["flips"] <= 0.02, found  # of 24 x 13 units a few are near zero
    assert not any(path.saturated)


@pytest.mark.parametrize("half", [False, regress(True)])
def test_gradients_of_the_published_networks(half: bool, seed: int) -> None:
    geometry = Geometry()
    path = prepared(seed, 17, 6, (400, 300), geometry)
    rows = draw(np.random.default_rng(seed), 64, 17, 6)
    step = replace(STEP, batch=64, chunk=64)
    if half:
        captured(path, rows, step)
    found = compare(path, rows, replace(step, half=half))
    assert found["gradient"] < 1e-3, found
    assert found["q"] < (1e-3 if half else 1e-4) and found["flips"] <= 1e-3, found


@pytest.mark.parametrize("half", [False, True])
def test_gradients_of_an_actor_without_tangent(half: bool, seed: int) -> None:
    path = prepared(seed)
    table = path.table
    assert table is not None
    *hidden, last = table.networks[ACTOR]
    actor = (*hidden, replace(last, act=ops.NONE))
    path.table = replace(table, networks=(actor, table.networks[CRITIC]))
    rows = draw(np.random.default_rng(seed + 1), 24, 5, 2)
    if half:
        captured(path, rows)
    found = compare(path, rows, replace(STEP, half=half))
    assert found["gradient"] < 1e-3 and found["mu"] < (1e-3 if half else 1e-4), found
    assert found["flips"] <= 0.02, found


def test_the_actor_learns_from_the_updated_critic(seed: int) -> None:
    """And its gradient is that of the critic after its own update, not of the one before."""
    path, rows = prepared(seed), draw(np.random.default_rng(seed), 24, 5, 2)
    before = TorchDdpg(path)
    strong = replace(ADAM, rate=1 << 26 - 1)
    _, phase = run(path, replace(STEP, critic=strong), rows)
    after = TorchDdpg(path)
    layer = path.layers(ACTOR)[0]
    got = np.ldexp(path.weights(path.g, layer).astype(float), -20 - 4)
    masks = phase.outputs[ACTOR], phase.outputs[CRITIC]
    errors = [
        float(np.abs(got - ref.actor(rows, *masks)[1][0].numpy()).max()) for ref in (after, before)
    ]
    assert errors[0] < 1e-3 * np.abs(got).max() < errors[1]


def test_updates_are_adams(seed: int) -> None:
    """Weights, moments and targets of a timestep are Adam's of the gradients that G would keep."""
    rows = draw(np.random.default_rng(seed), 24, 5, 2)
    kept, fused = prepared(seed), prepared(seed)
    run(kept, STEP, rows)
    kept.update(CRITIC, ADAM)
    gradient, before = kept.g.copy(), fused.t.astype(np.int64)
    run(fused, replace(STEP, critic=ADAM), rows)
    layers = kept.layers(CRITIC)
    for name in ("w", "m", "v", "t"):
        one, other = getattr(kept, name), getattr(fused, name)
        for layer in layers:
            np.testing.assert_array_equal(kept.weights(one, layer), fused.weights(other, layer))
            np.testing.assert_array_equal(kept.biases(one, layer), fused.biases(other, layer))
    assert gradient.any() and (fused.w != prepared(seed).w).any()
    assert not fused.weights(fused.g, layers[0]).any()  # it went to Adam
    for layer in layers:  # the targets move towards what the weights have become
        was, w = fused.weights(before, layer), fused.weights(fused.w, layer).astype(np.int64)
        want = was + ops.round_shift((w - was) * ADAM.tau, 24)
        np.testing.assert_array_equal(fused.weights(fused.t, layer), want)
    still = prepared(seed)
    run(still, replace(STEP, critic=replace(ADAM, tau=0)), rows)
    np.testing.assert_array_equal(still.t, prepared(seed).t)


def lanes(w: int, a: int, half: bool) -> tuple[int, int]:
    """What a processing element multiplies: the low and the high 16 bits of a row's word."""
    low, high = a & 0xFFFF, a >> 16
    if half and low >> 15:
        low -= 1 << 16
    return w * low, w * (high - (1 << 16) if high >> 15 else high)


@pytest.mark.parametrize("half", [False, True])
def test_lanes_of_elements_give_the_same(half: bool, seed: int) -> None:
    """Element by element: a product of 32 bits, or two vectors' of 16 bits that share a weight."""
    rng = np.random.default_rng(seed)
    w, b = rng.integers(-(1 << 31), 1 << 31, (3, 5)), rng.integers(-(1 << 31), 1 << 31, 3)
    d = rng.integers(-(1 << 31), 1 << 31, (2, 3))
    bits, shift = (16, 5) if half else (32, None)
    a = rng.integers(-(1 << bits - 1), 1 << bits - 1, (2, 5))
    z, _ = ops.forward(a, w, b, shift)
    g, _ = ops.gradient(d, a, shift)
    if half:
        stored = [(int(a[0, q]) & 0xFFFF) | (int(a[1, q]) & 0xFFFF) << 16 for q in range(5)]
        for p in range(3):
            sums = [lanes(int(w[p, q]), stored[q], True) for q in range(5)]
            for lane in range(2):
                acc = sum(s[lane] for s in sums) + (int(b[p]) << 11)
                assert z[lane, p] == np.clip(ops.round_shift(acc, 19), -(1 << 31), (1 << 31) - 1)
            for q in range(5):
                acc = (
                    lanes(int(d[0, p]), stored[q], True)[0]
                    + lanes(int(d[1, p]), stored[q], True)[1]
                )
                assert g[p, q] == np.clip(ops.round_shift(acc, 15), -(1 << 31), (1 << 31) - 1)
        return
    for p in range(3):
        for v in range(2):
            sums = [lanes(int(w[p, q]), int(a[v, q]) & 0xFFFFFFFF, False) for q in range(5)]
            low, high = (sum(s[k] for s in sums) for k in range(2))
            acc = (high << 16) + low + (int(b[p]) << 16)
            assert z[v, p] == np.clip(ops.round_shift(acc, 24), -(1 << 31), (1 << 31) - 1)


@pytest.mark.parametrize("half", [False, True])
def test_cores_and_lines_do_not_matter(half: bool, seed: int) -> None:
    """Equal chunks give equal bits whatever LW, N and VC are."""
    rows = draw(np.random.default_rng(seed), 20, 5, 2)
    step = Step(20, 8, ADAM, ADAM, 1, 4, False, True)
    found = []
    for geometry in (SMALL, replace(SMALL, n=1, lw=16), replace(SMALL, n=4, lw=8, vc=8)):
        path = prepared(seed, geometry=geometry)
        if half:
            captured(path, rows, replace(step, critic=None, actor=None))
        run(path, replace(step, half=half), rows)
        parts = []
        for net in (ACTOR, CRITIC):
            for index, layer in enumerate(path.layers(net)):
                wide = path.weights(path.w, layer)
                if net == CRITIC and index == 0:
                    wide = np.concatenate([wide[:, :5], wide[:, -2:]], 1)
                parts += [wide, path.biases(path.t, layer)]
        found.append((parts, path.low, path.high, path.shifts, path.saturated))
    for other in found[1:]:
        assert other[1:] == found[0][1:]
        for one, two in zip(found[0][0], other[0], strict=True):
            np.testing.assert_array_equal(one, two)


def test_padding_changes_nothing(seed: int) -> None:
    """Units of zeros more change no weight of the others and stay zero."""
    rows = draw(np.random.default_rng(seed), 24, 5, 2)
    plain, wide = prepared(seed, hidden=(6, 7)), prepared(seed, hidden=(9, 8))
    for net in (ACTOR, CRITIC):
        for one, two in zip(plain.layers(net), wide.layers(net), strict=True):
            for memory in ("w", "t"):
                own, more = getattr(plain, memory), getattr(wide, memory)
                wide.weights(more, two)[...] = 0
                wide.biases(more, two)[...] = 0
                wide.weights(more, two)[: one.p, : one.q] = plain.weights(own, one)
                wide.biases(more, two)[: one.p] = plain.biases(own, one)
    step = replace(STEP, critic=ADAM, actor=ADAM)
    run(plain, step, rows)
    run(wide, step, rows)
    for net in (ACTOR, CRITIC):
        for one, two in zip(plain.layers(net), wide.layers(net), strict=True):
            for memory in ("w", "t", "m", "v"):
                own, more = getattr(plain, memory), wide.weights(getattr(wide, memory), two)
                np.testing.assert_array_equal(plain.weights(own, one), more[: one.p, : one.q])
                assert not more[one.p :].any() and not more[:, one.q :].any()


def test_chunks_add_up_in_g(seed: int) -> None:
    """The sum of rounded gradients; the last chunk may be smaller."""
    rows = draw(np.random.default_rng(seed), 20, 5, 2)
    whole, chunks = prepared(seed), prepared(seed)
    run(whole, replace(STEP, batch=20, chunk=20), rows)
    run(chunks, replace(STEP, batch=20, chunk=8), rows)
    apart = np.abs(whole.g.astype(np.int64) - chunks.g)
    assert 0 < apart.max() <= 2  # three roundings instead of one
    for name in ("low", "high"):
        assert getattr(whole, name) == getattr(chunks, name)


def test_saturation_is_counted_where_it_happens(seed: int) -> None:
    rows = draw(np.random.default_rng(seed), 24, 5, 2)
    path = prepared(seed)
    layer = path.layers(CRITIC)[-1]
    path.weights(path.w, layer)[...] = (1 << 31) - 1
    path.weights(path.w, path.layers(CRITIC)[1])[...] = (1 << 31) - 1
    run(path, replace(STEP, critic_scale=7, actor_scale=6), rows)
    counted = {stage.name for stage in Stage if path.saturated[stage]}
    assert {"DX", "G", "TD"} <= counted
    path = prepared(seed)
    captured(path, rows)
    path.shifts[0] = 0
    run(path, replace(STEP, half=True), rows)
    assert path.saturated[Stage.ACTQ] > 0


def test_monitors_see_online_networks_and_loads_alone(seed: int) -> None:
    path, rows = prepared(seed), draw(np.random.default_rng(seed), 24, 5, 2)
    run(path, replace(STEP, watch=False), rows)
    assert path.low == path.high == [0] * 8
    critic, actor = run(path, STEP, rows)
    values = [critic.x, critic.following, actor.x]
    assert path.low[0] == min(int(v.min()) for v in values)
    assert path.high[0] == max(int(v.max()) for v in values)
    for net, phases in ((ACTOR, [actor]), (CRITIC, [critic, actor])):
        for index in range(2):
            most = max(int(p.outputs[net][index].max()) for p in phases)
            assert path.high[4 * net + index + 1] == most and path.low[4 * net + index + 1] == 0
    assert path.high[3] == path.high[4] == path.high[7] == 0
    path.capture()
    assert path.half and path.shifts[3] == 0 and 1 <= path.shifts[0] <= 5
    assert path.shifts[1] == ops.shift_of(0, path.high[1])


def test_headroom_is_of_the_critics_hidden_layers(seed: int) -> None:
    """Their shifts alone are larger by it, and no shift is above 16."""
    path, rows = prepared(seed), draw(np.random.default_rng(seed), 24, 5, 2)
    run(path, STEP, rows)
    path.high[6] = 1 << 30
    path.capture()
    plain = list(path.shifts)
    path.capture(2)
    assert path.shifts == [*plain[:5], plain[5] + 2, 16, plain[7] + 2] and plain[6] == 16


def test_records_return(seed: int) -> None:
    for states, lw in ((3, 4), (17, 16), (4, 8)):
        geometry = replace(SMALL, lw=lw)
        rows = draw(np.random.default_rng(seed), 7, states, 2)
        raw = pack(rows, geometry)
        assert raw.shape[1] % 64 == 0 and raw.shape[1] >= geometry.record_bytes(states)
        for cut in (raw, np.ascontiguousarray(raw[:, : geometry.record_bytes(states)])):
            again = unpack(cut, states, 2, geometry)
            for name in ("state", "action", "reward", "discount", "following"):
                np.testing.assert_array_equal(getattr(again, name), getattr(rows, name))
    assert Geometry().record_bytes(17) == 320
    assert to_fixed(np.array([1.0, -1e9, 1e9, 0.5 / 65536]), 16).tolist() == [
        65536, -(1 << 31), (1 << 31) - 1, 1,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="NaN"):
        to_fixed(np.array([np.nan]), 16)
    with pytest.raises(ValueError, match=r"want 0\.\.1"):
        Transitions.of(*(np.zeros((1, 1)),) * 2, np.zeros(1), np.full(1, 1.5), np.zeros((1, 1)))
