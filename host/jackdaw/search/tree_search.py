"""Tree search as a library: an environment's maker in, actions out.

    with TreeSearch("CartPole-v1", simulations=256, seed=1) as search:
        action = search.act(env)

The tree lies in compiled arrays of the CPU, on the golden model of the mcts engine, or on its RTL.
With `schedule="fixed"` all three give the same actions, whatever the number of processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np

from jackdaw.device import Config, Device, load_config, open_device
from jackdaw.drivers.mcts import Mcts, MctsSettings
from jackdaw.errors import ConfigError, EnvError, ReplayMismatch
from jackdaw.ranges import ANY, Range, one_of, real, reals, refused, truth, whole
from jackdaw.ranges import seed as checked_seed
from jackdaw.search.environment import adapt, check_clonable, maker
from jackdaw.search.master import BATCH, SCHEDULES, Evaluate, Master, Statistics
from jackdaw.search.picture import draw
from jackdaw.search.pool import Pool, ProcessPool, SerialPool
from jackdaw.search.simulation import Rules, Simulator, StateTable
from jackdaw.search.trees import CpuTree, InTree
from models.mcts.formats import NO_ID, VALUE_FRAC, Geometry
from models.mcts.tables import RULES

CONFIGS = ("mcts_demo", "mcts", "mcts18")  # by size
DEVICES = ("cpu", "model", "sim")
PARALLEL = ("serial", "processes", "ray")
LEVELS = 32  # of a tree that no build bounds
AUTO, WU = "auto", "wu"
AUTO_SIMULATIONS, AUTO_SHARE, AUTO_LEAST, AUTO_MOST = 64, 0.05, 2.0**-10, 1.0
PEAK = 0.5  # value of the largest return, where rewards are not known
UNSEEN = 1e4  # largest reward of a step before any is seen
FEW = 4  # a child with less than this part of the most visits is not chosen by its mean
PRIORS = Range(0, 1.001)  # a softmax rounds
FILE = 1  # version of a recording


@dataclass(frozen=True)
class Result:
    """What a search found.

    Attributes:
        action: index of the chosen action.
        visits: [actions] of the root's children.
        values: [actions] their mean values, scaled; NaN without a visit.
    """

    action: int
    visits: np.ndarray
    values: np.ndarray


def decide(visits: np.ndarray, values: np.ndarray, by_mean: bool) -> int:
    """The action of a search.

    Args:
        visits: [actions].
        values: [actions], sums.
        by_mean: the best mean of the children with at least a quarter of the most visits, else
            the most visits. Ties go to the other, then to the lowest action.
    """
    means = values / np.maximum(visits, 1)
    if by_mean:
        allowed = visits * FEW >= visits.max()
        return min(np.flatnonzero(allowed).tolist(), key=lambda a: (-means[a], -visits[a], a))
    return min(range(len(visits)), key=lambda a: (-visits[a], -means[a], a))


def _checked(evaluate: Evaluate, actions: int, most: int) -> Evaluate:
    """An evaluator whose answers have the shapes and ranges that are wanted, else ConfigError."""

    def call(states: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        found = evaluate(states)
        if not isinstance(found, tuple) or len(found) != 2:
            raise refused("evaluate", found, "priors or None, and values")
        priors, values = found
        reals("evaluate: values", values, None, (len(states),))
        if priors is not None:
            shape = reals("evaluate: priors", priors, PRIORS, (len(states), None)).shape
            if not actions <= shape[1] <= most:
                raise ConfigError(f"evaluate: got priors of {shape[1]} actions, want {actions}")
            priors = np.asarray(priors, float)
        return priors, np.asarray(values, float)

    return call


class TreeSearch:
    """Searches for actions of a deterministic environment whose state can be copied.

    Attributes:
        env: the search's own environment, adapted.
        geometry: room of the tree.
        settings: of the tree in its last search; None before.
    """

    def __init__(
        self,
        make_env: Any,
        simulations: int = 256,
        workers: int = 8,
        device: str | Device = "cpu",
        parallel: str = "serial",
        *,
        processes: int | None = None,
        config: str | Config | None = None,
        rule: str = "uct",
        c: float = 0.5**0.5,
        virtual_loss: float | str = AUTO,
        fpu: float | None = None,
        horizon: int = 100,
        discount: float = 1.0,
        evaluate: Evaluate | None = None,
        schedule: str = "async",
        nodes: int | None = None,
        levels: int | None = None,
        exact: bool = True,
        value_scale: float | None = None,
        timeout_s: float = 60.0,
        batch: int = BATCH,
        check: bool = True,
        seed: int = 0,
        ray_address: str | None = None,
    ) -> None:
        """Check all arguments, then start the workers and open the device.

        Args:
            make_env: makes environments: a callable without arguments, or a Gymnasium id. See
                `jackdaw.search.environment.adapt` for what it may make.
            simulations: of a decision.
            workers: simulations at a time.
            device: `cpu`, the compiled tree; `model` or `sim`, an mcts engine; or an open device.
            parallel: `serial`, `processes`, or `ray`.
            processes: how many; default the processors, at most `workers`.
            config: build of the engine; default the smallest of mcts_demo, mcts, mcts18 that is
                large enough. The tree on the CPU has the same bounds.
            rule: uct; alphazero or puct, which need `evaluate`.
            c: weight of exploration.
            virtual_loss: in units of values; `auto`: a twentieth of the standard deviation of an
                episode's first simulations; `wu`: WU-UCT (on the CPU, with exact=False).
            fpu: mean of a child without visits; None: such children go first.
            horizon: steps of a random roll-out.
            discount: of a step.
            evaluate: takes states [n, state_size] uint8; returns priors [n, actions], each 0..1, or
                None, and values [n]. It replaces random roll-outs.
            schedule: `async`, `sync`, or `fixed`, which repeats to the bit.
            nodes: of a tree; default one more than simulations. Fewer: the others are not kept.
            levels: of a tree; default those of the build.
            exact: the CPU computes in the engine's numbers, else in float64.
            value_scale: by which returns become values, best -1..1. Default: 1 / (horizon * the
                largest reward of a step); with two players 1 / that reward. Where that is not
                known, the largest return so far becomes 0.5 at each decision, and one that is 16
                times larger or more becomes almost 8.
            timeout_s: of one simulation.
            batch: workers of a list, at most.
            check: play on from a copied state in a second process before anything else.
            seed: of the simulations.
            ray_address: of a Ray cluster; default one on this machine.
        Raises: ConfigError for an argument, before a process or a device is started;
            EnvNotClonable, StateTableTooLarge; errors of the device; ImportError without Ray.
        """
        self._stack = ExitStack()
        self._closed = False
        simulations = whole("simulations", simulations, 1, 1 << 20)
        workers = whole("workers", workers, 1, 4096)
        self._parallel = one_of("parallel", parallel, PARALLEL)
        one_of("rule", rule, RULES)
        one_of("schedule", schedule, SCHEDULES)
        horizon = whole("horizon", horizon, 0, 1 << 20)
        discount = real("discount", discount, Range(0, 1, above=True))
        batch = whole("batch", batch, 1, 4096)
        timeout_s = real("timeout_s", timeout_s, Range(0, 1e9, above=True))
        exact, check = truth("exact", exact), truth("check", check)
        self._seed = checked_seed(seed)
        if not isinstance(device, Device):
            one_of("device", device, DEVICES)
        if processes is not None:
            processes = whole("processes", processes, 1, 1024)
        if nodes is not None:
            nodes = whole("nodes", nodes, 2, NO_ID)
        if evaluate is not None and not callable(evaluate):
            raise refused("evaluate", evaluate, "a callable or None")
        if rule != "uct" and evaluate is None:
            raise ConfigError(f"rule: got {rule} without evaluate, want uct, or evaluate=")
        self._wu = isinstance(virtual_loss, str) and virtual_loss == WU
        if self._wu and (exact or device != "cpu"):
            raise ConfigError("virtual_loss: got wu, want device='cpu' with exact=False for it")
        self._fpu = None if fpu is None else real("fpu", fpu, Range(-8, 8, below=True))
        if not isinstance(virtual_loss, str):
            virtual_loss = real("virtual_loss", virtual_loss, Range(0, 16 - 2.0**-VALUE_FRAC))
        elif virtual_loss not in (AUTO, WU):
            raise refused("virtual_loss", virtual_loss, "a number, auto or wu")
        self._loss = 0.0 if self._wu else virtual_loss
        self._make = maker(make_env)
        self._simulations, self._workers, self._device = simulations, workers, device
        self._rule, self._c, self._exact = rule, real("c", c, Range(0, 20)), exact
        self._by_mean = rule == "uct" and workers > 1
        if self._parallel == "ray":
            import ray  # noqa: F401

        env = adapt(self._make())
        self._stack.callback(env.close)
        try:
            self.env = env
            steps = 1 if env.players == 2 else max(horizon, 1)
            scale = 1 / (UNSEEN if env.reward is None else env.reward) / steps
            if value_scale is not None:
                scale = real("value_scale", value_scale, ANY)
            self._adapts = value_scale is None and env.reward is None
            self.geometry = self._room(config, device, nodes)
            g = self.geometry
            self._ids = min(g.x, simulations + 1) if nodes is None else whole(
                "nodes", nodes, 2, g.x
            )  # fmt: skip
            self._levels = whole("levels", levels, 2, g.d) if levels is not None else g.d
            if check:
                check_clonable(self._make, self._seed & 0xFFFF)
            self._table = StateTable(self._ids + workers, env.state_size)
            rules = Rules(self._seed, horizon, discount, evaluate is None)
            self._local = Simulator(env, self._table, rules)
            pool = self._pool(rules, processes, timeout_s, ray_address)
            self._stack.callback(pool.close)
            self._tree, self._clocks = self._open(device, config)
            self._master = Master(
                self._tree, pool, self._table, workers=workers, ids=self._ids, schedule=schedule,
                batch=batch, players=env.players, scale=scale, clip=self._adapts, discount=discount,
                evaluate=evaluate and _checked(evaluate, env.actions, g.f), priors=rule != "uct",
            )  # fmt: skip
        except BaseException:
            self.close()
            raise
        self.settings: MctsSettings | None = None
        self._spread: float | None = None  # of an episode's first returns
        self._recording: list[dict[str, np.ndarray]] | None = None
        self._path: Path | None = None

    # ---- Parts
    def _room(self, config: str | Config | None, device: Any, nodes: int | None) -> Geometry:
        """Bounds of the tree. Raises: ConfigError."""
        ids = min(self._simulations + 1, NO_ID) if nodes is None else nodes
        names: list[Any] = list(CONFIGS) if config is None else [config]
        if isinstance(device, Device):
            names = []
            with Mcts(device) as driver:
                found = [driver.geometry]
        else:
            found = [Geometry(**load_config(n).instance("mcts").fields) for n in names]
        for g in found:
            if g.f >= self.env.actions and g.x >= ids and g.w_max >= self._workers:
                return g
        if config is None and device == "cpu":
            return Geometry(
                d=LEVELS, f=max(self.env.actions, 2), x=max(ids, 2), w_max=self._workers
            )
        g = found[-1]
        for name, got, most in (
            ("actions of the environment", self.env.actions, g.f),
            ("workers", self._workers, g.w_max),
            ("simulations", self._simulations, g.x - 1) if nodes is None else ("nodes", nodes, g.x),
        ):  # fmt: skip
            if got > most:
                more = ", or nodes= with them" if name == "simulations" else ""
                raise ConfigError(f"{name}: got {got}, want at most {most} of this build{more}")
        raise AssertionError

    def _pool(
        self, rules: Rules, processes: int | None, timeout_s: float, address: str | None
    ) -> Pool:
        count = min(processes or os.cpu_count() or 1, self._workers)
        make, table = self._make, self._table
        if self._parallel == "processes":
            return ProcessPool(lambda: Simulator(adapt(make()), table, rules), count, timeout_s)
        if self._parallel == "ray":
            from jackdaw.search.ray_pool import RayPool

            return RayPool(make, table, rules, count, timeout_s, address)
        return SerialPool(self._local)

    def _open(
        self, device: Any, config: str | Config | None
    ) -> tuple[InTree, Callable[[], int] | None]:
        """The tree, and what tells its device's clocks."""
        g = self.geometry
        if device == "cpu":
            tree = CpuTree(max(self._ids, 2), g.f, g.d, self._workers)
            self._stack.callback(tree.close)
            return tree, None
        if isinstance(device, str):
            chosen = config or next(
                n for n in CONFIGS if Geometry(**load_config(n).instance("mcts").fields) == g
            )
            device = self._stack.enter_context(open_device(device, chosen))
        driver = self._stack.enter_context(Mcts(device))
        return driver, device.cycles

    # ---- Searching
    def search(self, env: Any) -> Result:
        """Search from an environment's state.

        Args:
            env: one like those of `make_env`, or an adapted one; it is read, not stepped.
        Raises: ConfigError if its episode has ended, or for what `evaluate` returns; EnvError,
            WorkerDied, WorkerTimeout, ValueRange; errors of the device. The next search can begin
            after any of them.
        """
        if self._closed:
            raise ConfigError("search: got a closed one, want one that is open")
        try:
            self.env.take(env)
        except (AttributeError, TypeError, ValueError) as error:
            raise ConfigError(
                f"environment: got {type(env).__name__}, want one like those of make_env ({error})"
            ) from error
        if self.env.over:
            raise ConfigError("environment: got one whose episode has ended, want reset()")
        legal = self._local.legal()
        if not legal:
            raise EnvError("legal(): got 0 before the episode's end, want a legal action")
        self._local.root()
        if self._adapts:
            self._measure()
            if self._master.peak:
                self._master.scale = PEAK / self._master.peak
        settings = MctsSettings(
            self._rule, self._c, self._virtual_loss(), self._fpu, self.env.actions, self._levels
        )
        if settings != self.settings:
            if isinstance(self._tree, CpuTree):
                self._tree.configure(settings, exact=self._exact, wu=self._wu)
            else:
                assert isinstance(self._tree, Mcts)
                self._tree.configure(settings)
            self.settings = settings
        statistics, clocks = self._master.statistics, self._clocks
        statistics.virtual_loss = settings.vl
        begin = clocks() if clocks else 0
        kept = None if self._recording is None else self._begin_record(legal)
        found = self._master.run(legal, self._simulations)
        if kept is not None and self._master.root is not None:
            kept["root"] = self._master.root
        statistics.clocks += clocks() - begin if clocks else 0
        count = self.env.actions
        visits, values = found.visits[:count], found.values[:count]
        means = np.where(visits > 0, values / np.maximum(visits, 1), np.nan)
        return Result(decide(visits, values, self._by_mean), visits, means)

    def act(self, env: Any) -> Any:
        """The action to take in an environment's state, as its `step` takes it.

        Raises: as `search`.
        """
        return self.env.action(self.search(env).action)

    def _virtual_loss(self) -> float:
        """That of the episode. `auto` measures it once."""
        if not isinstance(self._loss, str):
            return self._loss
        self._measure()
        assert self._spread is not None
        share = AUTO_SHARE * self._spread * self._master.scale
        return float(np.clip(share, AUTO_LEAST, AUTO_MOST))

    def _measure(self) -> None:
        """Simulate without a tree, once an episode."""
        if self._spread is None:
            self._spread = float(self._master.values(AUTO_SIMULATIONS).std())

    def new_episode(self) -> None:
        """Measure the spread of returns anew at the next search."""
        self._spread = None

    def play(
        self,
        episodes: int = 1,
        seed: int = 0,
        progress: Callable[[int, int, float], object] | None = None,
        steps: int | None = None,
    ) -> list[float]:
        """Play episodes with the search's actions.

        Args:
            episodes: how many.
            seed: of the first one's reset; the others follow.
            progress: told episode, steps and return so far after each step.
            steps: of an episode, at most.
        Returns: the episodes' returns; with two players the first one's, who plays both.
        Raises: as `search`.
        """
        whole("episodes", episodes, 1)
        whole("seed", seed, 0)
        if steps is not None:
            whole("steps", steps, 1)
        env = adapt(self._make())
        returns = []
        try:
            for episode in range(episodes):
                env.reset(seed + episode)
                self.new_episode()
                total, sign, taken = 0.0, 1, 0
                while not env.over and taken != steps:
                    reward, _ = env.step(self.search(env).action)
                    total += sign * reward
                    sign = -sign if env.players == 2 else sign
                    taken += 1
                    if progress is not None:
                        progress(episode, taken, total)
                returns.append(total)
        finally:
            env.close()
        return returns

    @property
    def statistics(self) -> Statistics:
        """Of all searches so far."""
        return self._master.statistics

    # ---- Recording
    def record(self, path: str | Path) -> None:
        """Keep all lists from now on; `close` writes them, and `replay` runs them again.

        Args:
            path: of an npz file.
        Raises: ConfigError if no file can be there.
        """
        path = Path(path)
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise ConfigError(f"record: got {path}, want a file in a folder that is there")
        self._path, self._recording = path, []
        self._master.recorder = self._keep

    def _begin_record(self, legal: int) -> dict[str, np.ndarray]:
        assert self._recording is not None and self.settings is not None
        s = self.settings
        fpu = np.nan if s.fpu is None else s.fpu
        numbers = np.array([RULES.index(s.rule), s.c, s.vl, fpu, s.f_act, s.d_act, legal], float)
        self._recording.append({"settings": numbers})
        return self._recording[-1]

    def _keep(self, requests: np.ndarray, priors: np.ndarray | None, responses: np.ndarray) -> None:
        assert self._recording is not None
        kept = {"requests": requests, "responses": responses}
        self._recording.append(kept if priors is None else {**kept, "priors": priors})

    def _write(self) -> None:
        if self._recording is None or self._path is None:
            return
        arrays = {"version": np.array(FILE)}
        for number, one in enumerate(self._recording):
            arrays |= {f"{number}.{name}": array for name, array in one.items()}
        with self._path.open("wb") as file:  # NumPy would change the name
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        self._recording = None

    def picture(self, path: str | Path) -> int:
        """Draw the tree of the last search, as a file that matplotlib knows by its ending.

        Returns: nodes that are shown.
        Raises: ConfigError without a search on the CPU's tree, or if no such file can be there.
        """
        path = Path(path)
        if not isinstance(self._tree, CpuTree) or self.settings is None or self._closed:
            raise ConfigError(f"picture: got device {self._device}, want a search on the cpu")
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise ConfigError(f"picture: got {path}, want a file in a folder that is there")
        try:
            return draw(self._tree, path, f"{len(self._tree)} nodes")
        except ValueError as error:
            raise ConfigError(f"picture: got {path}: {error}") from error

    # ---- End
    def close(self) -> None:
        """End the workers, give the device back, and write what was recorded."""
        if self._closed:
            return
        self._closed = True
        try:
            if getattr(self, "_recording", None) is not None:
                self._write()
        finally:
            self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def replay(path: str | Path, tree: InTree) -> int:
    """Give a tree the lists of a recorded search.

    Args:
        path: what `TreeSearch.record` wrote.
        tree: an mcts engine's driver, or a compiled tree, large enough.
    Returns: responses that were equal.
    Raises: ReplayMismatch for the first list that is answered otherwise; ConfigError for a file
        that is no recording, or one of another version.
    """
    equal = 0
    for number, one in enumerate(recorded(path)):
        if "settings" in one:
            rule, c, vl, fpu, f_act, d_act, legal = one["settings"].tolist()
            settings = MctsSettings(
                RULES[int(rule)], c, vl, None if np.isnan(fpu) else fpu, int(f_act), int(d_act)
            )
            tree.configure(settings)  # type: ignore[attr-defined]
            tree.reset()
            tree.root(int(legal), one.get("root"))
            continue
        tree.submit(one["requests"], one.get("priors"))
        want, got = one["responses"], np.zeros(0, one["responses"].dtype)
        while len(got) < len(want):
            tree.wait(len(want) - len(got))
            got = np.concatenate([got, tree.poll()])
        names = [name for name in want.dtype.names or () if name != "stamp"]
        order = [np.argsort(each["worker"], kind="stable") for each in (got, want)]
        if len(want) and got[order[0]][names].tolist() != want[order[1]][names].tolist():
            raise ReplayMismatch(f"{path}: the responses to list {number} differ")
        equal += len(want)
    return equal


def recorded(path: str | Path) -> Iterator[dict[str, np.ndarray]]:
    try:
        with np.load(path) as file:
            found = dict(file)
    except (OSError, TypeError, ValueError, EOFError, BadZipFile) as error:
        raise ConfigError(f"{path}: got no recording: {error}") from error
    if "version" not in found or found["version"].tolist() != FILE:
        raise ConfigError(f"{path}: got no recording of version {FILE}")
    for number in count():
        start = f"{number}."
        one = {n.removeprefix(start): found[n] for n in found if n.startswith(start)}
        if not one:
            return
        if not ("settings" in one or {"requests", "responses"} <= set(one)):
            raise ConfigError(f"{path}: list {number}: got {', '.join(one)}, want its requests")
        yield one
