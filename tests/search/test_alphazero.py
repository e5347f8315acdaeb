"""Training by self-play, players and matches, and the commands for Gomoku."""

from __future__ import annotations

import io
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from jackdaw.cli import main
from jackdaw.environments.gomoku import Gomoku
from jackdaw.errors import (
    CheckpointError,
    CheckpointMismatch,
    ConfigError,
    EvaluatorError,
    NonfiniteError,
)
from jackdaw.runtime import checkpoint
from jackdaw.runtime.run_folder import CHECKPOINT
from jackdaw.search.alphazero import AlphaZero, load
from jackdaw.search.dnn_tree import Found, TreeSettings
from jackdaw.search.evaluator import Table
from jackdaw.search.network import Network
from jackdaw.search.players import NetworkPlayer, RandomPlayer, Score, SearchPlayer, match, play
from jackdaw.search.players import uct_player as uct
from jackdaw.search.positions import Buffer
from jackdaw.search.recipe import Recipe, recipe_for

GAME = Gomoku(4, 3)
QUICK: dict[str, Any] = {"width": 4, "playouts": 12, "workers": 4, "batch": 2, "minibatch": 32,
                         "steps": 2, "evaluate_every": 0, "buffer": 60}  # fmt: skip


def agent(**settings: Any) -> AlphaZero:
    return AlphaZero(GAME, scheme="local", **{"seed": 3, **QUICK, **settings})


def curve(trained: AlphaZero) -> list[tuple[float, ...]]:
    """Its rows without seconds."""
    return [(*row[:1], *row[2:]) for row in trained.curve]


def test_self_play_gives_positions_shares_and_outcomes() -> None:
    lengths = set()
    with agent(sampled_moves=2) as one:
        for _ in range(40):
            lengths.add(check_game(*one.self_play()) % 2)
            if len(lengths) == 2:
                return
    raise AssertionError("all games had an even number of moves, or all an odd one")


def check_game(planes: np.ndarray, shares: np.ndarray, outcomes: np.ndarray) -> int:
    """Hold a game's positions against the rules; returns how many there are."""
    count = len(outcomes)
    assert planes.shape == (count, 4, 4, 4) and shares.shape == (count, 16)
    assert np.allclose(shares.sum(1), 1)
    stones = planes[:, 0] + planes[:, 1]
    assert (stones.sum((1, 2)) == np.arange(count)).all()
    assert not (shares.reshape(-1, 4, 4) * stones).any(), "a visit at an occupied place"
    position = GAME
    for before, after in itertools.pairwise(planes):
        move = int(after[2].argmax())
        assert np.array_equal(position.planes(), before)
        position = position.play(move)
    last = [m for m in range(16) if position.legal >> m & 1 and shares[-1][m] == shares[-1].max()]
    end = position.play(last[0])
    assert end.outcome is not None
    assert outcomes[-1] == end.outcome
    assert (outcomes[::-1] == end.outcome * (-1.0) ** np.arange(count)).all()
    return count


def test_noise_is_in_self_play_and_not_in_evaluation() -> None:
    with agent() as one:
        noisy: list[bool] = []
        tree = one._player.tree
        search = tree.search

        def watched(playouts: int, noise: np.ndarray | None = None, weight: float = 0.0) -> Found:
            noisy.append(noise is not None)
            return search(playouts, noise, weight)

        tree.search = watched  # type: ignore[method-assign]
        one.self_play()
        assert all(noisy)
        noisy.clear()
        assert one.act() == one.act([]) and not any(noisy)


def test_the_buffer_keeps_the_newest_and_turns_both_planes_and_shares(seed: int) -> None:
    rng, buffer = np.random.default_rng(seed), Buffer(5, 3)
    for number in range(1, 8):
        planes = np.zeros((1, 4, 3, 3), np.float32)
        policy = np.zeros((1, 9), np.float32)
        planes[0, 0].flat[number % 9] = policy[0, number % 9] = 1
        buffer.add(planes, policy, np.array([number], np.float32))
    forms = set()
    for _ in range(60):
        planes_, policy_, outcome = buffer.sample(4, rng)
        assert len(set(outcome.tolist())) == 4 and outcome.min() >= 3
        assert torch.equal(planes_[:, 0].flatten(1), policy_)
        forms |= {(o, int(row.argmax())) for o, row in zip(outcome.tolist(), policy_, strict=True)}
    assert len(forms) > 3 * 5
    copy = Buffer(5, 3)
    copy.restore(buffer.state())
    assert copy.added == 7 and np.array_equal(copy.outcome, buffer.outcome)


