"""The replay buffer: one program on the RTL, on the golden models and on cpprb."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import cpprb
import numpy as np
import pytest
import torch

from flow.effort import scale
from flow.regression import builds, keep
from jackdaw import errors
from jackdaw.agents.base import default_initialization
from jackdaw.device import open_device
from jackdaw.drivers.learner import Learner, adam
from jackdaw.replay_buffer import PrioritizedReplayBuffer, row_layout

CONFIG = "small"
FIELDS: dict[str, dict[str, Any]] = {
    "obs": {"shape": 4},
    "image": {"shape": (2, 3), "dtype": np.uint8},
    "act": {"dtype": np.int32},
    "rew": {},
    "done": {"dtype": bool},
}
ALPHA, EPS, BETA = 0.6, 1e-3, 0.4
WEIGHT_ERROR = 1.2e-5  # two logarithms and a power of the engine, see test_weight_error
pytestmark = builds(lambda: open_device("sim", CONFIG))


def make_rows(rng: np.random.Generator, count: int | None) -> dict[str, Any]:
    """Random values of every field; None: of one row, without the leading axis."""
    lead = () if count is None else (count,)
    return {
        "obs": rng.normal(size=(*lead, 4)),
        "image": rng.integers(0, 256, (*lead, 2, 3)),
        "act": rng.integers(-5, 5, lead),
        "rew": rng.normal(size=lead),
        "done": rng.random(lead) < 0.5,
    }


@pytest.fixture(params=["sim", "model"])
def device(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A device of each backend."""
    with open_device(request.param, CONFIG) as opened:
        yield opened


class Shadow:
    """What a buffer must hold after the same calls: rows by index, priorities as given."""

    def __init__(self, size: int) -> None:
        self.rows: list[dict[str, np.ndarray] | None] = [None] * size
        self.priority = np.zeros(size)
        self.next = self.stored = 0
        self.largest = 1.0

    def add(self, rows: dict[str, Any], count: int, priorities: np.ndarray | None) -> None:
        for k in range(count):
            row = {n: np.asarray(v).reshape(count, -1)[k] for n, v in rows.items()}
            self.rows[self.next] = row
            self.priority[self.next] = self.largest if priorities is None else priorities[k]
            self.next = (self.next + 1) % len(self.rows)
            self.stored = min(self.stored + 1, len(self.rows))
        if priorities is not None:
            self.largest = max(self.largest, float(priorities.max()))

    @property
    def masses(self) -> np.ndarray:
        """[stored] float64: (priority + eps)**alpha."""
        return (self.priority[: self.stored] + EPS) ** ALPHA

    def check(self, buffer: Any, batch: dict[str, np.ndarray]) -> None:
        """Rows belong to their indexes; weights follow the indexes' priorities."""
        indexes = batch["indexes"].astype(int)
        assert indexes.min() >= 0 and indexes.max() < self.stored
        for k, index in enumerate(indexes):
            row = self.rows[index]
            assert row is not None
            for name, value in row.items():
                got = batch[name][k]
                assert np.array_equal(got.reshape(-1), value.astype(got.dtype)), (name, index)
        masses = self.masses
        ours = isinstance(buffer, PrioritizedReplayBuffer)
        least = masses[indexes].min() if ours else masses.min()
        want = (least / masses[indexes]) ** BETA
        # Priorities are rounded to 2**-16, at least (eps ** alpha) = 0.0158 here: 5e-4 of it.
        assert np.allclose(batch["weights"], want, rtol=WEIGHT_ERROR + BETA * 5e-4)


def program(buffer: Any, size: int, seed: int) -> list[np.ndarray]:
    """Adds, samples and updates in a fixed random order; returns every batch's indexes, weights."""
    rng = np.random.default_rng(seed)
    shadow = Shadow(size)
    out = []
    for step in range(60):
        kind = int(rng.integers(4)) if step else 0
        if kind < 2:
            # cpprb 11.0.0 gives rows after the buffer's end the priorities of the batch's first
            # rows, so no batch crosses it here; test_replay_regressions.py crosses it.
            count = min(int(rng.integers(1, 9)), size - shadow.next)
            rows = make_rows(rng, None if count == 1 else count)
            given = None if rng.random() < 0.4 else rng.exponential(1, count)
            first = buffer.add(**rows) if given is None else buffer.add(priorities=given, **rows)
            assert first == shadow.next
            shadow.add(rows, count, given)
        elif kind == 2:
            batch = buffer.sample(int(rng.choice([1, 5, 8, 16, 40])), BETA)
            shadow.check(buffer, batch)
            out += [batch["indexes"], batch["weights"].view(np.uint32)]
        else:
            chosen = rng.integers(0, shadow.stored, 6)  # one index may come twice: the later wins
            values = rng.exponential(1, 6)
            buffer.update_priorities(chosen, values)
            for index, value in zip(chosen, values, strict=True):
                shadow.priority[index] = value
            shadow.largest = max(shadow.largest, values.max())
        assert buffer.get_stored_size() == shadow.stored
        assert buffer.get_buffer_size() == size
        assert buffer.get_next_index() == shadow.next
        assert buffer.get_max_priority() == pytest.approx(shadow.largest)
    held = buffer.get_all_transitions()
    for index in range(shadow.stored):
        row = shadow.rows[index]
        assert row is not None
        assert all(np.array_equal(held[n][index].reshape(-1), v.astype(held[n].dtype))
                   for n, v in row.items())  # fmt: skip
    return out


