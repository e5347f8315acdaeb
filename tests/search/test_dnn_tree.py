"""The compiled tree of DNN-guided search against the textbook's search."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jackdaw.errors import ConfigError, EvaluatorError, SearchError, SearchTimeout
from jackdaw.search.dnn_tree import DnnTree, Found, TreeSettings, play
from jackdaw.search.evaluator import Emulated, Evaluator, Rollouts, Table
from jackdaw.search.native import build
from models.gomoku.rules import Rules
from models.gomoku.search import Textbook, hashed

SMALL = {"size": 6, "win": 4}


def tree(evaluator: Evaluator | None = None, **settings: object) -> DnnTree:
    return DnnTree(TreeSettings(**{**SMALL, **settings}), evaluator or Table())  # type: ignore[arg-type]


def game(searched: DnnTree, playouts: int, moves: int, seed: int) -> list[Found]:
    """Search and play the best move, with noise at every root, until the game is over."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(moves):
        found.append(searched.search(playouts, rng.dirichlet([0.3] * 36)))
        searched.check()
        searched.advance(found[-1].move)
        try:
            searched.search(1)
        except ConfigError:
            break
    return found


def late(stones: int) -> list[int]:
    """Moves of a random game that goes on after so many: most leaves of a search are terminal."""
    rng = np.random.default_rng(1)
    while True:
        order = rng.permutation(36)[:stones].tolist()
        legal, over, _ = play(6, 4, order)
        if legal == stones and not over[-1]:
            return order


def equal(a: list[Found], b: list[Found]) -> bool:
    return all(
        np.array_equal(x.visits, y.visits) and np.array_equal(x.values, y.values)
        for x, y in zip(a, b, strict=True)
    )


@pytest.mark.parametrize("scheme", ["local", "shared"])
def test_one_worker_equals_the_textbook_move_by_move(seed: int, scheme: str) -> None:
    book = Textbook(6, 4, hashed)
    rng, rules = np.random.default_rng(seed), Rules(6, 4)
    with tree(scheme=scheme) as searched:
        while rules.outcome() is None:
            noise = rng.dirichlet([0.3] * 36)
            visits, values = book.search(25, noise, 0.25)
            found = searched.search(25, noise, 0.25)
            assert found.visits.tolist() == visits.tolist()
            assert found.values.tolist() == values.tolist()
            searched.check()
            rules.play(found.move)
            book.advance(found.move)
            searched.advance(found.move)
        with pytest.raises(ConfigError, match="the game is over"):
            searched.search(1)
    assert len(rules.moves) > 8


def test_a_table_does_not_depend_on_board_words(seed: int) -> None:
    """15 x 15: four words of stones, the textbook's numbers."""
    book = Textbook(15, 5, hashed)
    with tree(size=15, win=5) as searched:
        for _ in range(2):
            assert searched.search(30).visits.tolist() == book.search(30)[0].tolist()
            move = searched.search(1).move
            book.search(1)
            book.advance(move)
            searched.advance(move)


@pytest.mark.parametrize(
    ("workers", "batch"), [(1, 1), (2, 1), (3, 2), (5, 5), (7, 3), (16, 5), (64, 20)]
)
@pytest.mark.parametrize("repeatable", [True, False])
def test_local_batches_of_any_size_end(workers: int, batch: int, repeatable: bool) -> None:
    """Budgets that B does not divide, to the end of the game, where most leaves are terminal."""
    evaluator = Emulated(20e-6, 1e-6, streams=2)
    sums = np.zeros(6, int)
    with tree(evaluator, workers=workers, batch=batch, repeatable=repeatable) as searched:
        games = game(searched, 53, 6, workers)
        searched.reset(late(26))
        for found in games + game(searched, 53, 10, workers):
            c = found.counts
            assert c.playouts == 53
            assert c.full + c.outstanding + c.ended == c.batches <= c.evaluations
            assert c.evaluations + c.collisions + c.terminals in (53, 54)  # the root's evaluation
            sums += (c.full, c.outstanding, c.ended, c.collisions, c.terminals, c.batches)
    assert sums[0] and sums[5] and sums[4]
    assert batch == 1 or sums[1] + sums[2]
    assert workers < 16 or sums[3]


def test_repeatable_searches_are_alike_whatever_the_time() -> None:
    runs = []
    for evaluator in (Table(streams=3), Emulated(2e-4, 1e-5, streams=2)):
        with tree(evaluator, workers=8, batch=3) as searched:
            runs.append(game(searched, 61, 6, 1))
    assert equal(*runs)


def test_one_batch_of_all_workers_is_repeatable_in_any_order() -> None:
    runs = []
    for repeatable in (True, False):
        with tree(workers=1, repeatable=repeatable) as searched:
            runs.append(game(searched, 61, 6, 1))
    assert equal(*runs)


