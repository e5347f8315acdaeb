"""N-step transitions: rows wait until the rewards of the next N - 1 steps are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jackdaw.errors import BufferFieldError
from jackdaw.replay_buffer.fields import Columns, kept, names_of


class NStep:
    """Holds up to N - 1 rows, and turns each into one of N steps when they are there.

    Of a row at t: a reward is the sum of gamma**k * rew[t + k] for k below N, without those after a
    step that is done; `done` is 1 less the product of 1 - done[t + k]; a next value is that of
    t + N - 1. At the end of an episode the steps that are there count.

    Args:
        settings: "size": N, 1 or more; "gamma": 0..1, default 0.99; "rew": fields to sum; "next":
            fields to take from the last step.
        types: of the fields; `done` must be one of them, one number a row.
    Raises: BufferFieldError.
    """

    def __init__(self, settings: Mapping[str, Any], types: Mapping[str, np.dtype]) -> None:
        unknown = set(settings) - {"size", "gamma", "rew", "next"}
        size, gamma = settings.get("size", 0), settings.get("gamma", 0.99)
        if unknown or not isinstance(size, (int, np.integer)) or size < 1:
            raise BufferFieldError(
                f"Nstep: got {dict(settings)}, want size of 1 or more, and gamma, rew, next"
            )
        if not 0 <= gamma <= 1:
            raise BufferFieldError(f"Nstep gamma: got {gamma}, want 0..1")
        if "done" not in types or types["done"].shape != (1,):
            raise BufferFieldError("Nstep: got no field 'done' of one number, want one")
        self.size, self.gamma, self.types = int(size), float(gamma), types
        self.rewards = names_of(settings.get("rew"), types, "Nstep rew")
        self.following = names_of(settings.get("next"), types, "Nstep next")
        for name in self.rewards:
            if types[name].base.kind not in "fc":
                raise BufferFieldError(f"Nstep rew: {name!r} is {types[name].base}, want float")
        self.held: Columns = {}

    def add(self, rows: Columns) -> Columns | None:
        """Take rows; returns those that are complete, or None where no row is."""
        held = (
            {n: np.concatenate([self.held[n], v]) for n, v in rows.items()} if self.held else rows
        )
        count = max(len(held["done"]) - self.size + 1, 0)
        self.held = {name: values[count:] for name, values in held.items()}
        return self._complete(held, count) if count else None

    def end(self) -> Columns | None:
        """The rows that wait, with the steps that are there; an episode ends."""
        held, self.held = self.held, {}
        count = len(held["done"]) if held else 0
        return self._complete(held, count) if count else None

    def _complete(self, held: Columns, count: int) -> Columns:
        length = len(held["done"])
        alive = np.ones(count)
        sums = {n: np.zeros(held[n][:count].shape, np.result_type(held[n], "f8"))
                for n in self.rewards}  # fmt: skip
        for k in range(self.size):
            at = np.minimum(np.arange(count) + k, length - 1)
            alive = np.where(np.arange(count) + k < length, alive, 0.0)
            factor = self.gamma**k * alive
            for name, total in sums.items():
                total += factor.reshape(-1, *[1] * (total.ndim - 1)) * held[name][at]
            alive = alive * (1.0 - held["done"][at, 0])
        out = {name: values[:count] for name, values in held.items()}
        for name, total in sums.items():
            out[name] = total.astype(held[name].dtype)
        last = np.minimum(np.arange(count) + self.size, length) - 1
        for name in self.following:
            out[name] = held[name][last]
        out["done"] = self._done(held["done"][:, 0], count)
        return out

    def _done(self, done: np.ndarray, count: int) -> np.ndarray:
        """1 less the product of 1 - done over the window, [count, 1]."""
        left = 1.0 - np.concatenate([done, np.zeros(self.size)])
        product = np.prod([left[k : k + count] for k in range(self.size)], axis=0)
        return kept("done", self.types["done"].base, 1.0 - product).reshape(count, 1)
