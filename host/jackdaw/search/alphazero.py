"""AlphaZero on Gomoku: a network and a tree search that train each other.

    from jackdaw.search.alphazero import AlphaZero

    agent = AlphaZero(Gomoku(6, 4), seed=1)
    agent.train(minutes=10, folder="runs/gomoku")
    move = agent.act([14, 15])          # after these two moves

Source: thesis 5.2; Silver et al., "Mastering the game of Go without human knowledge", 2017.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from tqdm import tqdm

from jackdaw.environments.gomoku import Gomoku
from jackdaw.errors import CheckpointError, ConfigError, NonfiniteError
from jackdaw.ranges import Range, real, refused, whole
from jackdaw.ranges import seed as checked_seed
from jackdaw.runtime import seeds
from jackdaw.runtime.run_folder import CHECKPOINT, RunFolder, kept
from jackdaw.search.calibrate import Plan, Profile, choose
from jackdaw.search.dnn_tree import SCHEMES, Found, TreeSettings
from jackdaw.search.evaluator import Evaluator, Torch
from jackdaw.search.network import Network, loss
from jackdaw.search.players import (
    NetworkPlayer,
    RandomPlayer,
    SearchPlayer,
    match,
    uct_player,
)
from jackdaw.search.positions import Buffer
from jackdaw.search.recipe import AUTO, Recipe, Strength, recipe_for

FORMAT = "gomoku"
CALIBRATION = "calibration.json"
UNTRAINED = "untrained"
GREEDY_TEMPERATURE = 1e-3


class AlphaZero:
    """A network for Gomoku with its search; it trains by playing against itself.

    Attributes:
        recipe: the settings.
        network: in training.
        plan: scheme and batch that searches use; chosen at the first one.
        profile: what the choice rests on, if it was made here.
        games: of training so far.
        curve: a row for each game: games, seconds, moves, steps, loss, its two terms, positions.
        strengths: of the evaluations.
    """

    def __init__(
        self,
        game: Gomoku | None = None,
        network: Network | None = None,
        scheme: str = AUTO,
        *,
        seed: int = 1,
        recipe: Recipe | None = None,
        plan: Plan | None = None,
        evaluator: Evaluator | None = None,
        **settings: Any,
    ) -> None:
        """Make a search for a game.

        Args:
            game: an empty board; default 6 x 6, four in a row.
            network: default a new one.
            scheme: see Recipe.
            seed: all randomness follows from it.
            recipe: all settings; else `settings` change those of `recipe_for`.
            plan: scheme and batch, if they are known already.
            evaluator: of the leaves; default the network.
        Raises: ConfigError.
        """
        game = Gomoku(6, 4) if game is None else game
        for name, given, kind in (("game", game, Gomoku), ("network", network, Network)):
            if not isinstance(given, kind | None):
                raise refused(name, given, f"a {kind.__name__}")
        if network is not None:
            settings["width"] = network.width
        self.recipe = recipe or recipe_for(game.size, game.win, scheme=scheme, **settings)
        self.game = Gomoku(self.recipe.size, self.recipe.win)
        self.seed = checked_seed(seed)
        _check_device(self.recipe.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seeds.derive(seed, "network"))
            self.network = network or Network(self.recipe.size, self.recipe.width)
        if self.network.size != self.recipe.size:
            raise ConfigError(f"network: got one for size {self.network.size}, "
                              f"want {self.recipe.size}")  # fmt: skip
        self.network.to(self.recipe.device)
        self.evaluator: Evaluator = evaluator or Torch(
            self.network, self.recipe.device, self.recipe.streams
        )
        self.profile: Profile | None = None
        self._plan = plan
        self._own_player: SearchPlayer | None = None
        r = self.recipe
        # Adam's decay is of the gradient: twice that of the sum of squares.
        self._adam = torch.optim.Adam(
            self.network.parameters(), r.learning_rate, weight_decay=2 * r.decay
        )
        self._buffer = Buffer(r.buffer, r.size)
        self._rng = seeds.generator(seed, "self-play")
        self._first = {k: v.clone() for k, v in self.network.state_dict().items()}
        self._earlier: dict[int, dict[str, torch.Tensor]] = {}
        self.games, self.seconds = 0, 0.0
        self.search_s = self.learn_s = 0.0
        self.positions = 0
        self.curve: list[tuple[float, ...]] = []
        self.strengths: list[Strength] = []

    @property
    def plan(self) -> Plan:
        """See the class. Raises: EvaluatorError, SearchTimeout while schemes are measured."""
        r = self.recipe
        if self._plan is None and r.scheme == "local" and r.batch:
            self._plan = Plan("local", r.batch)
        if self._plan is None:
            schemes = SCHEMES if r.scheme == AUTO else (r.scheme,)
            settings = TreeSettings(r.size, r.win, workers=r.workers, c=r.c)
            self._plan, self.profile = choose(settings, self.evaluator, schemes, r.batch)
        return self._plan

    @property
    def settings(self) -> TreeSettings:
        """Of the tree."""
        r, plan = self.recipe, self.plan
        return TreeSettings(r.size, r.win, plan.scheme, r.workers, plan.batch, c=r.c)

    @property
    def _player(self) -> SearchPlayer:
        if self._own_player is None:
            self._own_player = SearchPlayer(
                self.settings, self.evaluator, self.recipe.playouts, "trained"
            )
        return self._own_player

    # Playing.

    def search(self, moves: Sequence[int] = (), playouts: int | None = None) -> Found:
        """Search after these moves, without noise. Raises: ConfigError if the game is over."""
        self._player.follow(moves)
        return self._player.tree.search(self.recipe.playouts if playouts is None else playouts)

    def act(self, moves: Sequence[int] = ()) -> int:
        """The move of most visits after these moves."""
        return self.search(moves).move

    def player(self, name: str = "trained") -> SearchPlayer:
        """A player with this network as it is now and a tree of its own."""
        return self._with(self.network.state_dict(), name)

    def _with(self, weights: dict[str, torch.Tensor], name: str) -> SearchPlayer:
        other = Network(self.recipe.size, self.recipe.width).to(self.recipe.device)
        other.load_state_dict(weights)
        evaluator = Torch(other, self.recipe.device, self.recipe.streams)
        return SearchPlayer(self.settings, evaluator, self.recipe.playouts, name)

    def untrained(self) -> SearchPlayer:
        """A player with the network as it was before training."""
        return self._with(self._first, UNTRAINED)

    # Training.

    def self_play(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Play a game against itself, with noise at its roots.

        Returns: planes [k, 4, n, n], shares of visits [k, n * n], outcomes [k] for the player to
            move.
        """
        r, position, moves = self.recipe, self.game, list[int]()
        planes, shares = [], []
        tree = self._player.tree
        self._player.follow(())
        tree.reset()
        while (outcome := position.outcome) is None:
            legal = [m for m in range(r.size**2) if position.legal >> m & 1]
            noise = np.zeros(r.size**2)
            noise[legal] = self._rng.dirichlet([r.noise] * len(legal))
            visits = tree.search(r.playouts, noise, r.noise_weight).visits.astype(float)
            planes.append(position.planes())
            shares.append((visits / visits.sum()).astype(np.float32))
            temperature = 1.0 if len(moves) < r.sampled_moves else GREEDY_TEMPERATURE
            logs = np.where(visits > 0, np.log(np.maximum(visits, 1)) / temperature, -np.inf)
            weights = np.exp(logs - logs.max())
            move = int(self._rng.choice(r.size**2, p=weights / weights.sum()))
            moves.append(move)
            position = position.play(move)
            tree.advance(move)
        tree.reset()
        signs = np.array([1.0 if (len(moves) - i) % 2 else -1.0 for i in range(len(moves))])
        return np.stack(planes), np.stack(shares), (signs * outcome).astype(np.float32)

    def learn(self) -> tuple[int, float, float, float]:
        """Take steps on one minibatch. Returns: steps, loss and its terms before the first one.

        Raises: NonfiniteError.
        """
        r = self.recipe
        batch = [t.to(r.device) for t in self._buffer.sample(r.minibatch, self._rng)]
        with torch.no_grad():
            before = self.network(batch[0])[0]
        legal = torch.isfinite(before)
        first, done = (0.0, 0.0, 0.0), 0
        for step in range(r.steps):
            total, squared, crossed = loss(self.network, *batch)
            if step == 0:
                first = (total.item(), squared.item(), crossed.item())
                if not np.isfinite(first[0]):
                    raise NonfiniteError(f"the loss of game {self.games + 1} is {first[0]}")
            self._adam.zero_grad()
            total.backward()  # type: ignore[no-untyped-call]
            self._adam.step()
            done = step + 1
            with torch.no_grad():
                after = self.network(batch[0])[0]
            change = torch.where(legal, before.exp() * (before - after), 0.0)
            if change.sum(1).mean().item() > r.most_kl:
                break
        self.evaluator.load(self.network)
        return done, *first

    def game_and_steps(self) -> None:
        """One game of self-play and the steps after it; adds a row to `curve`."""
        start = time.perf_counter()
        planes, shares, outcomes = self.self_play()
        searched = time.perf_counter()
        self._buffer.add(planes, shares, outcomes)
        steps, *losses = self.learn()
        end = time.perf_counter()
        self.search_s += searched - start
        self.learn_s += end - searched
        self.seconds += end - start
        self.games += 1
        self.positions += len(outcomes)
        self.curve.append((self.games, self.seconds, len(outcomes), steps, *losses))

    def evaluate(self, games: int | None = None) -> Strength:
        """Play matches: against random moves, plain search, and earlier networks.

        Args:
            games: of each match; default the recipe's.
        """
        r, against = self.recipe, dict[str, float]()
        games = r.evaluation_games if games is None else whole("games", games, 1)
        rng = seeds.generator(self.seed, "evaluation", self.games)
        trained = self.player()
        opponents: list[Any] = [
            RandomPlayer(rng), uct_player(self.game, r.uct_playouts, self.seed), self.untrained()
        ]  # fmt: skip
        half = max((g for g in self._earlier if g <= self.games // 2), default=None)
        if half:
            opponents.append(self._with(self._earlier[half], "itself after half the games"))
        try:
            alone = NetworkPlayer(self.evaluator)
            against["random, network alone"] = match(
                alone, opponents[0], self.game, games, rng
            ).rate  # fmt: skip
            for opponent in opponents:
                against[opponent.name] = match(trained, opponent, self.game, games, rng).rate
        finally:
            for player in (trained, *opponents):
                player.close()
        self._earlier[self.games] = {
            k: v.detach().cpu().clone() for k, v in self.network.state_dict().items()
        }
        found = Strength(self.games, against)
        self.strengths.append(found)
        return found

    def train(
        self,
        games: int | None = None,
        minutes: float = float("inf"),
        folder: str | Path | None = None,
        *,
        resume: bool = False,
        overwrite: bool = False,
        callback: Callable[[AlphaZero], object] | None = None,
    ) -> dict[str, Any]:
        """Play against itself and learn.

        Args:
            games: of training in all, those before a checkpoint too; None: no limit.
            minutes: of this call, at most.
            folder: of the run; its files are those of every training (docs/host.md).
            resume: go on from the folder's checkpoint.
            overwrite: replace an earlier run.
            callback: called after each game; False ends the training.
        Returns: the summary.
        Raises: ConfigError, CheckpointError, RunFolderError; EvaluatorError, SearchTimeout.
        """
        if games is None and minutes == float("inf") and callback is None:
            raise ConfigError("train: got neither games nor minutes, want one of them")
        if games is not None:
            games = whole("games", games, 1)
        minutes = real("minutes", minutes, Range(0, above=True, infinite=True))
        if callback is not None and not callable(callback):
            raise refused("callback", callback, "a callable or None")
        if folder is None:
            return self._train(games, minutes, None, callback)
        with RunFolder(
            Path(folder), self.identity, resume=resume, overwrite=overwrite
        ) as run:  # fmt: skip
            if run.start is not None:
                self.restore(run.start)
            run.begin({"recipe": asdict(self.recipe), "seed": self.seed,
                       "scheme": self.plan.scheme, "batch": self.plan.batch})  # fmt: skip
            if self.profile:
                self.profile.save(run.path / CALIBRATION)
            return self._train(games, minutes, run, callback)

    def _train(
        self, games: int | None, minutes: float, run: RunFolder | None,
        callback: Callable[[AlphaZero], object] | None,
    ) -> dict[str, Any]:  # fmt: skip
        r, interrupted = self.recipe, False
        start, saved = time.perf_counter(), time.perf_counter()
        events = run.events() if run else None
        bar = tqdm(
            total=games, initial=self.games, unit="game", dynamic_ncols=True, mininterval=1.0,
            bar_format="{n_fmt}" + ("/{total_fmt} games {bar:10}" if games else " games")
            + " {elapsed} {postfix}",
        )  # fmt: skip
        try:
            while games is None or self.games < games:
                if time.perf_counter() - start > 60 * minutes:
                    break
                self.game_and_steps()
                row = self.curve[-1]
                if events:
                    for name, value in zip(
                        ("moves", "steps", "loss", "loss_value", "loss_policy"), row[2:],
                        strict=True,
                    ):  # fmt: skip
                        events.add_scalar(f"training/{name}", value, self.games)
                text = f"loss {row[4]:.3f} {self.throughput:.1f} positions/s"
                if r.evaluate_every and self.games % r.evaluate_every == 0:
                    strength = self.evaluate()
                    for name, value in strength.against.items():
                        if events:
                            events.add_scalar(f"points/{name}", value, self.games)
                if self.strengths:
                    rates = self.strengths[-1].against.items()
                    text += "".join(f", {name} {100 * rate:.0f} %" for name, rate in rates)
                bar.set_postfix_str(text, refresh=False)
                bar.update(self.games - bar.n)
                if run and time.perf_counter() - saved > 60:
                    run.save(self.state())
                    saved = time.perf_counter()
                if callback and callback(self) is False:
                    break
        except KeyboardInterrupt:
            interrupted = True
        finally:
            bar.close()
            if events:
                events.close()
        summary = self.summary(interrupted)
        if run:
            run.save(self.state())
            run.conclude(summary, self.draw)
        return summary

    @property
    def throughput(self) -> float:
        """Positions of training per second of search and steps."""
        return self.positions / self.seconds if self.seconds else 0.0

    def summary(self, interrupted: bool = False) -> dict[str, Any]:
        """How a training went."""
        last = [row[4:] for row in self.curve[-50:]]
        mean = np.mean(last, axis=0).tolist() if last else [None] * 3
        return {
            "games": self.games, "positions": self.positions, "seconds": round(self.seconds, 1),
            "search_seconds": round(self.search_s, 1), "learn_seconds": round(self.learn_s, 1),
            "positions_per_second": round(self.throughput, 2), "scheme": self.plan.scheme,
            "batch": self.plan.batch, "loss": mean[0], "loss_value": mean[1],
            "loss_policy": mean[2], "interrupted": interrupted,
            "points": self.strengths[-1].against if self.strengths else {},
        }  # fmt: skip

    def draw(self, path: Path) -> None:
        """Plot the loss and the strength over the games."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
        rows = np.array(self.curve).reshape(-1, 7)
        for column, label in ((4, "loss"), (5, "of the value"), (6, "of the policy")):
            left.plot(rows[:, 0], rows[:, column], linewidth=0.8, label=label)
        left.set(xlabel="games of self-play", ylabel="loss")
        names = dict.fromkeys(name for s in self.strengths for name in s.against)
        for name in names:
            points = [(s.games, 100 * s.against[name]) for s in self.strengths if name in s.against]
            right.plot(*zip(*points, strict=True), ".-", label=name)
        right.set(xlabel="games of self-play", ylabel="points against, %", ylim=(-2, 102))
        for axes in (left, right):
            axes.grid(alpha=0.25)
            if axes.get_legend_handles_labels()[0]:
                axes.legend(fontsize=7)
        figure.savefig(path, dpi=110)
        pyplot.close(figure)

    # Checkpoints.

    @property
    def identity(self) -> dict[str, Any]:
        """What a run must have in common with one that it goes on from."""
        return {"kind": FORMAT, "recipe": asdict(self.recipe), "seed": self.seed}

    def state(self) -> dict[str, Any]:
        """All that a training goes on from."""
        adam = self._adam.state_dict()["state"]
        return {
            "network": _arrays(self.network.state_dict()),
            "first": _arrays(self._first),
            "earlier": {str(g): _arrays(weights) for g, weights in self._earlier.items()},
            "adam": {str(i): _arrays(values) for i, values in adam.items()},
            "buffer": self._buffer.state(),
            "rng": self._rng.bit_generator.state,
            "plan": [self.plan.scheme, self.plan.batch],
            "identity": self.identity,
            "games": self.games, "positions": self.positions, "seconds": self.seconds,
            "search_s": self.search_s, "learn_s": self.learn_s,
            "curve": [list(row) for row in self.curve],
            "strengths": [[s.games, s.against] for s in self.strengths],
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.network.load_state_dict(_tensors(state["network"]))
        self._first = _tensors(state["first"])
        self._earlier = {int(g): _tensors(weights) for g, weights in state["earlier"].items()}
        adam = self._adam.state_dict()
        adam["state"] = {int(i): _tensors(values) for i, values in state["adam"].items()}
        self._adam.load_state_dict(adam)
        self._buffer.restore(state["buffer"])
        self._rng.bit_generator.state = state["rng"]
        self.close()
        self._plan = Plan(*state["plan"])
        for name in ("games", "positions", "seconds", "search_s", "learn_s"):
            setattr(self, name, state[name])
        self.curve = [tuple(row) for row in state["curve"]]
        self.strengths = [Strength(games, against) for games, against in state["strengths"]]
        self.evaluator.load(self.network)

    def close(self) -> None:
        """End the search's threads."""
        if self._own_player is not None:
            self._own_player.close()
            self._own_player = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def load(folder: str | Path, **settings: Any) -> AlphaZero:
    """The agent of a run's folder.

    Args:
        folder: of the run.
        settings: of the recipe that are changed, `playouts` for example.
    Raises: CheckpointError; ConfigError if the folder is no run's of this game.
    """
    path = Path(folder)
    try:
        state = kept(path)
    except FileNotFoundError:
        raise ConfigError(f"{path} is no run's folder: it has no {CHECKPOINT}") from None
    identity = state.get("identity")
    if not isinstance(identity, dict) or identity.get("kind") != FORMAT:
        raise ConfigError(f"{path}: got the run of another agent, want one of Gomoku")
    agent = AlphaZero(seed=identity["seed"], recipe=Recipe(**{**identity["recipe"], **settings}))
    try:
        agent.restore(state)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        raise CheckpointError(f"{path}: got no state of this agent: {reason}") from error
    return agent


def _check_device(name: str) -> None:
    """Raises: ConfigError for a device that PyTorch cannot use here."""
    try:
        torch.zeros(1, device=name).item()
    except (AssertionError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"device: got {name!r}, want cpu or a GPU that PyTorch can use here: {reason}"
        ) from error


def _arrays(tensors: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.array(value.detach().cpu().numpy()) for name, value in tensors.items()}


def _tensors(arrays: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(np.array(value)) for name, value in arrays.items()}
