"""Gomoku: the position of the host and the compiled rules against the plain ones."""

from __future__ import annotations

import numpy as np
import pytest

from jackdaw.environments.gomoku import Gomoku, bits, symmetries
from jackdaw.errors import ConfigError
from jackdaw.search.dnn_tree import play
from models.gomoku.rules import DIRECTIONS, Rules

BOARDS = ((3, 3), (6, 4), (9, 5), (15, 5), (16, 5))


def put(size: int, win: int, mine: set[int], theirs: set[int], last: int) -> Gomoku:
    return Gomoku(size, win, sum(1 << m for m in mine), sum(1 << m for m in theirs), last)


@pytest.mark.parametrize(("size", "win"), BOARDS)
def test_rows_of_every_direction_place_and_length_win(size: int, win: int) -> None:
    """Every row of win - 1, win and win + 1 stones, finished at each of its places."""
    seen = {False: 0, True: 0}
    for down, right in DIRECTIONS:
        for start in range(size * size):
            y, x = divmod(start, size)
            for length in (win - 1, win, win + 1):
                ends = (y + (length - 1) * down, x + (length - 1) * right)
                if not all(0 <= end < size for end in ends):
                    continue
                row = [start + k * (down * size + right) for k in range(length)]
                for last in {row[0], row[length // 2], row[-1]}:
                    won = put(size, win, set(), set(row), last).outcome == 1.0
                    assert won == (length >= win), (row, last)
                    seen[won] += 1
    assert all(seen.values())


def test_rows_do_not_go_around_the_edge() -> None:
    for row in ([4, 5, 6, 7], [3, 8, 13, 18], [2, 9, 16, 23, 30][1:] + [1]):
        size = 6
        a = put(size, 4, set(), set(row), row[-1]).outcome
        board = [[0] * size for _ in range(size)]
        for cell in row:
            board[cell // size][cell % size] = 1
        rules = Rules(size, 4, moves=[0])
        rules.board = board
        assert a == rules.outcome() or (a, rules.outcome()) == (None, None)
    legal, over, _ = play(6, 4, [4, 20, 5, 21, 6, 27, 7])
    assert legal == 7 and not over.any()


def compare(size: int, win: int, order: np.ndarray) -> int:
    """Play a game of all three rules; returns its moves."""
    rules, position = Rules(size, win), Gomoku(size, win)
    outcomes = []
    for move in order:
        assert position.legal == sum(1 << m for m in rules.legal())
        rules.play(int(move))
        position = position.play(int(move))
        outcomes.append(rules.outcome())
        assert position.outcome == outcomes[-1]
        if outcomes[-1] is not None:
            break
    legal, over, won = play(size, win, order)
    assert legal == len(outcomes)
    assert over[:legal].tolist() == [o is not None for o in outcomes]
    assert won[:legal].tolist() == [o == 1.0 for o in outcomes]
    assert position.legal == 0 and position.stones == legal
    return legal


@pytest.mark.parametrize(("size", "win"), BOARDS)
def test_random_games_follow_the_plain_rules(size: int, win: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range({3: 60, 6: 12}.get(size, 1)):
        compare(size, win, rng.permutation(size * size))


@pytest.mark.regress
@pytest.mark.cpu_limit(3600)
def test_many_random_games_follow_the_plain_rules(seed: int) -> None:
    """100,000 games on 6 x 6: compiled rules and the host's, with the plain rules at the end."""
    rng, ends = np.random.default_rng(seed), set()
    for number in range(100_000):
        order = rng.permutation(36)
        legal, over, won = play(6, 4, order)
        position = Gomoku(6, 4)
        for move, ended in zip(order[:legal].tolist(), over[:legal].tolist(), strict=True):
            position = position.play(move)
            assert (position.outcome is not None) == ended
        assert (position.outcome == 1.0) == won[legal - 1]
        rules = Rules(6, 4, moves=order[:legal].tolist())
        before = Rules(6, 4, moves=order[: legal - 1].tolist())
        assert rules.outcome() == position.outcome and before.outcome() is None, number
        ends.add(rules.outcome())
    assert ends == {0.0, 1.0}


def test_full_boards_are_drawn() -> None:
    order = [0, 1, 2, 4, 3, 5, 7, 6, 8]
    position = Gomoku(3, 3)
    for move in order:
        assert position.outcome is None
        position = position.play(move)
    assert position.outcome == 0.0 and position.legal == 0
    assert play(3, 3, order)[2].sum() == 0


def test_illegal_moves_are_refused() -> None:
    position = Gomoku(6, 4).play(7)
    for move in (7, -1, 36):
        with pytest.raises(ValueError, match="empty place"):
            position.play(move)
    for wrong in ((2, 3), (17, 5), (6, 7), (6, 2)):
        with pytest.raises(ConfigError):
            Gomoku(*wrong)


def test_planes_and_text() -> None:
    position = Gomoku(6, 4).play(7).play(8)
    planes = position.planes()
    assert planes.shape == (4, 6, 6) and planes.sum() == 3 + 36
    assert planes[0, 1, 1] == planes[1, 1, 2] == planes[2, 1, 2] == planes[3, 0, 0] == 1
    assert position.play(0).planes()[3].sum() == 0
    assert str(position).splitlines()[1] == ". x o . . ."
    assert str(position.play(0)).splitlines()[0] == "x . . . . ."


def test_symmetries_keep_outcomes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = np.arange(36).reshape(6, 6)
    forms = symmetries(cells)
    assert len({form.tobytes() for form in forms}) == 8
    for _ in range(5):
        order = rng.permutation(36)
        legal, _, won = play(6, 4, order)
        for form in forms:
            turned = form.ravel().argsort()[order]  # where each place goes
            found, _, also = play(6, 4, turned)
            assert (found, also.tolist()) == (legal, won.tolist())
            board = Gomoku(6, 4)
            for a, b in zip(order[:3].tolist(), turned[:3].tolist(), strict=True):
                assert np.array_equal(bits(1 << b, 6).reshape(6, 6), (form == a))
                board = board.play(b)


def test_rollouts_end_as_games_do(seed: int) -> None:
    rng, ends = np.random.default_rng(seed), []
    position = Gomoku(3, 3).play(4)
    for _ in range(400):
        ends.append(position.rollout(rng))
    assert set(ends) == {-1.0, 0.0, 1.0}
    assert np.mean(ends) > 0.2, "the centre helps"
    assert put(3, 3, {3, 4}, {0, 1, 2}, 2).rollout(rng) == 1.0
