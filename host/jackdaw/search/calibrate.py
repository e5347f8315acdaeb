"""Which scheme is faster on this machine, and with which batch: a profile, a model, a search.

    T = seconds of a round of N playouts
    shared:  T = T_access N + (T_select + T_backup) N / min(N, cores) + ceil(N/B) T_dnn(B) / s
                 + N T_hand
    local:   T = max((T_select + T_backup) N, T_link(N, B), ceil(N/B) T_dnn(B) / s)
                 + B (T_select + T_backup) + N T_hand
    T_link = ceil(N/B) L + N S / BW

T_hand, of each scheme its own, is what a playout takes beside that: threads that wait and wake.

Source: thesis 5.2.2, Eqs. 5.3 and 5.4 and Algorithm 4. The publication's form is that of a core for
each worker, of batches that overlap fully (s = N/B), without T_hand and without the local tree's
term in which the first batch fills; `predict(published=True)` gives it.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from jackdaw.ranges import one_of, whole
from jackdaw.search.dnn_tree import MOST_PLAYOUTS, SCHEMES, DnnTree, TreeSettings, access_seconds
from jackdaw.search.evaluator import EXTERNAL, Evaluator, Table

PLAYOUTS, ROUNDS = 200, 5  # of a test run, and how many of them
PREFER_LOCAL = 1.05  # predicted times that are closer than that count as equal
SMALL_BYTES, LARGE_BYTES = 1 << 10, 1 << 24


@dataclass(frozen=True)
class Profile:
    """What a machine takes for the parts of a playout.

    Attributes:
        machine: its name.
        evaluator: name and streams.
        size: of the board.
        workers: N, up to which batches were timed.
        cores: on which threads run.
        select_s, backup_s: seconds of one playout on one thread.
        access_s: seconds in which a cache line changes threads.
        dnn_s: batch -> seconds from sending it to having its results.
        concurrency: s, how many times faster several batches at a time are.
        latency_s: seconds of the smallest transfer to a GPU; 0 without a GPU.
        bytes_s: bytes per second of such transfers; infinite without a GPU.
        item_bytes: S, of one position there and back.
        hand_s: scheme -> T_hand with N workers.
    """

    machine: str
    evaluator: str
    size: int
    workers: int
    cores: int
    select_s: float
    backup_s: float
    access_s: float
    dnn_s: dict[int, float]
    concurrency: float
    latency_s: float
    bytes_s: float
    item_bytes: int
    hand_s: dict[str, float] = field(default_factory=dict)

    def dnn(self, batch: int) -> float:
        """Seconds of a batch; between the timed ones on a straight line."""
        below = max(b for b in self.dnn_s if b <= batch)
        above = min((b for b in self.dnn_s if b >= batch), default=below)
        low, high = self.dnn_s[below], self.dnn_s[above]
        return low if below == above else low + (high - low) * (batch - below) / (above - below)

    def predict(self, scheme: str, workers: int, batch: int, *, published: bool = False) -> float:
        """Seconds of a playout: those of a round, divided by N.

        Args:
            scheme: `local` or `shared`.
            workers: N.
            batch: B.
            published: the publication's form, see the module.
        """
        tree, sent = self.select_s + self.backup_s, math.ceil(workers / batch)
        # Batches that are under way together are faster by s, but never than one of them.
        overlap = sent if published else max(1.0, min(self.concurrency, sent))
        dnn = sent * self.dnn(batch) / overlap
        hand = 0.0 if published else self.hand_s.get(scheme, 0.0)
        if scheme == "shared":
            turns = 1 if published else workers / min(workers, self.cores)
            return (self.access_s * workers + tree * turns + dnn) / workers + hand
        link = sent * self.latency_s + workers * self.item_bytes / self.bytes_s
        fill = 0.0 if published else batch * tree
        return (max(tree * workers, link, dnn) + fill) / workers + hand

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, path: Path) -> Profile:
        """Read what `save` wrote."""
        data: dict[str, Any] = json.loads(path.read_text())
        return cls(**{**data, "dnn_s": {int(b): s for b, s in data["dnn_s"].items()}})


@dataclass(frozen=True)
class Timing:
    """Seconds of a playout.

    Attributes:
        median: of the test runs.
        noise: the interquartile range.
    """

    median: float
    noise: float


@dataclass(frozen=True)
class Plan:
    """A scheme and its batch.

    Attributes:
        scheme, batch: chosen.
        predicted: scheme -> seconds of a playout at its best batch, by the model.
        measured: batch -> seconds of a playout of the local tree, where it was run.
    """

    scheme: str
    batch: int
    predicted: dict[str, float] = field(default_factory=dict)
    measured: dict[int, float] = field(default_factory=dict)


def time_playouts(
    settings: TreeSettings,
    evaluator: Evaluator,
    playouts: int = PLAYOUTS,
    rounds: int = ROUNDS,
) -> Timing:
    """Run searches from an empty board.

    Raises: EvaluatorError, SearchTimeout.
    """
    with DnnTree(settings, evaluator) as tree:
        tree.search(min(playouts, settings.workers))  # threads and caches are warm
        seconds = []
        for _ in range(rounds):
            tree.reset()
            start = time.perf_counter()
            tree.search(playouts)
            seconds.append((time.perf_counter() - start) / playouts)
    quarters = statistics.quantiles(seconds, n=4) if rounds > 1 else [0.0, 0.0, 0.0]
    return Timing(statistics.median(seconds), quarters[2] - quarters[0])


def whole_rounds(playouts: int, workers: int) -> int:
    """At least so many playouts, in rounds of N: a last round of few would favour some batches."""
    return -(-playouts // workers) * workers


def shared_batch(workers: int, evaluator: Evaluator) -> int:
    """B of the shared tree: all workers' leaves, or 1 where each worker has a stream."""
    return 1 if evaluator.streams >= workers else workers


