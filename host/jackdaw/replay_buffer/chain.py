"""Memory compression: rows that follow one another share what is in both of them.

A row is *linked* when the row stored after it goes on where it ends: its next observation is that
row's observation, its stack of frames moves on by one. Then it keeps the first frame of a stack
and no next value, and reads the rest from the rows after it, which are always overwritten later.
The last row of a chain keeps everything, on the host. A row that does not go on ends the chain, so
what comes out is always what went in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jackdaw.errors import BufferFieldError
from jackdaw.replay_buffer.fields import Columns, names_of


class Chain:
    """Links of rows, and the values of rows that have none.

    Args:
        size: of the buffer, rows.
        types: of all fields of a row, with next values.
        stacks: fields whose last dimension is a stack of frames.
        following: field -> its next value's field.
    """

    def __init__(
        self,
        size: int,
        types: Mapping[str, np.dtype],
        stacks: list[str],
        following: Mapping[str, str],
    ) -> None:
        self.size, self.types, self.following = size, types, dict(following)
        self.depth = {name: types[name].shape[-1] for name in stacks}
        dropped = set(self.following.values())
        self.stored = {
            name: np.dtype((t.base, t.shape[:-1])) if name in self.depth else t
            for name, t in types.items()
            if name not in dropped
        }
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.linked = np.zeros(self.size, bool)
        self.ends: dict[int, Columns] = {}  # place -> the row's own values
        self.last: int | None = None  # the newest row

    def append(self, first: int, rows: Columns) -> Columns:
        """Store up to `size` rows from place `first` on. Returns what a row keeps."""
        count = len(next(iter(rows.values())))
        places = (first + np.arange(count)) % self.size
        own = {n: rows[n] for n in [*self.depth, *self.following.values()]}
        goes_on = np.zeros(count, bool)  # row k is followed by row k + 1
        goes_on[:-1] = self._follows({n: v[:-1] for n, v in rows.items()},
                                     {n: v[1:] for n, v in rows.items()})  # fmt: skip
        if self.last is not None:
            before = {n: v[None] for n, v in self.ends[self.last].items()}
            if self._follows(before, {n: v[:1] for n, v in rows.items()})[0]:
                self.linked[self.last] = True
                del self.ends[self.last]
        for place in self.ends.keys() & set(places.tolist()):
            del self.ends[place]
        self.linked[places] = goes_on
        for k in np.flatnonzero(~goes_on):
            self.ends[int(places[k])] = {name: values[k].copy() for name, values in own.items()}
        self.last = int(places[-1])
        return {n: rows[n][..., 0] if n in self.depth else rows[n] for n in self.stored}

    def expand(self, indexes: np.ndarray, read: Callable[[np.ndarray], Columns]) -> Columns:
        """All fields of rows.

        Args:
            indexes: [n] int64.
            read: what some rows keep.
        """
        kept = read(indexes)
        after = np.where(self.linked[indexes], (indexes + 1) % self.size, indexes)
        out = {n: self._stack(n, indexes, kept, read) if n in self.depth else v
               for n, v in kept.items()}  # fmt: skip
        next_kept = read(after) if self.following else {}
        for name, target in self.following.items():
            values = next_kept[name]
            if name in self.depth:
                values = self._stack(name, after, next_kept, read)
            for k in np.flatnonzero(~self.linked[indexes]):
                values[k] = self.ends[int(indexes[k])][target]
            out[target] = values
        return {name: out[name] for name in self.types}

    def state(self) -> dict[str, Any]:
        """All that later calls depend on."""
        places = np.array(sorted(self.ends), np.int64)
        names = [*self.depth, *self.following.values()]
        return {
            "linked": self.linked.copy(),
            "last": -1 if self.last is None else self.last,
            "places": places,
            "ends": {
                n: np.array([self.ends[int(p)][n] for p in places], self.types[n].base).reshape(
                    len(places), *self.types[n].shape
                )
                for n in names
            },
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Return to a state."""
        self.linked = np.array(state["linked"], bool)
        self.last = None if state["last"] < 0 else int(state["last"])
        self.ends = {
            int(place): {name: np.array(values[k]) for name, values in state["ends"].items()}
            for k, place in enumerate(state["places"])
        }

    def _follows(self, rows: Columns, after: Columns) -> np.ndarray:
        """[n] bool: does each row of `after` go on where the row before it ends?"""
        count = len(next(iter(rows.values())))
        same = np.ones(count, bool)
        if not count:
            return same
        for name in self.depth:
            same &= _equal(rows[name][..., 1:], after[name][..., :-1])
        for name, target in self.following.items():
            same &= _equal(rows[target], after[name])
        return same

    def _stack(
        self, name: str, indexes: np.ndarray, kept: Columns, read: Callable[[np.ndarray], Columns]
    ) -> np.ndarray:
        """[n, *shape] of a field of frames; `kept` is of these rows."""
        out = np.empty((len(indexes), *self.types[name].shape), self.types[name].base)
        out[..., 0] = kept[name]
        at, steps = indexes, np.zeros(len(indexes), np.int64)
        for frame in range(1, self.depth[name]):
            moves = self.linked[at]
            at = np.where(moves, (at + 1) % self.size, at)
            steps += moves
            if moves.any():
                out[..., frame] = read(at)[name]
            for k in np.flatnonzero(~moves):
                out[k, ..., frame] = self.ends[int(at[k])][name][..., frame - steps[k]]
        return out


def compression(
    size: int,
    types: Mapping[str, np.dtype],
    next_of: Any,
    stack_compress: Any,
) -> tuple[dict[str, np.dtype], Chain | None]:
    """The fields that `add` takes, and their chain if any is compressed.

    Args:
        next_of: field or fields; of each, `next_` and its name becomes a field, too.
        stack_compress: field or fields whose last dimension is a stack of frames.
    Raises: BufferFieldError.
    """
    following = {name: f"next_{name}" for name in names_of(next_of, types, "next_of")}
    stacks = names_of(stack_compress, types, "stack_compress")
    for name in following.values():
        if name in types:
            raise BufferFieldError(f"field {name!r}: next_of makes it, want it left out")
    every = {**types, **{target: types[name] for name, target in following.items()}}
    chain = Chain(size, every, stacks, following) if following or stacks else None
    return every, chain


def _equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """[n] bool: are the bits of two rows the same? A NaN is like itself, 0.0 not like -0.0."""
    count = len(a)
    bits = [np.ascontiguousarray(x).reshape(count, -1).view(np.uint8) for x in (a, b)]
    return (bits[0] == bits[1]).reshape(count, -1).all(axis=1)