def test_learning_lowers_the_loss_and_ends_at_the_divergence() -> None:
    with agent(minibatch=60, steps=40, most_kl=100.0, learning_rate=0.01) as one:
        for _ in range(6):
            one._buffer.add(*one.self_play())
        first = one.learn()
        for _ in range(4):
            last = one.learn()
        assert first[0] == 40 and last[1] < first[1] - 0.3
        assert first[1] == pytest.approx(first[2] + first[3])
    with agent(minibatch=60, steps=40, most_kl=1e-9, learning_rate=0.01) as one:
        one._buffer.add(*one.self_play())
        assert one.learn()[0] == 1
        with torch.no_grad():
            next(one.network.parameters()).fill_(torch.nan)
        with pytest.raises(NonfiniteError, match="loss of game 1"):
            one.learn()
        with pytest.raises(EvaluatorError):
            one.evaluator.load(one.network)
            one.act()


def test_a_resumed_training_is_the_one_that_was_not_interrupted(tmp_path: Path) -> None:
    settings = {"evaluate_every": 2, "evaluation_games": 2, "uct_playouts": 5}
    with agent(**settings) as whole:
        whole.train(games=5)
    with agent(**settings) as part:
        part.train(games=2, folder=tmp_path / "run")
    with agent(**settings) as rest:
        summary = rest.train(games=5, folder=tmp_path / "run", resume=True)
    assert curve(rest) == curve(whole) and summary["games"] == 5
    assert [s.against for s in rest.strengths] == [s.against for s in whole.strengths]
    assert len(rest.strengths) == 2 and "itself after half the games" in rest.strengths[1].against
    for a, b in zip(whole.network.parameters(), rest.network.parameters(), strict=True):
        assert torch.equal(a, b)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names >= {"config.json", "summary.json", "curve.png", "checkpoint.npz"}
    assert any(name.startswith("events.out") for name in names)
    with load(tmp_path / "run", playouts=30) as loaded:
        assert loaded.recipe.playouts == 30 and loaded.act([5]) in range(16)
        assert torch.equal(next(loaded.network.parameters()), next(rest.network.parameters()))
    with agent(seed=4, **settings) as other, pytest.raises(CheckpointMismatch, match="seed"):
        other.train(games=5, folder=tmp_path / "run", resume=True)
    with pytest.raises(ConfigError, match="no run's folder"):
        load(tmp_path)


def test_ctrl_c_saves(tmp_path: Path) -> None:
    def interrupt(one: AlphaZero) -> None:
        if one.games == 2:
            raise KeyboardInterrupt

    with agent() as one:
        assert one.train(games=9, folder=tmp_path / "run", callback=interrupt)["interrupted"]
    with agent() as one:
        assert one.train(games=3, folder=tmp_path / "run", resume=True)["games"] == 3


def test_matches_change_sides_and_count() -> None:
    class First:
        """Takes the lowest place."""

        name = "first"

        def choose(self, position: Gomoku, moves: object) -> int:
            return (position.legal & -position.legal).bit_length() - 1

        def close(self) -> None:
            pass

    rng = np.random.default_rng(1)
    game = Gomoku(6, 4)
    strong = uct(game, 3000)
    score = match(strong, First(), game, 10, rng)
    assert score.games == 10 and score.rate > 0.85
    back = match(First(), strong, game, 10, np.random.default_rng(1))
    assert (back.won, back.drawn, back.lost) == (score.lost, score.drawn, score.won)
    assert Score(1, 2, 1).rate == 0.5
    assert play((First(), First()), Gomoku(3, 3)) == 1.0  # 0 2 4 6 are the first player's
    strong.close()