@pytest.mark.parametrize(("workers", "batch"), [(2, 2), (4, 1), (9, 9), (16, 4)])
def test_shared_trees_keep_their_rules(workers: int, batch: int) -> None:
    """Sums of visits, no virtual loss that is left, no node that is lost, and no wait for ever."""
    seen = np.zeros(3, int)
    with tree(Emulated(20e-6, 1e-6), scheme="shared", workers=workers, batch=batch) as searched:
        visits, games = 0, game(searched, 75, 8, workers)
        searched.reset(late(26))
        games += game(searched, 75, 10, workers)
        for found in games:
            c = found.counts
            assert c.playouts == 75
            assert c.evaluations + c.collisions + c.terminals in (75, 76)
            assert found.visits.sum() >= 75
            visits += int(found.visits.sum())
            seen += (c.full, c.outstanding + c.ended, c.terminals)
    assert visits > len(games) * 75, "no tree was kept"
    assert seen.all()


def test_the_tree_below_a_move_is_kept() -> None:
    with tree() as searched:
        before = searched.search(200)
        move = before.move
        searched.advance(move)
        after = searched.search(1)
        assert after.visits.sum() == before.visits[move]  # one went to expand it, one is new
        searched.check()
        unseen = int(np.flatnonzero((after.visits == 0) & (after.priors > 0))[0])
        searched.advance(unseen)
        assert searched.search(3).visits.sum() == 3


def test_virtual_loss_spreads_and_is_restored() -> None:
    """Without it, workers choose the same leaf; with it, few do. Both are taken back."""
    collisions = {}
    for form in ("visits", "constant"):
        for loss in (0.0, 1.0):
            with tree(workers=8, batch=8, virtual_loss=loss, virtual_form=form) as searched:
                collisions[form, loss] = searched.search(400).counts.collisions
                searched.check()
    assert collisions["constant", 0.0] > 300
    assert all(collisions[form, 1.0] < 40 for form in ("visits", "constant"))


def test_noise_is_at_the_root_alone() -> None:
    noise = np.zeros(36)
    noise[7] = 1
    with tree() as searched:
        plain = searched.search(50)
        searched.reset()
        noisy = searched.search(50, noise, 1.0)
        assert noisy.visits[7] > 30 > plain.visits[7]
        assert np.array_equal(noisy.priors, plain.priors), "the tree keeps the network's priors"


def test_rollouts_find_a_win_and_a_threat() -> None:
    with tree(Rollouts(), rule="uct", c=1.4) as searched:
        searched.reset([0, 30, 1, 31, 2, 33])  # 3 wins
        assert searched.search(400).move == 3
        searched.reset([0, 30, 8, 31, 22, 32])  # 33 would win for the second player
        assert searched.search(3000).move == 33
    with pytest.raises(ConfigError, match="rollouts want the scheme local"):
        tree(Rollouts(), workers=2)