def profile(settings: TreeSettings, evaluator: Evaluator, playouts: int = PLAYOUTS) -> Profile:
    """Time the parts of a playout.

    Args:
        settings: of the tree; its workers are N.
        evaluator: of the leaves.
        playouts: of a run.
    Raises: EvaluatorError, SearchTimeout.
    """
    most = settings.workers
    batches = [b for b in _powers(most) if shared_batch(most, evaluator) > 1 or b == 1]
    select, backup, dnn = [], [], {}
    for batch in batches:
        one = replace(settings, scheme="local", workers=batch, batch=batch, repeatable=True)
        rounds = []
        with DnnTree(one, evaluator) as tree:
            for _ in range(3):
                tree.reset()
                counts = tree.search(max(playouts, 8 * batch)).counts
                rounds.append(counts.wait_s / counts.batches)
                select.append(counts.select_s / counts.playouts)
                backup.append(counts.backup_s / counts.playouts)
        dnn[batch] = statistics.median(rounds)
    concurrency = 1.0
    if evaluator.streams > 1:
        together = min(evaluator.streams, most)
        one = replace(settings, scheme="local", workers=together, batch=1, repeatable=False)
        round_s = together * time_playouts(one, evaluator, playouts, 3).median
        concurrency = max(1.0, min(float(together), together * dnn[1] / round_s))
    latency, rate = _link(evaluator)
    tree_s = statistics.median(select) + statistics.median(backup)
    cells = settings.size**2
    return Profile(
        machine=platform.node(), evaluator=f"{evaluator.name}, {evaluator.streams} at a time",
        size=settings.size, workers=most, cores=len(os.sched_getaffinity(0)),
        select_s=statistics.median(select), backup_s=statistics.median(backup),
        access_s=access_seconds(), dnn_s=dnn, concurrency=concurrency, latency_s=latency,
        bytes_s=rate, item_bytes=4 * (4 * cells + cells + 1),
        hand_s={s: _hand_over(settings, s, tree_s, playouts) for s in SCHEMES},
    )  # fmt: skip


def _hand_over(settings: TreeSettings, scheme: str, tree_s: float, playouts: int) -> float:
    """T_hand: a playout whose evaluation takes no time, less the tree's part of it."""
    n = settings.workers
    one = replace(settings, scheme=scheme, batch=n, repeatable=False)
    turns = n / min(n, len(os.sched_getaffinity(0))) / n if scheme == "shared" else 1.0
    return max(0.0, time_playouts(one, Table(), max(playouts, 8 * n)).median - tree_s * turns)


def _powers(most: int) -> list[int]:
    """1, 2, 4 .. most."""
    return sorted({*(1 << k for k in range(most.bit_length()) if 1 << k <= most), most})


def _link(evaluator: Evaluator) -> tuple[float, float]:
    """Latency in seconds and bytes per second of copies to a GPU; 0 and infinite without one."""
    device = getattr(evaluator, "device", None)
    if evaluator.kind != EXTERNAL or device is None or device.type != "cuda":
        return 0.0, math.inf
    import torch

    def copy(size: int) -> float:
        source = torch.zeros(size, dtype=torch.uint8).pin_memory()
        seconds = []
        for _ in range(10):
            start = time.perf_counter()
            source.to(device)
            torch.cuda.synchronize(device)
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds)

    small, large = copy(SMALL_BYTES), copy(LARGE_BYTES)
    return small, (LARGE_BYTES - SMALL_BYTES) / max(large - small, 1e-9)


