"""What searches with workers find: returns on device and CPU, by levels and loss, and matches.

Rows of `scripts/bench.py mcts-system`. Atari's roll-outs are short (`HORIZON`), as the emulator is
slow; its returns are rewards of the first `ATARI_STEPS` actions of a game.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.base import Row, row
from benchmarks.peers import machine
from jackdaw.environments.connect4 import COLUMNS, Connect4
from jackdaw.search import Connect4Env, TreeSearch

C, LOSS = 0.7, 0.05
SEEDS, DEVICE_SEEDS = 40, 10
LIMIT = 500  # steps of an episode of CartPole
LOSSES: tuple[float | str, ...] = ("auto", 0.0, 0.001, 0.005, 0.02, 0.05, 0.2, 0.7, "wu")
GAMES = ("Carnival", "Pong", "Alien")
HORIZON, ATARI_STEPS, ATARI_SIMULATIONS, ATARI_SEEDS = 10, 25, 64, 3
SEARCHES: dict[str, dict[str, Any]] = {
    "device, fixed": {"device": "model", "schedule": "fixed"},
    "CPU, fixed": {"schedule": "fixed"},
    "CPU, sync": {"schedule": "sync"},
    "CPU, async": {"schedule": "async"},
    "CPU, one worker": {"workers": 1},
    "CPU, float64": {"exact": False, "schedule": "fixed"},
}


def cartpole(episodes: int, first: int, steps: int | None, **arguments: Any) -> Any:
    """Episodes of CartPole: their returns, and the search's statistics."""
    settings = {"simulations": 64, "workers": 8, "seed": first, **arguments}
    with TreeSearch("CartPole-v1", check=False, **settings) as search:
        return search.play(episodes, first, steps=steps), search.statistics


def reward_rows(
    seeds: int = SEEDS, steps: int | None = None, device_seeds: int = DEVICE_SEEDS
) -> Iterator[Row]:
    """Returns on the device and on the CPU for the same seeds; and of each schedule."""
    found: dict[str, list[float]] = {}
    for name, more in SEARCHES.items():
        count = min(seeds, device_seeds) if "device" in more else seeds
        found[name] = [cartpole(1, seed, steps, **more)[0][0] for seed in range(count)]
        spread = 1.96 * np.std(found[name], ddof=1) / np.sqrt(count)
        where = f"CartPole, 64 simulations, {count} seeds: {name}; 95 % interval {spread:.1f}"
        yield row("mcts", "system_returns", where, round(float(np.mean(found[name])), 2), "steps",
                  steps or LIMIT)  # fmt: skip
    both = list(zip(found["device, fixed"], found["CPU, fixed"], strict=False))  # the first seeds
    yield row("mcts", "system_equal", "CartPole, 64 simulations: seeds with equal returns on "
              f"device and CPU, of {len(both)}", sum(a == b for a, b in both), "seeds",
              len(both))  # fmt: skip


def atari_rows(
    seeds: int = ATARI_SEEDS, steps: int = ATARI_STEPS, simulations: int = ATARI_SIMULATIONS
) -> Iterator[Row]:
    """Rewards of Atari's games for the same seeds on device and CPU; and depths with few levels."""
    for game in GAMES:

        def play(seed: int, game: str = game, **more: Any) -> tuple[float, TreeSearch]:
            settings = {"workers": 8, "horizon": HORIZON, "seed": seed, "check": False, **more}
            with TreeSearch(f"ALE/{game}-v5", simulations, **settings) as search:
                return search.play(1, seed, steps=steps)[0], search

        where = f"{game}, {simulations} simulations, {steps} actions, {seeds} seeds"
        found: dict[str, list[float]] = {}
        for name in ("device, fixed", "CPU, fixed", "CPU, async", "CPU, one worker"):
            found[name] = [play(seed, **SEARCHES[name])[0] for seed in range(seeds)]
            spread = 1.96 * np.std(found[name], ddof=1) / np.sqrt(seeds)
            yield row("mcts", "system_returns", f"{where}: {name}; 95 % interval {spread:.1f}",
                      round(float(np.mean(found[name])), 2), "reward")  # fmt: skip
        equal = sum(
            a == b for a, b in zip(found["device, fixed"], found["CPU, fixed"], strict=True)
        )
        yield row("mcts", "system_equal", f"{where}: seeds with equal rewards on device and CPU",
                  equal, "seeds", seeds)  # fmt: skip
        for levels in (2, 4, 8):
            reward, search = play(0, levels=levels, fpu=0.5)
            config = f"{game}, {levels} levels, {simulations} simulations, FPU 0.5, {steps} actions"
            yield row("mcts", "system_levels", f"{config}: reward", reward, "reward")
            yield row("mcts", "system_levels", f"{config}: depth",
                      round(search.statistics.mean_depth, 2), "edges")  # fmt: skip


