"""The model of both schemes, the search of the batch, and the choice."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jackdaw.errors import ConfigError
from jackdaw.search.calibrate import (
    Plan,
    Profile,
    Timing,
    batch_sizes,
    choose,
    find_batch,
    find_min,
    profile,
    shared_batch,
    time_playouts,
    whole_rounds,
)
from jackdaw.search.dnn_tree import TreeSettings
from jackdaw.search.evaluator import Emulated, Table

SETTINGS = TreeSettings(6, 4, workers=8)
FLAT = Profile(
    machine="m", evaluator="e", size=6, workers=64, cores=64, select_s=3e-6, backup_s=1e-6,
    access_s=1e-7, dnn_s={b: 5e-4 + 2e-5 * b for b in (1, 2, 4, 8, 16, 32, 64)}, concurrency=1.0,
    latency_s=1e-5, bytes_s=1e9, item_bytes=1000,
)  # fmt: skip


def asked(values: list[float], noise: float = 0.0) -> tuple[int, int]:
    """The index that is found, and how many were measured."""
    calls: list[int] = []

    def timing(index: int) -> Timing:
        calls.append(index)
        return Timing(values[index - 1], noise)

    found, known = find_min(timing, 1, len(values))
    assert sorted(calls) == sorted(known) == sorted(set(calls)), "something was measured twice"
    return found, len(calls)


def limit(count: int) -> int:
    return 2 * math.ceil(math.log2(count)) + 4 if count > 1 else 4


def v_sequence(rng: np.random.Generator, count: int, flat: float) -> np.ndarray:
    """Falls to a minimum anywhere, then rises; a step is 0 with the probability `flat`.

    No three steps in a row are 0: nobody can see a side of a wider plateau from inside.
    """
    steps = rng.uniform(0.02, 1.0, count - 1)
    for index in range(count - 1):
        if rng.random() < flat and not (index >= 2 and steps[index - 1] == steps[index - 2] == 0):
            steps[index] = 0
    least = rng.integers(0, count)
    signs = np.where(np.arange(count - 1) < least, -1, 1)
    values = np.concatenate([[0.0], np.cumsum(signs * steps)])
    return values - values.min() + 1.0


LENGTHS = (1, 2, 3, 4, 5, 7, 8, 16, 20, 31, 32, 64, 100)


def test_the_minimum_of_v_sequences_is_found(seed: int) -> None:
    """10,000 sequences; every second one has plateaus, of which few hide the way."""
    rng, missed = np.random.default_rng(seed), []
    for number in range(10_000):
        count = int(rng.choice(LENGTHS))
        values = v_sequence(rng, count, 0.3 * (number % 2))
        found, calls = asked(values.tolist())
        assert calls <= limit(count)
        if values[found - 1] > values.min():
            assert number % 2, (values, found)
            missed.append(values[found - 1] / values.min())
    print(len(missed), "missed, by", np.mean(missed))
    assert len(missed) < 60


def test_noise_costs_no_more_than_its_size(seed: int) -> None:
    rng, regret = np.random.default_rng(seed), []
    for _ in range(2000):
        count = int(rng.choice([16, 32, 64]))
        truth = v_sequence(rng, count, 0.1)
        noise = 0.05
        values = truth + rng.normal(0, noise / 2, count)
        found, calls = asked(values.tolist(), noise)
        assert calls <= limit(count)
        regret.append(truth[found - 1] - truth.min())
    assert np.mean(regret) < 2 * noise and np.quantile(regret, 0.95) < 0.3


def test_guards_leave_a_plateau_of_the_rising_side() -> None:
    """Algorithm 4 as published goes right where neighbours are equal, away from the minimum."""
    values = [9.0, 4.0, 3.0, 5.0, 6.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
    assert values[5] == values[4]
    found, _ = asked(values)
    assert found == 3
    values = [9.0, 4.0, 5.0, 6.0, 7.0, 8.0, 8.0, 9.0, 10.0, 11.0, 12.0]
    assert asked(values)[0] == 2


def test_batches_that_send_as_many_are_tried_once() -> None:
    assert batch_sizes(1) == [1] and batch_sizes(16) == [1, 2, 3, 4, 6, 8, 16]
    for n in (1, 2, 7, 16, 32, 64):
        # A batch of the device takes a time of its own, and the last one of a round, too.
        known = {b: Timing(-(-n // b) * (1.0 + 0.02 * b), 0.0) for b in range(1, n + 1)}
        found, measured = find_batch(known.__getitem__, n)
        assert known[found].median == min(t.median for t in known.values())
        assert len(measured) <= limit(n) and set(measured) <= set(batch_sizes(n))


def test_the_model_is_that_of_the_equations() -> None:
    n, b = 32, 8
    tree, dnn = 4e-6, 5e-4 + 2e-5 * b
    link = 4 * 1e-5 + n * 1e-6
    assert FLAT.predict("local", n, b, published=True) == pytest.approx(
        max(tree * n, link, dnn) / n
    )
    assert FLAT.predict("local", n, b) == pytest.approx(
        (max(tree * n, link, 4 * dnn) + b * tree) / n
    )
    assert replace(FLAT, concurrency=2.0).predict("local", n, b) == pytest.approx(
        (2 * dnn + b * tree) / n
    )
    whole = 5e-4 + 2e-5 * n
    assert FLAT.predict("shared", n, n) == pytest.approx((1e-7 * n + tree + whole) / n)
    assert replace(FLAT, cores=2).predict("shared", n, n) == pytest.approx(
        (1e-7 * n + tree * 16 + whole) / n
    )
    handed = replace(FLAT, hand_s={"shared": 1e-5, "local": 2e-6})
    for scheme, batch, hand in (("shared", n, 1e-5), ("local", b, 2e-6)):
        alone = FLAT.predict(scheme, n, batch)
        assert handed.predict(scheme, n, batch) == pytest.approx(alone + hand)
        alone = FLAT.predict(scheme, n, batch, published=True)
        assert handed.predict(scheme, n, batch, published=True) == alone
    slow = replace(FLAT, latency_s=1.0)
    assert slow.predict("local", n, b) == pytest.approx((4 * 1.0 + n * 1e-6 + b * tree) / n)
    assert FLAT.dnn(12) == pytest.approx(5e-4 + 2e-5 * 12)


def test_a_profile_is_measured_and_kept(tmp_path: Path) -> None:
    found = profile(SETTINGS, Emulated(1e-3, 1e-4), playouts=24)
    assert sorted(found.dnn_s) == [1, 2, 4, 8]
    for batch, seconds in found.dnn_s.items():
        assert seconds > 0.9 * (1e-3 + 1e-4 * batch / 2)  # collisions make some batches smaller
    assert found.select_s > 0 and found.backup_s > 0 and found.access_s > 0
    assert found.concurrency == 1 and found.cores >= 1
    assert set(found.hand_s) == {"local", "shared"} and found.hand_s["shared"] > 0
    found.save(tmp_path / "profile.json")
    assert Profile.load(tmp_path / "profile.json") == found
    both = profile(SETTINGS, Emulated(20e-3, 0, streams=8), playouts=24)
    assert sorted(both.dnn_s) == [1], "each worker has a stream"
    assert both.concurrency > 2


def test_test_runs_are_of_whole_rounds() -> None:
    assert [whole_rounds(200, n) for n in (1, 8, 64)] == [200, 200, 256]


def test_batches_of_the_shared_tree() -> None:
    assert shared_batch(8, Table()) == shared_batch(8, Table(streams=7)) == 8
    assert shared_batch(8, Table(streams=8)) == 1


def test_a_choice_is_made_among_what_is_allowed() -> None:
    evaluator = Emulated(10e-3, 0)
    plan, _ = choose(SETTINGS, evaluator, playouts=24)
    assert set(plan.predicted) == {"local", "shared"}
    assert plan.batch > 2, "small batches take turns at the evaluator"
    assert choose(SETTINGS, evaluator, ("shared",), playouts=24)[0].scheme == "shared"
    only = choose(SETTINGS, evaluator, ("local",), 3, playouts=24)[0]
    assert (only.scheme, only.batch, only.measured) == ("local", 3, {})
    assert Plan("local", 1).predicted == {}


@pytest.mark.parametrize(("select_s", "scheme"), [(3e-6, "local"), (6e-6, "shared")])
def test_within_five_percent_the_local_tree_is_taken(
    select_s: float, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = replace(FLAT, select_s=select_s, access_s=0.0)
    monkeypatch.setattr("jackdaw.search.calibrate.profile", lambda *_: known)
    plan, _ = choose(SETTINGS, Table(), batch=8)
    ratio = plan.predicted["local"] / plan.predicted["shared"]
    assert 1 < ratio < 1.05 if scheme == "local" else 1.05 < ratio < 1.1
    assert (plan.scheme, plan.batch) == (scheme, 8)


def test_a_choice_among_nothing_is_refused() -> None:
    for schemes, batch, text in (
        ((), 0, "schemes: got ''"), (("tree",), 0, "schemes: got 'tree'"),
        (("local",), 9, "batch: got 9, want 0..8"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=text):
            choose(SETTINGS, Table(), schemes, batch)


def test_a_test_run_gives_its_time() -> None:
    timing = time_playouts(replace(SETTINGS, workers=1), Emulated(1e-3, 0), 20, 3)
    assert timing.median > 1e-3 and timing.noise >= 0
