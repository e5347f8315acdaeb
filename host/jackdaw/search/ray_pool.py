"""Workers on a Ray cluster, where one machine ends. A task carries its state there and back.

The master, the tree and the state table stay here. Ray is optional.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import ray

from jackdaw.errors import EnvError, WorkerDied, WorkerTimeout
from jackdaw.search.environment import MakeEnv, adapt
from jackdaw.search.pool import ATTEMPTS
from jackdaw.search.simulation import NOWHERE, RESULT, Rules, Simulator, StateTable

Parts = tuple[np.ndarray, np.ndarray, np.ndarray]  # tasks, heads and states of their sources


class _Actor:
    """Executes tasks elsewhere, on a table of two rows: from, and to."""

    def __init__(self, make: MakeEnv, rules: Rules) -> None:
        env = adapt(make())
        self._table = StateTable(2, env.state_size)
        self._simulator = Simulator(env, self._table, rules)

    def run(self, parts: Parts) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
        """Execute tasks; results, heads and states after each, and the text of an exception."""
        tasks, heads, states = parts
        table, tasks = self._table, tasks.copy()
        results, ends, after = np.zeros(len(tasks), RESULT), heads.copy(), states.copy()
        tasks["source"], tasks["store"] = 0, np.where(tasks["store"] == NOWHERE, NOWHERE, 1)
        for index in range(len(tasks)):
            table.head[0], table.states[0] = heads[index], states[index]
            text = self._simulator.attempt(tasks[index], results[index])
            if text:
                return results[:index], ends, after, f"{tasks[index]['worker']} {text}"
            ends[index], after[index] = table.head[1], table.states[1]
        return results, ends, after, ""


class RayPool:
    """Actors of Ray, each with an environment; see `jackdaw.search.pool.Pool`."""

    def __init__(
        self,
        make: MakeEnv,
        table: StateTable,
        rules: Rules,
        actors: int,
        timeout_s: float,
        address: str | None = None,
    ) -> None:
        """Join a cluster, or begin one on this machine, and start the actors.

        Args:
            make: makes environments; it is pickled.
            table: states of nodes.
            rules: of simulations.
            actors: how many.
            timeout_s: of one simulation.
            address: of the cluster; None: one on this machine.
        """
        self._table, self._timeout = table, timeout_s
        self._mine = not ray.is_initialized()
        if self._mine:
            ray.init(address, num_cpus=None if address else actors, include_dashboard=False,
                     log_to_driver=False, logging_level="error")  # fmt: skip
        self._make_actor = lambda: ray.remote(_Actor).options(num_cpus=1).remote(make, rules)
        self._actors: list[Any] = [self._make_actor() for _ in range(actors)]
        self._open: dict[Any, tuple[int, np.ndarray, int, float]] = {}

    def submit(self, tasks: np.ndarray) -> None:
        """See Pool; tasks are divided evenly among the actors with the fewest."""
        loads = [0] * len(self._actors)
        for actor, given, _, _ in self._open.values():
            loads[actor] += len(given)
        order = np.argsort(loads, kind="stable")
        for actor, part in zip(
            order.tolist(), np.array_split(tasks.copy(), len(order)), strict=True
        ):
            if len(part):
                self._give(actor, part, 1)

    def _give(self, actor: int, tasks: np.ndarray, attempt: int) -> None:
        source = tasks["source"]
        parts = (tasks, self._table.head[source], self._table.states[source])
        handle = self._actors[actor].run.remote(parts)
        self._open[handle] = (actor, tasks, attempt, time.monotonic())

    def collect(self, least: int) -> np.ndarray:
        """See Pool."""
        found, count = [np.zeros(0, RESULT)], 0
        while True:
            wait = 0.1 if count < least else 0
            waiting = list(self._open)
            ready = ray.wait(waiting, num_returns=1, timeout=wait)[0] if waiting else []
            for handle in ready:
                results = self._result(handle)
                found.append(results)
                count += len(results)
            if not ready and count >= least:
                return np.concatenate(found)
            for handle, (_, tasks, _, since) in list(self._open.items()):
                if time.monotonic() - since > self._timeout * len(tasks):
                    self._again(handle, WorkerTimeout, f"more than {self._timeout:g} s")

    def _result(self, handle: Any) -> np.ndarray:
        try:
            results, ends, after, text = ray.get(handle)
        except ray.exceptions.RayError as error:
            self._again(handle, WorkerDied, str(error).strip().splitlines()[0])
            return np.zeros(0, RESULT)
        _, tasks, _, _ = self._open.pop(handle)
        if text:
            worker, _, text = text.partition(" ")
            raise EnvError(text, int(worker))
        kept = tasks["store"] != NOWHERE
        rows = tasks["store"][kept]
        self._table.head[rows], self._table.states[rows] = ends[kept], after[kept]
        return np.array(results)

    def _again(self, handle: Any, kind: type[WorkerDied], text: str) -> None:
        """Give tasks to a new actor, once. Raises: WorkerDied, WorkerTimeout."""
        actor, tasks, attempt, _ = self._open.pop(handle)
        ray.kill(self._actors[actor])
        self._actors[actor] = self._make_actor()
        if attempt == ATTEMPTS:
            numbers = f"{int(tasks['number'][0])}..{int(tasks['number'][-1])}"
            raise kind(f"tasks {numbers} on Ray: {text}, in {ATTEMPTS} attempts")
        self._give(actor, tasks, attempt + 1)

    def drop(self) -> None:
        """See Pool."""
        for actor in {given[0] for given in self._open.values()}:
            ray.kill(self._actors[actor])
            self._actors[actor] = self._make_actor()
        self._open.clear()

    def close(self) -> None:
        """See Pool; a cluster that was begun here is ended."""
        for actor in self._actors:
            ray.kill(actor)
        if self._mine:
            ray.shutdown()