def test_players_choose_legal_moves(seed: int) -> None:
    torch.manual_seed(seed)
    from jackdaw.search.evaluator import Torch

    rng = np.random.default_rng(seed)
    players: list[Any] = [
        RandomPlayer(rng), NetworkPlayer(Torch(Network(4, 2))), uct(GAME, 30),
        SearchPlayer(TreeSettings(4, 3), Table(), 10),
    ]  # fmt: skip
    for a in players:
        for b in players:
            if a is not b:
                assert play((a, b), GAME) in (-1.0, 0.0, 1.0)
    follower = players[3]
    for moves in ([], [1], [1, 2, 3], [1, 2, 3], [4], [4, 5, 6, 7, 8]):  # any order, any jumps
        position = GAME
        for move in moves:
            position = position.play(move)
        assert position.legal >> follower.choose(position, moves) & 1
    for player in players:
        player.close()


def test_recipes_are_checked() -> None:
    assert recipe_for(6, 4).width == 16 and recipe_for(15, 5) == Recipe(15, 5)
    for wrong in ({"win": 5, "size": 4}, {"batch": 9}, {"evaluation_games": 3}, {"scheme": "x"}):
        with pytest.raises(ConfigError):
            Recipe(**{"size": 6, "win": 4, **wrong})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="network: got one for size 6"):
        AlphaZero(GAME, Network(6, 2))
    with agent() as one, pytest.raises(ConfigError, match="neither games nor minutes"):
        one.train()


COMMAND = ["train", "gomoku", "--size", "4", "--win", "3", "--workers", "2", *(
    word for name in ("width=4", "playouts=8", "minibatch=16", "evaluate_every=2", "batch=1",
                      "evaluation_games=2", "uct_playouts=5") for word in ("--set", name)
)]  # fmt: skip


