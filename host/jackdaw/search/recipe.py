"""Settings of a training on Gomoku, and the strengths that it reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from jackdaw.environments.gomoku import MOST_SIZE, Gomoku
from jackdaw.errors import ConfigError
from jackdaw.ranges import Choice, Range, check, whole
from jackdaw.search.dnn_tree import MOST_PLAYOUTS, MOST_WORKERS, SCHEMES
from jackdaw.search.evaluator import MOST_STREAMS

AUTO = "auto"


@dataclass(frozen=True)
class Recipe:
    """Settings of a training.

    Attributes:
        size, win: of the game.
        width: of the network, see network.Network.
        playouts: of a move.
        scheme: `local`, `shared`, or `auto`: the faster one on this machine, measured at the start.
        workers: N, playouts at the same time.
        batch: B of the local tree; 0: the fastest, measured at the start.
        streams: batches that are evaluated at the same time.
        device: of PyTorch.
        c: weight of exploration.
        noise, noise_weight: Dirichlet parameter and share of the noise at roots of self-play.
        sampled_moves: of a game, drawn in proportion to visits; those after them have the most.
        learning_rate, decay: of Adam, and of the sum of squared weights.
        minibatch: positions of a step.
        buffer: positions that are kept.
        steps: on one minibatch, after every game.
        most_kl: mean divergence from the policy before the steps that ends them.
        evaluate_every: games between evaluations; 0: none.
        evaluation_games: of each match, an even number.
        uct_playouts: random games of the plain search that it is compared with.
    """

    size: Annotated[int, Range(3, 16)] = 15
    win: Annotated[int, Range(3, 16)] = 5
    width: Annotated[int, Range(1, 256)] = 32
    playouts: Annotated[int, Range(1, MOST_PLAYOUTS)] = 400
    scheme: Annotated[str, Choice((AUTO, *SCHEMES))] = AUTO
    workers: Annotated[int, Range(1, MOST_WORKERS)] = 8
    batch: Annotated[int, Range(0, MOST_WORKERS)] = 0
    streams: Annotated[int, Range(1, MOST_STREAMS)] = 1
    device: str = "cpu"
    c: Annotated[float, Range(0, 1000)] = 5.0
    noise: Annotated[float, Range(0, 100, above=True)] = 0.3
    noise_weight: Annotated[float, Range(0, 1)] = 0.25
    sampled_moves: Annotated[int, Range(0, 256)] = 15
    learning_rate: Annotated[float, Range(0, 1, above=True)] = 2e-3
    decay: Annotated[float, Range(0, 1)] = 1e-4
    minibatch: Annotated[int, Range(1, 1 << 16)] = 512
    buffer: Annotated[int, Range(1, 1 << 20)] = 10_000
    steps: Annotated[int, Range(1, 1000)] = 5
    most_kl: Annotated[float, Range(0, 100)] = 0.08
    evaluate_every: Annotated[int, Range(0, 1 << 20)] = 100
    evaluation_games: Annotated[int, Range(2, 10_000)] = 20
    uct_playouts: Annotated[int, Range(1, MOST_PLAYOUTS)] = 1000

    def __post_init__(self) -> None:
        check(self)
        Gomoku(self.size, self.win)
        if self.batch > self.workers:
            raise ConfigError(f"batch: got {self.batch}, want 0..{self.workers}, the workers")
        if self.evaluation_games % 2:
            raise ConfigError(f"evaluation_games: got {self.evaluation_games}, want an even number")


def recipe_for(size: int, win: int, **settings: Any) -> Recipe:
    """Settings for a board; up to 9 x 9 a small network, small minibatches, less exploration."""
    size = whole("size", size, 3, MOST_SIZE)
    small = {"width": 16, "playouts": 100, "minibatch": 128, "c": 1.5, "sampled_moves": 8}
    if size > 9:
        small = {}
    return Recipe(**{"size": size, "win": win, **small, **settings})


@dataclass(frozen=True)
class Strength:
    """Shares of points against opponents, after so many games of training.

    Attributes:
        games: of training.
        against: opponent -> share.
    """

    games: int
    against: dict[str, float]