class Calls(Evaluator):
    """An evaluator of the tests' own."""

    def __init__(self, function: Callable[[np.ndarray], object], streams: int = 1) -> None:
        super().__init__(streams)
        self.function = function

    def __call__(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        changed = self.function(planes)
        priors, values = np.ones((len(planes), 36), np.float32), np.zeros(len(planes), np.float32)
        return changed if changed is not None else (priors, values)  # type: ignore[return-value]


def test_of_equal_moves_the_lowest_is_taken() -> None:
    with tree(Calls(lambda planes: None)) as searched:
        searched.reset([0, 2])
        assert np.flatnonzero(searched.search(3).visits).tolist() == [1, 3, 4]


def test_an_evaluator_sees_the_planes_of_the_position() -> None:
    from jackdaw.environments.gomoku import Gomoku

    seen: list[np.ndarray] = []
    moves = [7, 8, 14, 20]
    with tree(Calls(lambda planes: seen.append(planes.copy()))) as searched:
        searched.reset(moves)
        found = searched.search(1)
    position = Gomoku(**SMALL)
    for move in moves:
        position = position.play(move)
    assert np.array_equal(seen[0][0], position.planes())
    assert np.array_equal(seen[1][0], position.play(found.move).planes())


@pytest.mark.parametrize(("workers", "batch"), [(1, 1), (8, 3), (16, 16)])
def test_the_callers_thread_as_master_gives_the_same(workers: int, batch: int) -> None:
    """One stream of the caller's: no other thread has a part in the search."""

    def table(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = []
        for mine, theirs, _, first in planes.astype(int).reshape(-1, 4, 36):
            rules = Rules(6, 4)
            rules.moves = [0] * int(mine.sum() + theirs.sum())
            a, b = (mine, theirs) if first[0] else (theirs, mine)
            rules.board = (a + 2 * b).reshape(6, 6).tolist()
            found.append(hashed(rules))
        return (np.stack([priors for priors, _ in found]),
                np.array([value for _, value in found], np.float32))  # fmt: skip

    runs = []
    for evaluator in (Table(), Calls(table), Calls(table, streams=2)):
        with tree(evaluator, workers=workers, batch=batch) as searched:
            runs.append(game(searched, 61, 3, 1))
    assert equal(runs[0], runs[1]) and equal(runs[0], runs[2])


@pytest.mark.parametrize("scheme", ["local", "shared"])
@pytest.mark.parametrize("streams", [1, 3])
def test_a_failing_evaluator_ends_the_search_by_name(scheme: str, streams: int) -> None:
    good = (np.ones((1, 36), np.float32), np.zeros(1, np.float32))
    nan = good[0] * np.nan

    def at(count: int, bad: Callable[[], object]) -> Callable[[np.ndarray], object]:
        calls = iter(range(10000))
        return lambda planes: bad() if next(calls) == count else None

    def raises() -> None:
        raise RuntimeError("the card fell out")

    cases = [(raises, "RuntimeError: the card fell out"), (lambda: (nan, good[1]), "not finite"),
             (lambda: (good[0], good[1] + 2), "range"), (lambda: (-good[0], good[1]), "range"),
             (lambda: (good[0][:, :7], good[1]), "shapes")]  # fmt: skip
    for bad, text in cases:
        for count in (0, 9):
            evaluator = Calls(at(count, bad), streams)
            with tree(evaluator, scheme=scheme, workers=4, batch=1) as searched:
                searched.reset([3])
                with pytest.raises(EvaluatorError, match=text):
                    searched.search(60)
                assert searched.search(60).counts.playouts == 60, "no good search after it"
                searched.check()


@pytest.mark.parametrize("scheme", ["local", "shared"])
def test_an_evaluator_that_does_not_answer_ends_in_a_named_error(scheme: str) -> None:
    slow = Emulated(1.0, 0)
    start = time.monotonic()
    with tree(slow, scheme=scheme, workers=4, batch=2, timeout_s=0.1) as searched:
        with pytest.raises(SearchTimeout, match=r"time limit of 0\.1 s"):
            searched.search(10)
        with pytest.raises(SearchTimeout):
            searched.search(10)
    assert time.monotonic() - start < 5


def test_closing_in_the_middle_of_a_search_ends_it() -> None:
    """Ctrl-C reaches Python between two looks; the threads end, and so does the search."""

    def interrupted(planes: np.ndarray) -> None:
        raise KeyboardInterrupt

    with tree(Calls(interrupted)) as searched, pytest.raises(KeyboardInterrupt):
        searched.search(10)
    before = threading.active_count()
    with tree(Calls(lambda planes: None, streams=4), workers=4) as searched:
        searched.search(10)
        assert threading.active_count() == before
    with pytest.raises(SearchError, match="closed"):
        searched.search(1)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"win": 7}, "win: got 7, want 3..6"), ({"workers": 0}, "workers: got 0"),
        ({"batch": 2}, "batch: got 2, want 1..1"), ({"scheme": "tree"}, "scheme"),
        ({"size": 17}, "size: got 17"), ({"timeout_s": 0}, "timeout_s"),
    ],
)  # fmt: skip
def test_settings_are_checked(wrong: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        TreeSettings(**{**SMALL, **wrong})  # type: ignore[arg-type]


def test_calls_are_checked() -> None:
    with tree() as searched:
        for call in (
            lambda: searched.search(0), lambda: searched.advance(36),
            lambda: searched.reset([1, 1]), lambda: searched.search(1, np.zeros(3)),
            lambda: searched.reset([-1]), lambda: searched.reset(["x"]),  # type: ignore[list-item]
            lambda: searched.advance((1 << 32) + 1), lambda: searched.advance(1.5),  # type: ignore[arg-type]
            lambda: searched.search(1, np.full(36, np.nan)),
            lambda: searched.search(1, np.ones(36), -1.0),
        ):  # fmt: skip
            with pytest.raises(ConfigError):
                call()
        assert searched.search(2).counts.playouts == 2


def test_a_thread_that_comes_back_late_finds_its_tree() -> None:
    """An evaluator keeps threads beyond the search and beyond `close`."""
    go = threading.Event()

    class Slow(Evaluator):
        def __call__(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            if threading.current_thread() is not threading.main_thread():
                go.wait(10)
            time.sleep(0.2)
            return np.ones((len(planes), 36), np.float32), np.zeros(len(planes), np.float32)

    settings = TreeSettings(6, 4, "shared", 3, 1, timeout_s=0.1)
    with DnnTree(settings, Slow(3)) as searched, pytest.raises(SearchTimeout):
        searched.search(30)
    late = searched._late
    go.set()
    for thread in late:
        thread.join(5)
        assert not thread.is_alive()
    assert late


@pytest.mark.regress
def test_the_shared_tree_has_no_data_race() -> None:
    """ThreadSanitizer, 2 to 16 threads."""
    source = Path(__file__).with_name("shared_tree.cpp")
    program = build(source, ("-fsanitize=thread", "-g"), "shared_tree") / "shared_tree"
    done = subprocess.run([program], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == "".join(f"{n} threads: ok\n" for n in (2, 4, 16))