def test_the_commands_train_and_play(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    assert main([*COMMAND, "--games", "2", "--out", str(run)]) == 0
    out = capsys.readouterr().out
    assert "Gomoku 4 x 4, 3 in a row" in out and "of the points against: untrained" in out
    monkeypatch.setattr("sys.stdin", io.StringIO("a1\na1\nz\nd9\nhint\nundo\nb2\n"))
    assert main(["play", "gomoku", str(run), "--playouts", "9"]) == 0
    out = capsys.readouterr().out
    for text in ("against the network of", "a1 is taken", "got 'z'", "d9 is not on the board",
                 "it expects to win", "\n  1 ● ", "The game is left."):  # fmt: skip
        assert text in out, text
    for words in (["--size", "4"], ["--win", "3"], ["--against", "uct"]):
        assert main(["play", "gomoku", str(run), *words]) == 2
        assert f"{words[0]}: got {words[1]} with" in capsys.readouterr().err
    for against in ("uct", "untrained", "random"):
        svg = tmp_path / f"{against}.svg"
        words = ["--watch", "--against", against, "--second", "--playouts", "9", "--size", "4"]
        assert main(["play", "gomoku", *words, "--win", "3", "--svg", str(svg)]) == 0
        assert "After " in capsys.readouterr().out and svg.read_text().startswith("<svg")
    assert main(["play", "gomoku", str(tmp_path)]) == 2
    assert "is no run's folder" in capsys.readouterr().err
    assert main(["play", "gomoku", "--size", "2"]) == 2
    assert main([*COMMAND, "--set", "steps=0"]) == 2


@pytest.mark.parametrize("words", [["play", "gomoku"], [*COMMAND, "--minutes", "5"]])
def test_ctrl_c_ends_a_command(tmp_path: Path, words: list[str]) -> None:
    if words[0] == "train":
        words = [*words, "--out", str(tmp_path / "run")]
    process = subprocess.Popen(
        [sys.executable, "-m", "jackdaw", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"},
        # A shell starts what it puts in the background with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert process.stdout is not None
    begun = process.stdout.readline()
    while words[0] == "train" and not list((tmp_path / "run").glob("events.out*")):
        time.sleep(0.1)  # the last import is over then
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=500)
    assert "Gomoku" in begun and process.returncode == 130, errors
    assert "Traceback" not in errors and "interrupted" in errors


@pytest.mark.slow
@pytest.mark.cpu_limit(3600)
def test_ten_minutes_of_training_beat_a_random_player() -> None:
    with AlphaZero(Gomoku(6, 4), seed=1) as one:
        one.train(minutes=10)
        found = one.evaluate(100)
    assert found.against["random"] >= 0.95
    assert found.against["untrained"] >= 0.9
    assert found.against["random, network alone"] >= 0.9
    losses = [row[6] for row in one.curve]
    assert np.mean(losses[-50:]) < np.mean(losses[:50]) - 0.3


def test_calls_are_checked() -> None:
    game = Gomoku(3, 3)
    for wrong, text in (
        ({"seed": -1}, "seed: got -1"), ({"device": "nope"}, "device: got 'nope', want cpu or a"),
        ({"device": "meta"}, "device: got 'meta'"), ({"network": 3}, "network: got 3"),
        ({"game": 3}, "game: got 3, want a Gomoku"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=text):
            AlphaZero(**{"game": game, **wrong})  # type: ignore[arg-type]
    with AlphaZero(game, scheme="local", batch=1, workers=1, playouts=4) as agent:
        calls: list[tuple[Any, str]] = [
            (lambda: agent.train(), "train: got neither games nor minutes"),
            (lambda: agent.train(games=0), "games: got 0"),
            (lambda: agent.train(minutes=float("nan")), "minutes: got nan"),
            (lambda: agent.train(minutes=-1), "minutes: got -1"),
            (lambda: agent.train(1, callback=3), "callback: got 3"),  # type: ignore[arg-type]
            (lambda: agent.evaluate(0), "games: got 0"),
            (lambda: agent.search((), 0), "playouts: got 0"),
            (lambda: agent.act([1 << 20]), "moves: got 1048576"),
            (lambda: agent.act(["x"]), "moves: got"),  # type: ignore[list-item]
            (lambda: uct(game, -4), "playouts: got -4"),
            (lambda: match(uct(game), uct(game), game, 0, np.random.default_rng(1)), "games: got"),
        ]
        for call, text in calls:
            with pytest.raises(ConfigError, match=text):
                call()


def test_a_player_follows_after_an_illegal_move() -> None:
    """A refused move leaves the tree where the player knows it to be."""
    with SearchPlayer(TreeSettings(3, 3), Table(), 8) as player:
        with pytest.raises(ConfigError, match="move 4 is not legal"):
            player.choose(Gomoku(3, 3), [4, 4])
        player.choose(Gomoku(3, 3), [])
        assert player.found.visits[4] > 0 or player.found.priors[4] > 0
        assert player.found.visits.sum() == 8 and (player.found.priors > 0).all()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["play", "gomoku", "--win", "0"], "win: got 0, want 3..6"),
        (["play", "gomoku", "--playouts", "0"], "playouts: got 0"),
        (["play", "gomoku", "--svg", "/nowhere/x.svg"], "--svg: got /nowhere/x.svg"),
        (["train", "gomoku", "--win", "0"], "win: got 0"),
        (["train", "gomoku", "--minutes", "nan"], "minutes: got nan"),
        (["train", "gomoku", "--games", "0"], "games: got 0"),
        (["train", "gomoku", "--seed", "-1", "--games", "1"], "seed: got -1"),
    ],
)
def test_wrong_words_of_the_commands(
    words: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2 and text in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_closed_input_leaves_the_game(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main(["play", "gomoku", "--against", "random"]) == 0
    assert "The game is left." in capsys.readouterr().out


def test_no_move_is_drawn_after_the_sampled_ones() -> None:
    with agent(sampled_moves=0) as one:
        for _ in range(6):
            planes, shares, _ = one.self_play()
            move = int(planes[1][2].argmax())
            assert shares[0][move] == shares[0].max()


def test_decay_is_of_the_sum_of_squared_weights() -> None:
    """Its gradient is twice the weight."""
    with agent(decay=0.25) as one:
        assert one._adam.param_groups[0]["weight_decay"] == 0.5


def test_a_checkpoint_with_another_content_is_refused(tmp_path: Path) -> None:
    with agent() as one:
        one.plan  # noqa: B018
        state = one.state()
    for changed, kind in (
        ({"identity": 3}, ConfigError), ({"network": {"x": np.zeros(2)}}, CheckpointError),
        ({"buffer": None}, CheckpointError),
    ):  # fmt: skip
        checkpoint.save(tmp_path / CHECKPOINT, {}, {**state, **changed})
        with pytest.raises(kind, match="got "):
            load(tmp_path)
    checkpoint.save(tmp_path / CHECKPOINT, {}, state)
    load(tmp_path).close()
