"""The buffer: cpprb's calls on one replay engine and device memory."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numba import njit

from jackdaw.device.base import Device
from jackdaw.drivers.learner import Storage
from jackdaw.drivers.replay import MAX_SAMPLES, ONE_BETA, Replay, ReplaySettings
from jackdaw.errors import (
    BufferEmptyError,
    BufferIndexError,
    BufferPriorityError,
    BufferStateError,
    ConfigError,
)
from jackdaw.ranges import FLOAT32_MAX, Range, entries, real, whole, wholes
from jackdaw.replay_buffer.chain import compression
from jackdaw.replay_buffer.fields import ROW_ALIGN, Columns, columns, field_types, packed
from jackdaw.replay_buffer.nstep import NStep
from models.replay.kernels import ONE_FP32
from models.replay.rng import Xoshiro, splitmix64
from models.replay.weights import weights as importance_weights

FORMAT = 2
UNIFORM_LOG2 = 48
UNIT = Range(0, 1)
STATE = ("settings", "replay", "generator", "next", "stored", "episode", "max_priority", "rows",
         "stale", "chain", "waiting")  # fmt: skip


class PrioritizedReplayBuffer:
    """Proportional prioritized replay with the calls of `cpprb.PrioritizedReplayBuffer`.

    A row is drawn in proportion to (priority + eps)**alpha. docs/replay.md lists what differs from
    cpprb and what is refused on purpose. The rules of this class:

    - Priorities are integers of 2**-fraction_bits in an exact sum tree: sums never drift, whatever
      the number of updates. (priority + eps)**alpha is within 1.5e-5 of itself and half a unit,
      at least one unit (a row that is stored can be drawn) and at most 2**(32 - fraction_bits).
    - Importance weights are (p_min / p)**beta with the least priority of the *batch*, so the
      largest weight of a batch is 1.0, to the bit.
    - A row without a priority gets the largest so far: 1.0 if none was larger.
    - A batch is stratified: row b comes from the b-th of `batch_size` equal parts of the total.
    - Bad input raises; nothing is stored of a call that raises for its input.

    Args:
        size: most rows held, any number from 1 up to the build's leaves.
        env_dict: field -> {"shape", "dtype"}, see `fields.field_types`.
        alpha: 0..1.99997, kept as Q1.15.
        device: an open device, of any backend; a replay engine of it belongs to this buffer.
        Nstep: rows of several steps, see `nstep.NStep`; None: of one.
        eps: added to every priority, float32.
        check_for_update: `update_priorities` leaves out rows that were stored since the last
            `sample`.
        next_of: fields whose next value is the next row's value: it is taken by `add` as `next_`
            and the name, and takes no memory of its own where rows follow each other.
        stack_compress: fields whose last dimension is a stack of frames that moves on by one: one
            frame of each row is stored where rows follow each other.
        default_dtype: of fields that name none; None is float32.
        stratified: False: every row of a batch is drawn on its own.
        seed: 64 bits; two buffers with one seed and the same calls give the same bits, on any
            backend.
        fraction_bits: resolution, 0..24.
        page: the engine's page or instance; default the first replay engine that is free.
    Attributes:
        replay: the driver, e.g. to queue a TRAIN_LOOP on `storage`.
        storage: where the rows are in device memory; fields that `next_of` and `stack_compress`
            compress are not whole there.
    Raises: ConfigError, BufferFieldError, DeviceMemoryError if the rows do not fit,
        EngineOwnedError if every replay engine is another buffer's.
    """

    def __init__(
        self,
        size: int,
        env_dict: Mapping[str, Mapping[str, Any]],
        alpha: float = 0.6,
        *,
        device: Device,
        Nstep: Mapping[str, Any] | None = None,
        eps: float = 1e-4,
        check_for_update: bool = False,
        next_of: Any = None,
        stack_compress: Any = None,
        default_dtype: Any = None,
        mmap_prefix: str | None = None,
        stratified: bool = True,
        seed: int = 0,
        fraction_bits: int = 16,
        page: int | str | None = None,
    ) -> None:
        if mmap_prefix is not None:
            raise ConfigError(f"mmap_prefix: got {mmap_prefix!r}; rows are in device memory alone")
        size = whole("size", size, 1, MAX_SAMPLES)
        settings = ReplaySettings(
            leaves=size, alpha=alpha, epsilon=eps, fraction_bits=fraction_bits, seed=seed,
            no_fetch=True,
        )  # fmt: skip
        own = field_types(env_dict, default_dtype)
        self._types, self._chain = compression(size, own, next_of, stack_compress)
        self._nstep = None if Nstep is None else NStep(Nstep, self._types)
        self._row = packed(self._types if self._chain is None else self._chain.stored)
        self.replay = Replay(device, settings, page)
        self.stratified = stratified
        stride = self._row.itemsize
        with self.replay.opening():
            self.storage = Storage(self.replay.alloc(size * stride, ROW_ALIGN), stride, size)
        self._device = device
        self._generator = Xoshiro(splitmix64(seed, 8)[4:])  # the first four words are the engine's
        self._stale = np.zeros(size, bool) if check_for_update else None  # stored since `sample`
        self._next = self._stored = self._episode = 0
        self._max_priority = 1.0

    def close(self) -> None:
        """Give the engine and its memory back, for another buffer."""
        self.replay.close()

    # ---- Rows in ----
    def add(self, *, priorities: Any = None, **fields: Any) -> int | None:
        """Store one row, or several along a leading axis; the oldest make room.

        Only while no batch of a TRAIN_LOOP is being fetched.

        Args:
            priorities: a number or one for each row, finite and not negative; None: the largest so
                far.
            fields: a value for every field.
        Returns: the index of the first row; None if all rows wait for their next steps (`Nstep`).
        Raises: BufferFieldError, BufferPriorityError.
        """
        rows = columns(self._types, fields)
        count = len(next(iter(rows.values())))
        values = None if priorities is None else self._priorities(priorities, count)
        if self._nstep is None:
            return self._store(rows, values)
        if values is None:
            values = np.full(count, self._max_priority, np.float32)
        return self._store_complete(self._nstep.add({**rows, "priorities": values}))

    def on_episode_end(self) -> None:
        """End the episode: rows that wait for next steps are stored with the steps they have."""
        if self._nstep is not None:
            self._store_complete(self._nstep.end())
        self._episode = 0

    def update_priorities(self, indexes: Any, priorities: Any) -> None:
        """Set priorities in order: of an index given twice, the later one stays.

        Args:
            indexes: [n] whole numbers, of any number type.
            priorities: [n], or one number for all; finite and not negative.
        Raises: BufferIndexError, BufferPriorityError; nothing is changed then.
        """
        if (
            isinstance(indexes, np.ndarray)
            and isinstance(priorities, np.ndarray)
            and indexes.dtype.kind in "iu"
            and priorities.dtype.kind == "f"
            and indexes.shape == priorities.shape
        ):
            chosen, given = indexes, priorities
        else:
            chosen = self._indexes(indexes)
            given = self._priorities(priorities, chosen.size)
        pairs = np.empty((chosen.size, 2), np.uint32)
        largest = _pairs(
            chosen.reshape(-1).astype(np.int64, copy=False),
            given.reshape(-1).astype(np.float64, copy=False),
            self._stored,
            pairs,
        )
        if largest < 0:
            self._priorities(given, self._indexes(chosen).size)  # raises, and says why
        if self._stale is not None:
            pairs = pairs[~self._stale[pairs[:, 0]]]
            largest = float(pairs[:, 1].view(np.float32).max(initial=0))
        if len(pairs):
            self.replay.post(pairs)
            self._max_priority = max(self._max_priority, largest)

    def clear(self) -> None:
        """Forget all rows and priorities; the generators go on."""
        self.replay.clear()
        if self._nstep is not None:
            self._nstep.end()
        if self._chain is not None:
            self._chain.clear()
        if self._stale is not None:
            self._stale[:] = False
        self._next = self._stored = self._episode = 0
        self._max_priority = 1.0

    # ---- Rows out ----
    def sample(self, batch_size: int, beta: float = 0.4) -> dict[str, np.ndarray]:
        """Draw a batch with replacement.

        Args:
            batch_size: B, 1 or more. A power of two within the build's largest batch is one job.
            beta: exponent of the importance weights, 0..1.
        Returns: every field [B, *shape], `weights` [B] float32 and `indexes` [B] int64.
        Raises: BufferEmptyError, ConfigError.
        """
        batch_size = whole("batch_size", batch_size, 1, MAX_SAMPLES)
        beta = real("beta", beta, UNIT)
        if self._stored == 0:
            raise BufferEmptyError(f"sample of {batch_size} rows: the buffer holds none")
        indexes, weights = self._draw(batch_size, beta)
        if self._stale is not None:
            self._stale[:] = False
        return {**self._expand(indexes), "weights": weights, "indexes": indexes}

    def get_all_transitions(self, shuffle: bool = False) -> dict[str, np.ndarray]:
        """Every field of all rows that are stored: by index, or in a random order."""
        indexes = np.arange(self._stored)
        if shuffle:
            indexes = np.argsort(self._generator.uniforms(self._stored), kind="stable")
        return self._expand(indexes)

    def get_max_priority(self) -> float:
        """The largest priority given since the buffer was made or cleared, at least 1.0."""
        return self._max_priority

    def get_stored_size(self) -> int:
        """Number of rows stored."""
        return self._stored

    def get_buffer_size(self) -> int:
        """Most rows held."""
        return self.storage.records

    def get_next_index(self) -> int:
        """Index of the row stored next."""
        return self._next

    def get_current_episode_len(self) -> int:
        """Rows stored since the last end of an episode."""
        return self._episode

    def is_Nstep(self) -> bool:
        """Whether rows are of several steps."""
        return self._nstep is not None

    def __len__(self) -> int:
        return self._stored

    # ---- State ----
    def state(self) -> dict[str, Any]:
        """Rows, priorities and generators: all that later calls depend on."""
        return {
            "settings": self._settings(),
            "replay": self.replay.state(),
            "generator": list(self._generator.state),
            "next": self._next,
            "stored": self._stored,
            "episode": self._episode,
            "max_priority": self._max_priority,
            "rows": self._device.read(self.storage.base, self._stored * self.storage.stride),
            "stale": self._stale,
            "chain": None if self._chain is None else self._chain.state(),
            "waiting": None if self._nstep is None else dict(self._nstep.held),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Return to a state of a buffer with the same settings; the backend may be another one.

        Raises: BufferStateError.
        """
        mine = self._settings()
        try:
            entries("replay buffer state", state, STATE)
            given = entries("replay buffer settings", state["settings"], ())
        except ConfigError as error:
            raise BufferStateError(str(error)) from None
        for name in sorted(mine.keys() | given.keys()):
            got, want = given.get(name), mine.get(name)
            if got != want:
                raise BufferStateError(f"{name}: the state has {got!r}, this buffer {want!r}")
        self.replay.load_state(state["replay"])
        self._generator.load(state["generator"])
        self._next, self._stored = state["next"], state["stored"]
        self._episode, self._max_priority = state["episode"], state["max_priority"]
        if self._stored:
            self._device.write(self.storage.base, np.ascontiguousarray(state["rows"]))
        if self._stale is not None:
            self._stale = np.array(state["stale"], bool)
        if self._chain is not None:
            self._chain.load_state(state["chain"])
        if self._nstep is not None:
            self._nstep.held = dict(state["waiting"])

    def save_transitions(self, file: str | Path | IO[bytes], *, safe: bool = True) -> None:
        """Write the state to a NumPy archive (.npz), without pickle: with priorities, generators.

        Args:
            file: a path, or a file open for writing.
            safe: for cpprb's callers; either way every version reads the file.
        """
        arrays: dict[str, Any] = {}
        tree = _take_arrays(self.state(), "", arrays)
        if isinstance(file, str | Path):
            with Path(file).open("wb") as handle:
                np.savez_compressed(handle, state=np.array(json.dumps(tree)), **arrays)
        else:
            np.savez_compressed(file, state=np.array(json.dumps(tree)), **arrays)

    def load_transitions(self, file: str | Path | IO[bytes]) -> None:
        """Return to what `save_transitions` wrote.

        Raises: BufferStateError if the file is another buffer's or none; FileNotFoundError.
        """
        try:
            with np.load(file, allow_pickle=False) as archive:
                state = _put_arrays(json.loads(str(archive["state"])), archive)
            state["settings"], state["replay"]["leaves"]
        except (ValueError, TypeError, LookupError, EOFError, zipfile.BadZipFile) as error:
            raise BufferStateError(f"{file}: no saved replay buffer ({error})") from None
        self.load_state(state)

    # ---- Inside ----
    def _settings(self) -> dict[str, Any]:
        s, n, c = self.replay.settings, self._nstep, self._chain
        return {
            "format": FORMAT,
            "size": self.storage.records,
            "fields": [[n, t.base.str, list(t.shape)] for n, t in self._types.items()],
            "alpha": s.alpha,
            "eps": s.epsilon,
            "fraction_bits": s.fraction_bits,
            "stratified": self.stratified,
            "check_for_update": self._stale is not None,
            "Nstep": n and [n.size, n.gamma, n.rewards, n.following],
            "compressed": c and [list(c.depth), list(c.following)],
        }

    def _store_complete(self, rows: Columns | None) -> int | None:
        """Store rows that waited for their next steps, if there are any."""
        return None if rows is None else self._store(rows, rows.pop("priorities"))

    def _store(self, rows: Columns, values: np.ndarray | None) -> int:
        """Store rows with their priorities ([n] float32; None: the largest so far)."""
        first, size = self._next, self.storage.records
        count = len(next(iter(rows.values())))
        for begin in range(0, count, size):
            part = {name: column[begin : begin + size] for name, column in rows.items()}
            length = min(size, count - begin)
            if self._chain is not None:
                part = self._chain.append(self._next, part)
            table = np.zeros(length, self._row)
            for name, column in part.items():
                table[name] = column
            self._write(self._next, table)
            if values is None:
                self.replay.post_largest(length)
            else:
                pairs = np.zeros((length, 2), np.uint32)
                pairs[:, 1] = values[begin : begin + size].view(np.uint32)
                self.replay.post(pairs, insert=True)
            if self._stale is not None:
                self._stale[(self._next + np.arange(length)) % size] = True
            self._next = (self._next + length) % size
            self._stored = min(self._stored + length, size)
        self._episode += count
        if values is not None:
            self._max_priority = max(self._max_priority, float(values.max()))
        return first

    def _priorities(self, priorities: Any, count: int) -> np.ndarray:
        """[count] float32. Raises BufferPriorityError."""
        try:
            given = np.asarray(priorities, np.float64)
        except (TypeError, ValueError) as error:
            raise BufferPriorityError(f"priorities: {error}") from None
        values = given.reshape(-1)
        if given.ndim == 0:
            values = np.repeat(values, count)
        if len(values) != count:
            raise BufferPriorityError(f"priorities: got {len(values)} for {count} rows")
        bad = ~((values >= 0) & (values <= FLOAT32_MAX))  # a NaN fails both
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise BufferPriorityError(f"priority {at}: got {values[at]}, want 0..{FLOAT32_MAX:.4g}")
        return values.astype(np.float32)

    def _indexes(self, indexes: Any) -> np.ndarray:
        """[n] int64 of stored rows. Raises BufferIndexError."""
        try:
            given = wholes("indexes", indexes, -(1 << 62), 1 << 62).reshape(-1)
        except ConfigError as error:
            raise BufferIndexError(str(error)) from None
        bad = (given < 0) | (given >= self._stored)
        if bad.any():
            raise BufferIndexError(
                f"index: got {given[bad][0]}, want below {self._stored}, the rows stored"
            )
        return given

    def _draw(self, batch: int, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """[batch] int64 indexes and [batch] float32 weights."""
        most = self.replay.max_batch
        weighted = round(beta * ONE_BETA) > 0
        strata = self.stratified and batch > 1
        if batch <= most and (not strata or batch & (batch - 1) == 0):
            drawn = self.replay.sample(batch, stratified=strata, weights=weighted, beta=beta)
            return drawn.indices, drawn.weights
        # The engine stratifies powers of two; other parts come as numbers from here. The weights
        # of a batch of several jobs are those of one job in a build that could hold it.
        numbers = self._numbers(batch) if strata else None
        parts = []
        for begin in range(0, batch, most):
            end = min(begin + most, batch)
            uniform = None if numbers is None else numbers[begin:end]
            parts.append(
                self.replay.sample(end - begin, uniform=uniform, stratified=False, weights=False)
            )
        indexes = np.concatenate([part.indices for part in parts])
        priorities = np.concatenate([part.priorities for part in parts])
        words = np.full(batch, ONE_FP32, np.uint32)
        if weighted:
            words = importance_weights(priorities, int(priorities.min()), round(beta * ONE_BETA))
        return indexes, words.view(np.float32)

    def _numbers(self, batch: int) -> np.ndarray:
        """[batch] uint64: number b is uniform in the b-th of `batch` parts of 0..2**48-1."""
        return np.array(
            [((b << UNIFORM_LOG2) + self._generator.uniform()) // batch for b in range(batch)],
            np.uint64,
        )

    def _write(self, first: int, rows: np.ndarray) -> None:
        """Write up to `size` rows from index `first` on, around the end."""
        room = self.storage.records - first
        for at, part in ((first, rows[:room]), (0, rows[room:])):
            if len(part):
                self._device.write(self.storage.base + at * self.storage.stride, part)

    def _expand(self, indexes: np.ndarray) -> Columns:
        """Every field of some rows, [n, *shape]."""
        kept = self._read(indexes)
        if self._chain is None:
            return kept
        return self._chain.expand(indexes, self._read)

    def _read(self, indexes: np.ndarray) -> Columns:
        """What some rows have in device memory, by field."""
        s = self.storage
        raw = self._device.read_rows(s.base, s.stride, s.records, indexes)
        rows = raw.reshape(-1).view(self._row)
        return {name: np.ascontiguousarray(rows[name]) for name in self._row.names or ()}


@njit(cache=True)
def _pairs(indexes: np.ndarray, priorities: np.ndarray, stored: int, pairs: np.ndarray) -> float:
    """Put checked pairs of an index and a priority's FP32 bits into `pairs`.

    Args:
        indexes: [n] int64, each below `stored`.
        priorities: [n] float64, each finite in float32 and not negative.
    Returns: the largest priority; -1 if an index or a priority is not what it should be.
    """
    largest: Any = 0.0
    for i in range(len(indexes)):
        if not (0 <= indexes[i] < stored and 0.0 <= priorities[i] <= FLOAT32_MAX):
            return -1.0
        value = np.float32(priorities[i] + 0.0)  # -0.0 becomes 0.0
        pairs[i, 0], pairs[i, 1] = indexes[i], value.view(np.uint32)
        largest = max(largest, np.float64(value))
    return largest


def _take_arrays(tree: Any, path: str, arrays: dict[str, Any]) -> Any:
    """A copy of nested dictionaries with the names of arrays in place of the arrays."""
    if isinstance(tree, np.ndarray):
        arrays[path] = tree
        return {"array": path}
    if isinstance(tree, Mapping):
        return {k: _take_arrays(v, f"{path}/{k}" if path else k, arrays) for k, v in tree.items()}
    return tree


def _put_arrays(tree: Any, archive: Mapping[str, np.ndarray]) -> Any:
    """The inverse of `_take_arrays`."""
    if not isinstance(tree, dict):
        return tree
    if tree.keys() == {"array"}:
        return archive[tree["array"]]
    return {name: _put_arrays(value, archive) for name, value in tree.items()}
