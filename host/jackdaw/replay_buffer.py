"""A prioritized replay buffer on a device, for training loops that were written for cpprb.

    from jackdaw.device import open_device
    from jackdaw.replay_buffer import PrioritizedReplayBuffer

    with open_device("sim") as device:
        fields = {"obs": {"shape": 4}, "act": {"dtype": int}, "rew": {}, "done": {}}
        buffer = PrioritizedReplayBuffer(10_000, fields, alpha=0.6, device=device)
        buffer.add(obs=obs, act=act, rew=rew, done=done)
        batch = buffer.sample(32, beta=0.4)
        buffer.update_priorities(batch["indexes"], np.abs(td_errors))

Priorities live in the engine's sum tree, rows in device memory.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jackdaw.device.base import Device
from jackdaw.drivers.learner import Storage
from jackdaw.drivers.replay import MAX_SAMPLES, ONE_BETA, Replay, ReplaySettings
from jackdaw.errors import (
    BufferEmptyError,
    BufferFieldError,
    BufferIndexError,
    BufferPriorityError,
    BufferStateError,
    ConfigError,
)
from jackdaw.ranges import Range, entries, real, whole, wholes
from models.replay.rng import Xoshiro, splitmix64
from models.replay.weights import ONE_FP32
from models.replay.weights import weights as importance_weights

FORMAT = 1
ROW_ALIGN = 64  # bytes; the learner gathers rows at multiples of it
UNIFORM_LOG2 = 48


def row_layout(
    env_dict: Mapping[str, Mapping[str, Any]], default_dtype: Any = np.float32
) -> np.dtype:
    """The layout of a row in device memory: the fields in order, each at its natural alignment.

    Args:
        env_dict: field -> {"shape": int or tuple, default 1; "dtype": default `default_dtype`}.
        default_dtype: of fields that name none.
    Returns: a structured type, padded to a multiple of 64 bytes.
    Raises: BufferFieldError.
    """
    if not env_dict:
        raise BufferFieldError("env_dict: got no field, want one or more")
    formats: list[tuple[str, np.dtype, tuple[int, ...]]] = []
    for name, spec in env_dict.items():
        unknown = set(spec) - {"shape", "dtype"}
        if name in ("priorities", "weights", "indexes") or unknown:
            raise BufferFieldError(
                f"field {name!r}: got {sorted(unknown) or 'a name of the buffer itself'}, "
                "want another name with shape and dtype alone"
            )
        shape, dtype = spec.get("shape", 1), np.dtype(spec.get("dtype", default_dtype))
        shape = (int(shape),) if np.ndim(shape) == 0 else tuple(int(n) for n in shape)
        if dtype.kind not in "biufc" or any(n < 1 for n in shape):
            raise BufferFieldError(
                f"field {name!r}: got {dtype} of shape {shape}, want numbers, dimensions of 1 up"
            )
        formats.append((name, dtype, shape))
    packed = np.dtype(formats, align=True)
    assert packed.names is not None and packed.fields is not None
    return np.dtype(
        {
            "names": list(packed.names),
            "formats": [packed.fields[name][0] for name in packed.names],
            "offsets": [packed.fields[name][1] for name in packed.names],
            "itemsize": -(-packed.itemsize // ROW_ALIGN) * ROW_ALIGN,
        }
    )


class PrioritizedReplayBuffer:
    """Proportional prioritized replay with the calls of `cpprb.PrioritizedReplayBuffer`.

    A row is drawn in proportion to (priority + eps)**alpha. What differs from cpprb:

    - Priorities are integers of 2**-fraction_bits in an exact sum tree: sums never drift, whatever
      the number of updates. (priority + eps)**alpha is within 1.5e-5 of itself and half a unit,
      at least one unit (a row that is stored can be drawn) and at most 2**(32 - fraction_bits).
    - Importance weights are (p_min / p)**beta with the least priority of the *batch*; cpprb takes
      the least one of the buffer. So the largest weight of a batch is 1.0, to the bit.
    - A row without a priority gets the largest so far: 1.0 if none was larger, where cpprb has
      (1 + eps)**alpha.
    - As in cpprb, a batch is stratified: row b comes from the b-th of `batch_size` equal parts of
      the total. `stratified=False` draws independently. The generator has a seed.
    - Indexes are int64. Bad input raises; nothing is stored of a call that raises for its input.
    - `save_transitions` keeps priorities and generators too: a loaded buffer goes on to the bit.
    - N-step, memory compression, `next_of` and shared buffers of cpprb are not here.

    Args:
        size: most rows held, any number from 1 up to the build's leaves.
        env_dict: field -> {"shape", "dtype"}, see `row_layout`.
        alpha: 0..1.99997, kept as Q1.15.
        device: an open device, of any backend; a replay engine of it belongs to this buffer.
        eps: added to every priority, float32.
        stratified: draw as cpprb does.
        seed: 64 bits; two buffers with one seed and the same calls give the same bits, on any
            backend.
        fraction_bits: resolution, 0..24.
        default_dtype: of fields that name none.
        page: the engine's page or instance; default the first replay engine that is free.
    Attributes:
        replay: the driver, e.g. to queue a TRAIN_LOOP on `storage`.
        storage: where the rows are in device memory.
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
        eps: float = 1e-4,
        stratified: bool = True,
        seed: int = 0,
        fraction_bits: int = 16,
        default_dtype: Any = np.float32,
        page: int | str | None = None,
    ) -> None:
        size = whole("size", size, 1, MAX_SAMPLES)
        self._row = row_layout(env_dict, default_dtype)
        settings = ReplaySettings(
            leaves=size, alpha=alpha, epsilon=eps, fraction_bits=fraction_bits, seed=seed
        )
        self.replay = Replay(device, settings, page)
        self.stratified = stratified
        stride = self._row.itemsize
        with self.replay.opening():
            self.storage = Storage(self.replay.alloc(size * stride, ROW_ALIGN), stride, size)
        self._device = device
        self._generator = Xoshiro(splitmix64(seed, 8)[4:])  # the first four words are the engine's
        self._next = self._stored = 0
        self._max_priority = 1.0

    def close(self) -> None:
        """Give the engine and its memory back, for another buffer."""
        self.replay.close()

    # ---- Rows in ----
    def add(self, *, priorities: Any = None, **fields: Any) -> int:
        """Store one row, or several along a leading axis; the oldest make room.

        Only while no batch of a TRAIN_LOOP is being fetched.

        Args:
            priorities: a number or one for each row, finite and not negative; None: the largest so
                far.
            fields: a value for every field.
        Returns: the index of the first row.
        Raises: BufferFieldError, BufferPriorityError.
        """
        rows = self._rows(fields)
        values = None if priorities is None else self._priorities(priorities, len(rows))
        first = self._next
        size = self.storage.records
        for begin in range(0, len(rows), size):
            part = rows[begin : begin + size]
            self._write(self._next, part)
            if values is None:
                self.replay.insert(count=len(part))
            else:
                self.replay.insert(values[begin : begin + size], td=True)
            self._next = (self._next + len(part)) % size
            self._stored = min(self._stored + len(part), size)
        if values is not None:
            self._max_priority = max(self._max_priority, float(values.max()))
        return first

    def update_priorities(self, indexes: Any, priorities: Any) -> None:
        """Set priorities in order: of an index given twice, the later one stays.

        Raises: BufferIndexError, BufferPriorityError; nothing is changed then.
        """
        chosen = self._indexes(indexes)
        values = self._priorities(priorities, len(chosen))
        if len(chosen):
            self.replay.update(chosen, values, td=True)
            self._max_priority = max(self._max_priority, float(values.max()))

    def on_episode_end(self) -> None:
        """Do nothing: the end of an episode matters to N-step rows alone."""

    def clear(self) -> None:
        """Forget all rows and priorities; the generators go on."""
        self.replay.clear()
        self._next = self._stored = 0
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
        beta = real("beta", beta, Range(0, 1))
        if self._stored == 0:
            raise BufferEmptyError(f"sample of {batch_size} rows: the buffer holds none")
        indexes, weights = self._draw(batch_size, beta)
        self.replay.acknowledge()
        return {**self._read(indexes), "weights": weights, "indexes": indexes}

    def get_all_transitions(self) -> dict[str, np.ndarray]:
        """Every field of all rows that are stored, by index."""
        return self._read(np.arange(self._stored))

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
            "max_priority": self._max_priority,
            "rows": self._device.read(self.storage.base, self._stored * self.storage.stride),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Return to a state of a buffer with the same settings; the backend may be another one.

        Raises: BufferStateError.
        """
        mine = self._settings()
        try:
            wanted = ("replay", "generator", "next", "stored", "max_priority", "rows")
            entries("replay buffer state", state, ("settings", *wanted))
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
        self._max_priority = state["max_priority"]
        if self._stored:
            self._device.write(self.storage.base, np.ascontiguousarray(state["rows"]))

    def save_transitions(self, file: str | Path) -> None:
        """Write the state to a NumPy archive (.npz), without pickle."""
        state = self.state()
        leaves, rows = state["replay"].pop("leaves"), state.pop("rows")
        with Path(file).open("wb") as handle:
            np.savez_compressed(handle, leaves=leaves, rows=rows, state=np.array(json.dumps(state)))

    def load_transitions(self, file: str | Path) -> None:
        """Return to what `save_transitions` wrote.

        Raises: BufferStateError if the file is another buffer's or none; FileNotFoundError.
        """
        try:
            with np.load(file, allow_pickle=False) as archive:
                state = json.loads(str(archive["state"]))
                state["replay"]["leaves"] = archive["leaves"]
                state["rows"] = archive["rows"]
        except (ValueError, TypeError, LookupError, EOFError, zipfile.BadZipFile) as error:
            raise BufferStateError(f"{file}: no saved replay buffer ({error})") from None
        self.load_state(state)

    # ---- Inside ----
    def _settings(self) -> dict[str, Any]:
        s = self.replay.settings
        assert self._row.names is not None
        return {
            "format": FORMAT,
            "size": self.storage.records,
            "fields": [[n, *_describe(self._row[n])] for n in self._row.names],
            "alpha": s.alpha,
            "eps": s.epsilon,
            "fraction_bits": s.fraction_bits,
            "stratified": self.stratified,
        }

    def _rows(self, fields: Mapping[str, Any]) -> np.ndarray:
        """Rows of the buffer's type from one value a field. Raises BufferFieldError."""
        names = self._row.names
        assert names is not None
        if set(fields) != set(names):
            raise BufferFieldError(
                f"fields: got {', '.join(sorted(fields)) or 'none'}; want {', '.join(names)}"
            )
        columns = {name: self._column(name, fields[name]) for name in names}
        counts = {name: len(column) for name, column in columns.items()}
        if len(set(counts.values())) > 1:
            raise BufferFieldError(f"rows: got {counts}, want the same number of every field")
        rows = np.zeros(counts[names[0]], self._row)
        for name, column in columns.items():
            rows[name] = column
        return rows

    def _column(self, name: str, value: Any) -> np.ndarray:
        """[n, *shape] of one field."""
        dtype, shape = self._row[name].base, self._row[name].shape
        try:
            given = np.asarray(value)
        except ValueError as error:
            raise BufferFieldError(f"field {name!r}: {error}") from None
        if given.dtype.kind not in "biufc" or (given.dtype.kind == "c" and dtype.kind != "c"):
            raise BufferFieldError(f"field {name!r}: got {given.dtype}, want {dtype}")
        single = given.shape == shape or (shape == (1,) and given.ndim == 0)
        column = shape == (1,) and given.ndim == 1
        if not (single or column or (given.ndim and given.shape[1:] == shape)):
            raise BufferFieldError(
                f"field {name!r}: got shape {given.shape}, want {shape} or (rows, *{shape})"
            )
        if not given.size:
            raise BufferFieldError(f"field {name!r}: got 0 rows, want 1 or more")
        with np.errstate(invalid="ignore", over="ignore"):
            kept = given.astype(dtype)
        if dtype.kind in "biu" and (kept != given).any():
            raise BufferFieldError(
                f"field {name!r}: got {given[kept != given].flat[0]}, which {dtype} cannot hold"
            )
        return kept.reshape(1 if single else len(given), *shape)

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
        largest = np.finfo(np.float32).max
        bad = ~((values >= 0) & (values <= largest))  # a NaN fails both
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise BufferPriorityError(f"priority {at}: got {values[at]}, want 0..{largest:.4g}")
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

    def _read(self, indexes: np.ndarray) -> dict[str, np.ndarray]:
        """Every field of some rows, [n, *shape]."""
        stride = self.storage.stride
        unique, places = np.unique(indexes, return_inverse=True)
        raw = np.empty((len(unique), stride), np.uint8)
        runs = np.flatnonzero(np.diff(unique, prepend=-2) != 1)
        for begin, end in zip(runs, [*runs[1:], len(unique)], strict=True):
            address = self.storage.base + int(unique[begin]) * stride
            raw[begin:end] = self._device.read(address, int(end - begin) * stride).reshape(
                -1, stride
            )
        rows = raw.reshape(-1).view(self._row)
        assert self._row.names is not None
        return {name: rows[name][places] for name in self._row.names}


def _describe(dtype: np.dtype) -> tuple[str, list[int]]:
    return dtype.base.str, list(dtype.shape)