def depth_rows(episodes: int = 10, steps: int | None = None) -> Iterator[Row]:
    """Returns and depths with fewer levels."""
    for levels in (2, 4, 8, 16, 32):
        returns, s = cartpole(episodes, 1, steps, levels=levels, config="mcts", fpu=0.5,
                              simulations=256)  # fmt: skip
        where = f"CartPole, {levels} levels, 256 simulations, FPU 0.5, {episodes} episodes"
        yield row("mcts", "system_levels", f"{where}: return", float(np.mean(returns)), "steps",
                  steps or LIMIT)  # fmt: skip
        yield row("mcts", "system_levels", f"{where}: depth", round(s.mean_depth, 2), "edges")


def loss_rows(episodes: int = 10, steps: int | None = None) -> Iterator[Row]:
    """Returns by virtual loss and by how the action is chosen; `auto` beside the best of them."""
    most: dict[str, float] = {}
    for loss in LOSSES:
        for by_mean in (False, True):
            more: dict[str, Any] = {"virtual_loss": loss, "exact": loss != "wu"}
            with TreeSearch("CartPole-v1", 64, 8, seed=1, check=False, **more) as search:
                search._by_mean = by_mean
                returns, s = search.play(episodes, 1, steps=steps), search.statistics
            where = f"CartPole, 64 simulations, 8 workers, {episodes} episodes, virtual loss {loss}"
            how = "by mean" if by_mean else "by visits"
            if by_mean:
                most[str(loss)] = float(np.mean(returns))
            yield row("mcts", "system_loss", f"{where}, {how}: return", float(np.mean(returns)),
                      "steps", steps or LIMIT)  # fmt: skip
        yield row("mcts", "system_loss", f"{where}: selections that revisit",
                  round(100 * s.revisits / s.iterations, 1), "%")  # fmt: skip
    best = max(most, key=lambda name: most[name])
    yield row("mcts", "system_loss", f"CartPole, by mean: auto over the best, {best}",
              round(most["auto"] / most[best], 3), "times", 1)  # fmt: skip


# ---- Packages
class _State:
    """Connect-4 as the package `mcts` wants it."""

    def __init__(self, position: Connect4, player: int = 1) -> None:
        self.position, self.player = position, player

    def getCurrentPlayer(self) -> int:
        return self.player

    def getPossibleActions(self) -> list[int]:
        return [a for a in range(COLUMNS) if self.position.legal >> a & 1]

    def takeAction(self, action: int) -> _State:
        return _State(self.position.play(action), -self.player)

    def isTerminal(self) -> bool:
        return self.position.outcome is not None

    def getReward(self) -> float:
        return -self.player * (self.position.outcome or 0.0)


Player = Callable[[Connect4, list[int]], int]


