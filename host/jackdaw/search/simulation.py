"""Simulations: what a worker does for a selection, and the table of the nodes' states.

A task says from which state to go on, which action to take, and where to keep the state after it.
Its random numbers follow from its number, so a result does not depend on who made it.

Source: thesis 5.1.
"""

from __future__ import annotations

import mmap
import os
import time
import traceback
from dataclasses import dataclass
from typing import Any

import numpy as np

from jackdaw.errors import EnvError, StateTableTooLarge
from jackdaw.search.environment import SearchEnv
from models.replay.rng import splitmix64

NOWHERE = (1 << 32) - 1  # the state is not kept
NO_ACTION = -1

TASK = np.dtype(
    [
        ("worker", np.uint16),
        ("action", np.int16),
        ("source", np.uint32),
        ("store", np.uint32),
        ("number", np.uint64),
    ]
)
"""A task: load row `source`, take `action` unless it is -1, keep the state in row `store`."""

RESULT = np.dtype(
    [
        ("worker", np.uint16),
        ("over", np.uint8),
        ("failed", np.uint8),
        ("legal", np.uint32),
        ("number", np.uint64),
        ("value", np.float64),
        ("seconds", np.float32),
    ]
)
"""A result: the return from the root; whether the episode ended; the mask of legal actions."""

HEAD = np.dtype([("path", np.float64), ("level", np.uint32), ("over", np.uint32)])
"""What is known of a state: return on the way from the root, steps from it, whether it ended."""


class StateTable:
    """States in memory that forked processes share; it has no name, so nothing of it can stay.

    Attributes:
        rows: how many states.
        head: [rows] HEAD.
        states: [rows, state_size] uint8.
    """

    def __init__(self, rows: int, state_size: int) -> None:
        """Allocate the table. Raises: StateTableTooLarge."""
        stride = -(-state_size // 8) * 8
        nbytes = rows * (HEAD.itemsize + stride)
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        try:
            if nbytes > there:
                raise MemoryError
            self._memory = mmap.mmap(-1, nbytes)
        except (OSError, MemoryError, OverflowError, ValueError) as error:
            raise StateTableTooLarge(
                f"{rows} states of {state_size} bytes: got {nbytes:,} bytes, want at most "
                f"{there:,}; fewer nodes, or simulations, make it smaller"
            ) from error
        self.rows = rows
        raw = np.frombuffer(self._memory, np.uint8)
        self.head = raw[: rows * HEAD.itemsize].view(HEAD)
        self.states = raw[rows * HEAD.itemsize :].reshape(rows, stride)[:, :state_size]


@dataclass(frozen=True)
class Rules:
    """How simulations are made.

    Attributes:
        seed: of the run.
        horizon: steps of a roll-out, at most.
        discount: of a step.
        rollouts: play on at random from the state; else its value is the return so far.
    """

    seed: int
    horizon: int
    discount: float
    rollouts: bool = True


class Simulator:
    """An environment that executes tasks."""

    def __init__(self, env: SearchEnv, table: StateTable, rules: Rules) -> None:
        self.env, self._table, self._rules = env, table, rules
        self._seed = splitmix64(rules.seed, 1)[0]
        self._bits = np.random.SFC64(0)
        self._rng = np.random.Generator(self._bits)
        self._state: Any = self._bits.state

    def generator(self, number: int) -> np.random.Generator:
        """The generator of a task; it is the same object each time."""
        words = self._state["state"]["state"]
        words[:3] = splitmix64(self._seed + number, 3)
        words[3] = 1
        self._bits.state = self._state
        return self._rng

    def legal(self) -> int:
        """The environment's mask of legal actions. Raises: EnvError if it is invalid."""
        legal, actions = self.env.legal(), self.env.actions
        if not isinstance(legal, (int, np.integer)) or not 0 <= legal < 1 << actions:
            raise EnvError(f"legal(): got {legal!r}, want a mask of {actions} actions")
        return int(legal)

    def root(self) -> None:
        """Write the environment's state as row 0, the root."""
        self.env.save_into(self._table.states[0])
        self._table.head[0] = (0.0, 0, self.env.over)

    def run(self, task: np.void, result: np.void) -> None:
        """Execute a task. Raises: what the environment raises."""
        begin = time.perf_counter()
        env, table, rules = self.env, self._table, self._rules
        worker, action, source, store, number = task.tolist()
        env.load_from(table.states[source])
        path, level, over = table.head[source].tolist()
        if action >= 0:
            reward, over = env.step(action)
            path = (-path if env.players == 2 else path) + rules.discount**level * reward
            level += 1
        if store != NOWHERE:
            env.save_into(table.states[store])
            table.head[store] = (path, level, over)
        legal = 0
        if not over:
            legal = self.legal()
            over = legal == 0
        total = path
        if rules.rollouts and not over:
            ahead = env.rollout(self.generator(number), rules.horizon, rules.discount)
            total += rules.discount**level * ahead
        seconds = time.perf_counter() - begin
        result["worker"], result["over"], result["failed"] = worker, over, 0
        result["legal"], result["number"] = legal, number
        result["value"], result["seconds"] = total, seconds

    def attempt(self, task: np.void, result: np.void) -> str | None:
        """Execute a task; returns the text of an exception."""
        try:
            self.run(task, result)
        except Exception as error:
            result["worker"], result["number"], result["failed"] = task["worker"], task["number"], 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
        return None