def find_min(timing: Callable[[int], Timing], low: int, high: int) -> tuple[int, dict[int, Timing]]:
    """Find the minimum of a sequence that falls, then rises (Algorithm 4), with guards.

    Values within their noise count as equal; then the values two places further out decide. The
    result is compared with its neighbours and gives way to one that is better beyond the noise.

    Args:
        timing: of an index; asked at most 2 ceil(log2(high - low + 1)) + 4 times.
        low: the first index.
        high: the last one.
    Returns: the index, and all that was measured.
    """
    known: dict[int, Timing] = {}
    first, last, budget = low, high, 2 * _halvings(low, high) + 4

    def at(index: int) -> Timing:
        if index not in known:
            known[index] = timing(index)
        return known[index]

    def better(a: int, b: int) -> bool:
        """Whether index a is better than b, beyond the noise."""
        return at(b).median - at(a).median > max(at(a).noise, at(b).noise)

    while low < high:
        middle = (low + high) // 2
        right = at(middle).median >= at(middle + 1).median
        if not better(middle, middle + 1) and not better(middle + 1, middle):
            outer = max(middle - 2, first), min(middle + 3, last)
            room = budget - len(known) - 2 * _halvings(low, high)
            if room >= sum(index not in known for index in outer):
                right = at(outer[0]).median >= at(outer[1]).median
        low, high = (middle + 1, high) if right else (low, middle)
    at(low)
    while True:  # downhill from the best so far, while there is room
        found = min(known, key=lambda index: (known[index].median, index))
        near = [found + step for step in (-1, 1, -2, 2) if first <= found + step <= last]
        unknown = [index for index in near if index not in known]
        if not unknown or len(known) == budget:
            break
        at(unknown[0])
    return (found if better(found, low) else low), known


def batch_sizes(workers: int) -> list[int]:
    """Batches that are worth a test run: the least for each number of batches in a round of N.

    A larger one of as many batches sends the last of them partly filled, and waits for more.
    """
    return sorted({-(-workers // sent) for sent in range(1, workers + 1)})


def find_batch(timing: Callable[[int], Timing], workers: int) -> tuple[int, dict[int, Timing]]:
    """Find the local tree's batch by Algorithm 4 among `batch_sizes`.

    Args:
        timing: of a batch; asked at most 2 ceil(log2 N) + 4 times.
        workers: N.
    Returns: the batch, and all that was measured.
    """
    sizes = batch_sizes(workers)
    best, known = find_min(lambda index: timing(sizes[index]), 0, len(sizes) - 1)
    return sizes[best], {sizes[index]: found for index, found in known.items()}


def _halvings(low: int, high: int) -> int:
    """How often a range is halved until one index is left."""
    return (high - low).bit_length()


def choose(
    settings: TreeSettings,
    evaluator: Evaluator,
    schemes: Sequence[str] = SCHEMES,
    batch: int = 0,
    playouts: int = PLAYOUTS,
) -> tuple[Plan, Profile]:
    """Choose a scheme by the model, and the local tree's batch by test runs.

    Args:
        settings: of the tree; its workers are N.
        evaluator: of the leaves.
        schemes: among which to choose.
        batch: of the local tree; 0: to be found.
        playouts: of a test run.
    Returns: the choice, and the profile it rests on.
    Raises: ConfigError, EvaluatorError, SearchTimeout.
    """
    n = settings.workers
    for scheme in schemes or ("",):
        one_of("schemes", scheme, SCHEMES)
    batch, playouts = whole("batch", batch, 0, n), whole("playouts", playouts, 1, MOST_PLAYOUTS)
    found = profile(settings, evaluator, playouts)
    all_leaves = shared_batch(n, evaluator)
    batches = [batch] if batch else list(range(1, n + 1)) if all_leaves > 1 else [1]
    by_batch = {b: found.predict("local", n, b) for b in batches}
    best = min(by_batch, key=lambda b: by_batch[b])
    predicted = {"local": by_batch[best], "shared": found.predict("shared", n, all_leaves)}
    predicted = {scheme: predicted[scheme] for scheme in schemes}
    if "local" not in predicted or (
        "shared" in predicted and predicted["local"] > PREFER_LOCAL * predicted["shared"]
    ):
        return Plan("shared", all_leaves, predicted), found
    if len(batches) == 1:
        return Plan("local", batches[0], predicted), found

    def timing(size: int) -> Timing:
        one = replace(settings, scheme="local", batch=size)
        return time_playouts(one, evaluator, whole_rounds(playouts, n))

    best, known = find_batch(timing, n)
    measured = {b: known[b].median for b in sorted(known)}
    return Plan("local", best, predicted, measured), found