@pytest.mark.parametrize("size", keep([7, 256, 1, 2, 50], 2))
def test_replay_buffer_runs_one_program_on_sim_model_and_cpprb(size: int, seed: int) -> None:
    """Same rows, sizes and weights everywhere; sim and model agree on every index and bit.

    In a short run an odd size and the full one; test_replay_regressions.py has buffers of one row.
    """
    results = []
    for backend in ("sim", "model"):
        with open_device(backend, CONFIG) as device:
            buffer = PrioritizedReplayBuffer(size, FIELDS, ALPHA, eps=EPS, seed=seed, device=device)
            results.append(program(buffer, size, seed))
    assert len(results[0]) == len(results[1])
    for mine, theirs in zip(*results, strict=True):
        assert np.array_equal(mine, theirs)
    peer = cpprb.PrioritizedReplayBuffer(size, deepcopy(FIELDS), alpha=ALPHA, eps=EPS)  # it writes
    program(peer, size, seed)


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    """Probability that a multinomial sample of these expectations is at least as far off."""
    statistic = float(((counts - expected) ** 2 / expected).sum())
    half = torch.tensor([(len(counts) - 1) / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


@pytest.mark.parametrize("stratified", keep([True, False]))
def test_replay_buffer_draws_as_cpprb_does(stratified: bool, seed: int) -> None:
    """Frequencies of 50 rows against (p + eps)**alpha: p > 1e-4.

    Independent draws are multinomial, and their seed is fixed, so the bound does not flicker.
    Strata only make the counts' variance smaller; so with them the probability is larger, also
    that of cpprb, whose generator has no seed. The least expectation is 33 draws (6 in a short
    run), and rounding to 2**-16 moves no expectation by more than 1e-3 of its standard deviation.

    The counts are the model's: the RTL draws the same rows, of which a short run takes fewer.
    """
    rng = np.random.default_rng(seed)
    size, batch, batches = 50, 16, scale(2000, 400)
    values = rng.exponential(1, size)
    masses = (values + EPS) ** ALPHA
    expected = masses / masses.sum() * batch * batches
    counts, rows = {}, {}
    for backend, count in (("sim", scale(2000)), ("model", batches)):
        with open_device(backend, CONFIG) as device:
            buffer = PrioritizedReplayBuffer(
                size, {"rew": {}}, ALPHA, eps=EPS, seed=seed, stratified=stratified, device=device
            )
            buffer.add(rew=np.arange(size), priorities=values)
            drawn = [buffer.sample(batch)["indexes"] for _ in range(count)]
        rows[backend] = np.concatenate(drawn)
    assert np.array_equal(rows["sim"], rows["model"][: len(rows["sim"])])
    counts["model"] = np.bincount(rows["model"], minlength=size)
    peer = cpprb.PrioritizedReplayBuffer(size, {"rew": {}}, alpha=ALPHA, eps=EPS)
    peer.add(rew=np.arange(size), priorities=values)
    drawn = [peer.sample(batch)["indexes"].astype(int) for _ in range(batches)]
    counts["cpprb"] = np.bincount(np.concatenate(drawn), minlength=size)
    for name, got in counts.items():
        assert chi_square(got, expected) > 1e-4, name
    if not stratified:
        assert chi_square(counts["model"], expected) < 1 - 1e-4


def test_replay_buffer_stratifies_batches_of_any_size(device: Any) -> None:
    """Equal priorities and a batch of the buffer's size: every row exactly once."""
    for size in (3, 16, 21):
        buffer = PrioritizedReplayBuffer(size, {"rew": {}}, device=device)
        buffer.add(rew=np.arange(size))
        batch = buffer.sample(size)
        assert batch["indexes"].tolist() == list(range(size))
        assert batch["rew"][:, 0].tolist() == list(range(size))
        assert (batch["weights"] == 1).all()
        buffer.close()


def test_replay_buffer_weighs_large_batches_as_one_job_would(device: Any, seed: int) -> None:
    """40 rows take three jobs of this build: still one minimum, and every weight at most 1."""
    buffer = PrioritizedReplayBuffer(20, {"rew": {}}, 1.0, eps=0.0, seed=seed, device=device)
    values = 2.0 ** np.arange(20) / 64
    buffer.add(rew=np.arange(20), priorities=values)
    batch = buffer.sample(40, 1.0)
    chosen = values[batch["indexes"]]
    assert np.allclose(batch["weights"], chosen.min() / chosen, rtol=WEIGHT_ERROR)
    assert batch["weights"].max() == 1
    assert (buffer.sample(40, 0.0)["weights"] == 1).all()
    assert (buffer.sample(8, 0.0)["weights"] == 1).all()


def test_replay_buffer_returns_to_a_file_to_the_bit(tmp_path: Path, seed: int) -> None:
    """Saved on the RTL, loaded on the models: what follows is the same."""
    rng = np.random.default_rng(seed)
    follow = []
    with open_device("sim", CONFIG) as sim, open_device("model", CONFIG) as model:
        one = PrioritizedReplayBuffer(33, FIELDS, seed=seed, device=sim)
        one.add(**make_rows(rng, 50), priorities=rng.exponential(1, 50))
        one.sample(8)
        one.sample(5)
        one.save_transitions(tmp_path / "buffer.npz")
        two = PrioritizedReplayBuffer(33, FIELDS, seed=seed + 1, device=model)
        two.add(**make_rows(rng, 3))
        two.load_transitions(tmp_path / "buffer.npz")
        for buffer in (one, two):
            chosen = buffer.sample(16)
            buffer.update_priorities(chosen["indexes"], np.linspace(0, 3, 16))
            buffer.add(**make_rows(np.random.default_rng(seed), 4))
            follow.append([chosen, buffer.sample(7), buffer.get_all_transitions()])
        assert one.replay.total == two.replay.total
        two.close()
        other = PrioritizedReplayBuffer(33, FIELDS, 0.5, device=model)
        with pytest.raises(errors.BufferStateError, match=r"alpha: the state has 0\.6"):
            other.load_transitions(tmp_path / "buffer.npz")
        (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04nothing")
        with pytest.raises(errors.BufferStateError, match="no saved replay buffer"):
            other.load_transitions(tmp_path / "bad.npz")
    for mine, theirs in zip(*follow, strict=True):
        assert all(np.array_equal(mine[k], theirs[k]) for k in mine)


def test_replay_buffer_refuses_bad_input(device: Any) -> None:
    buffer = PrioritizedReplayBuffer(5, FIELDS, device=device)
    rng = np.random.default_rng(1)
    good = make_rows(rng, 3)
    with pytest.raises(errors.BufferEmptyError, match="holds none"):
        buffer.sample(4)
    buffer.add(**good)
    before = buffer.replay.total
    cases: list[tuple[type[Exception], str, Any]] = [
        (errors.BufferFieldError, "want obs", lambda: buffer.add(obs=np.zeros(4))),
        (errors.BufferFieldError, "want obs", lambda: buffer.add(**good, extra=1)),
        (errors.BufferFieldError, "shape", lambda: buffer.add(**{**good, "obs": np.zeros(5)})),
        (errors.BufferFieldError, "same number", lambda: buffer.add(**{**good, "rew": 0.5})),
        (errors.BufferFieldError, "0 rows", lambda: buffer.add(**{**good, "rew": []})),
        (errors.BufferFieldError, "cannot hold",
         lambda: buffer.add(**{**good, "image": np.full((3, 2, 3), 256)})),
        (errors.BufferFieldError, "cannot hold",
         lambda: buffer.add(**{**good, "act": [1, 2, 0.5]})),
        (errors.BufferFieldError, "want int32", lambda: buffer.add(**{**good, "act": "abc"})),
        (errors.BufferFieldError, "obs", lambda: buffer.add(**{**good, "obs": [[1], [1, 2]]})),
        (errors.BufferPriorityError, "2 for 3", lambda: buffer.add(**good, priorities=[1, 2])),
        (errors.BufferPriorityError, "nan", lambda: buffer.update_priorities([0], [np.nan])),
        (errors.BufferPriorityError, "inf", lambda: buffer.update_priorities([0], [np.inf])),
        (errors.BufferPriorityError, "1e.39", lambda: buffer.update_priorities([0], [1e39])),
        (errors.BufferPriorityError, "got -1", lambda: buffer.add(**good, priorities=-1.0)),
        (errors.BufferPriorityError, "1 for 2", lambda: buffer.update_priorities([0, 1], [1.0])),
        (errors.BufferPriorityError, "nan", lambda: buffer.update_priorities([0], None)),
        (errors.BufferIndexError, "got 3", lambda: buffer.update_priorities([0, 3], [1.0, 1.0])),
        (errors.BufferIndexError, "got -1", lambda: buffer.update_priorities([-1], [1.0])),
        (errors.BufferIndexError, "whole", lambda: buffer.update_priorities([0.5], [1.0])),
        (errors.ConfigError, "batch_size: got 0", lambda: buffer.sample(0)),
        (errors.ConfigError, "beta: got 1.5", lambda: buffer.sample(4, 1.5)),
    ]  # fmt: skip
    for kind, text, call in cases:
        with pytest.raises(kind, match=text):
            call()
    assert buffer.replay.total == before and len(buffer) == 3
    buffer.clear()
    with pytest.raises(errors.BufferEmptyError):
        buffer.sample(4)
    buffer.add(**good)
    assert buffer.get_stored_size() == 3 and buffer.get_next_index() == 3
    buffer.close()
    sizes: list[tuple[Any, str]] = [(0, "size: got 0"), (257, "this build holds"), (2.5, "size")]
    for size, text in sizes:
        with pytest.raises(errors.ConfigError, match=text):
            PrioritizedReplayBuffer(size, FIELDS, device=device)


def test_replay_buffer_feeds_the_learner_from_its_rows(seed: int) -> None:
    """A loop that trains on the device: the learner gathers the rows where the buffer keeps them.

    Both backends give the same bits; TD errors are those of NumPy on the sampled fields. The
    widths are small, so float32 sums in another order differ by a few units in the last place.
    """
    fields: dict[str, dict[str, Any]] = {
        "obs": {"shape": 4},
        "act": {"dtype": np.int32},
        "rew": {},
        "discount": {},
        "next_obs": {"shape": 4},
    }
    results = []
    for backend in ("sim", "model"):
        rng = np.random.default_rng(seed)
        with open_device(backend, CONFIG) as device:
            buffer = PrioritizedReplayBuffer(40, fields, seed=seed, device=device)
            learner = Learner(device)
            learner.load_program(learner.dqn([4, 8, 2], adam(1e-2), kappa=None, sync_period=100))
            layers = default_initialization([4, 8, 2], rng)
            learner.load(layers)
            errors_at = device.alloc(64)
            count = 60
            buffer.add(
                obs=rng.normal(size=(count, 4)),
                act=rng.integers(0, 2, count),
                rew=rng.normal(size=count),
                discount=np.full(count, 0.9),
                next_obs=rng.normal(size=(count, 4)),
            )
            for step in range(3):
                batch = buffer.sample(8)
                learner.train(
                    8, buffer.storage, indices=batch["indexes"][None],
                    weights=batch["weights"][None], td_address=errors_at,
                ).wait()  # fmt: skip
                td = learner.td_errors(errors_at, 1, 8)[0]
                if step == 0:
                    values = forward(layers, batch["obs"])[np.arange(8), batch["act"][:, 0]]
                    follow = forward(layers, batch["next_obs"]).max(axis=1)
                    want = batch["rew"][:, 0] + batch["discount"][:, 0] * follow - values
                    assert np.allclose(np.abs(td), np.abs(want), rtol=1e-5, atol=1e-6)
                buffer.update_priorities(batch["indexes"], np.abs(td))
                results.append([batch["indexes"], td.view(np.uint32)])
    for mine, theirs in zip(results[:3], results[3:], strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))


def forward(layers: list[tuple[np.ndarray, np.ndarray]], states: np.ndarray) -> np.ndarray:
    """[B, actions] values of a network with ReLU inside."""
    for weight, bias in layers[:-1]:
        states = np.maximum(states @ weight.T + bias, 0)
    return states @ layers[-1][0].T + layers[-1][1]


def test_replay_buffer_lays_rows_out_for_the_learner() -> None:
    row = row_layout(FIELDS)
    assert row.itemsize == 64 and row.names == tuple(FIELDS)
    assert row["image"].base == np.uint8 and row["image"].shape == (2, 3)
    assert row_layout({"obs": {"shape": 17}}).itemsize == 128
    wrong: list[dict[str, dict[str, Any]]] = [
        {},
        {"weights": {}},
        {"a": {"shape": 0}},
        {"a": {"dtype": object}},
        {"a": {"x": 1}},
    ]
    for bad in wrong:
        with pytest.raises(errors.BufferFieldError):
            row_layout(bad)