def package_players(simulations: int) -> dict[str, Player]:
    """Players of the packages that are installed, by name with version."""
    found: dict[str, Player] = {}
    if find_spec("mcts"):
        from mcts import mcts

        bot = mcts(iterationLimit=simulations)
        found[f"mcts {_version('mcts')}"] = lambda position, _: int(bot.search(_State(position)))
    if find_spec("pyspiel"):
        import pyspiel

        game = pyspiel.load_game("connect_four")
        evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
        spiel = pyspiel.MCTSBot(game, evaluator, C, simulations, 1000, False, 1, False)

        def play(_: Connect4, moves: list[int]) -> int:
            state = game.new_initial_state()
            for move in moves:
                state.apply_action(move)
            return int(spiel.step(state))

        found[f"OpenSpiel {_version('open_spiel')} MCTSBot"] = play
    return found


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def package_rows(simulations: int = 1000, games: int = 10) -> Iterator[Row]:
    """Simulations per second in Connect-4, and matches against packages at equal simulations."""
    position, where = Connect4().play(3).play(3), machine()
    peers = package_players(simulations)
    rates = []
    for name, play in peers.items():
        begin = time.process_time()
        for _ in range(3):
            play(position, [3, 3])
        per = 3 * simulations / (time.process_time() - begin)
        rates.append({"name": name, "value": round(per), "unit": "1/s", "config": "Connect-4"})
    for device in ("cpu", "model"):
        count = min(simulations, 500) if device == "model" else simulations  # mcts_demo has 512 ids
        with TreeSearch(
            Connect4Env, count, 8, device, seed=1, check=False, virtual_loss=LOSS
        ) as search:  # fmt: skip
            search.act(position)  # all is compiled after it
            before, begin = search.statistics.iterations, time.process_time()
            for _ in range(3):
                search.act(position)
            per = (search.statistics.iterations - before) / (time.process_time() - begin)
        yield row("mcts", "system_packages", f"TreeSearch on {device}, Connect-4, processor time; "
                  f"{where}", round(per), "1/s", None, None, rates)  # fmt: skip
    for name, play in peers.items():
        score, rng = 0.0, np.random.default_rng(1)
        with TreeSearch(Connect4Env, simulations, 8, seed=1, check=False) as search:
            for game in range(games):
                opening = [int(move) for move in rng.integers(COLUMNS, size=2)]
                score += _match(search, play, opening, first=game % 2 == 0)
        yield row("mcts", "system_matches", f"against {name}, {simulations} simulations each, "
                  f"{games} games of Connect-4", round(100 * score / games, 1),
                  "%", 50)  # fmt: skip


def _match(search: TreeSearch, play: Player, moves: list[int], first: bool) -> float:
    """1 if the search wins, 0.5 for a draw."""
    position = Connect4()
    for move in moves:
        position = position.play(move)
    mine, moves = first, list(moves)
    while position.outcome is None:
        move = int(search.act(position)) if mine else play(position, moves)
        position, mine = position.play(move), not mine
        moves.append(move)
    won = position.outcome * (1 if not mine else -1)
    return won / 2 + 0.5


def reference_rows(games: int = 400, simulations: int = 500) -> Iterator[Row]:
    """Connect-4: workers on the device `model` against one in float64, each first in turn."""
    score, rng = 0.0, np.random.default_rng(1)
    with (
        TreeSearch(Connect4Env, simulations, 8, "model", seed=1, check=False) as search,
        TreeSearch(Connect4Env, simulations, 1, exact=False, seed=2, check=False) as other,
    ):
        for game in range(games):
            opening = [int(move) for move in rng.integers(COLUMNS, size=2)]
            score += _match(
                search, lambda position, _: int(other.act(position)), opening, first=game % 2 == 0
            )
    yield row("mcts", "system_matches", "TreeSearch on model with 8 workers against one worker on "
              f"the CPU in float64, {simulations} simulations each, {games} games of Connect-4",
              round(100 * score / games, 1), "%", 50)  # fmt: skip


# ---- All of it
PARTS: dict[str, tuple[Callable[..., Iterator[Row]], tuple[Any, ...]]] = {
    "returns": (reward_rows, (2, 5)),
    "levels": (depth_rows, (1, 3)),
    "loss": (loss_rows, (1, 3)),
    "packages": (package_rows, (20, 1)),
    "reference": (reference_rows, (2, 20)),
    "atari": (atari_rows, (2, 1, 4)),
}
"""Parts by name, with the arguments that make them short, for a test."""
