"""Bounded queues between the threads of a run: named, with time-outs and a close sentinel.

Source: thesis 4.2.1 (data-collection, replay-request, learner-activation and learner-done queues).
"""

from __future__ import annotations

import queue
import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class QueueStalled(RuntimeError):
    """A queue stayed full or empty for longer than its time-out."""

    def __init__(self, name: str, seconds: float, state: str) -> None:
        super().__init__(f"queue {name} stayed {state} for {seconds:g} s")
        self.name = name
        self.seconds = seconds


class QueueClosed(RuntimeError):
    """The other side closed the queue; `cause` is the exception that made it, if any."""

    def __init__(self, name: str, cause: BaseException | None) -> None:
        super().__init__(f"queue {name} was closed" + (f": {cause}" if cause else ""))
        self.cause = cause


class BoundedQueue(Generic[T]):
    """A first-in first-out queue for one consumer.

    Args:
        name: used in errors.
        capacity: items it holds, at least 1.
        timeout_s: longest wait (seconds) of `put` and `get`.
    """

    def __init__(self, name: str, capacity: int, timeout_s: float = 60.0) -> None:
        if capacity < 1:
            raise ValueError(f"queue {name}: capacity {capacity}, want at least 1")
        self.name = name
        self.timeout_s = timeout_s
        self._items: queue.Queue[T] = queue.Queue(capacity)
        self._closed = threading.Event()
        self._cause: BaseException | None = None

    def put(self, item: T) -> None:
        """Append an item. Raises QueueStalled when full for too long, QueueClosed."""
        self._wait(lambda slice_s: self._items.put(item, timeout=slice_s), queue.Full, "full")

    def get(self) -> T:
        """Take the oldest item. Raises QueueStalled when empty for too long, QueueClosed."""
        out: list[T] = []
        self._wait(
            lambda slice_s: out.append(self._items.get(timeout=slice_s)), queue.Empty, "empty"
        )
        return out[0]

    def close(self, cause: BaseException | None = None) -> None:
        """Make every later `put`, and `get` once empty, raise QueueClosed."""
        self._cause = self._cause or cause
        self._closed.set()

    def __len__(self) -> int:
        return self._items.qsize()

    def _wait(self, attempt, refused: type[Exception], state: str) -> None:  # type: ignore[no-untyped-def]
        slice_s = 0.05
        waited = 0.0
        while True:
            if self._closed.is_set() and (state == "full" or self._items.empty()):
                raise QueueClosed(self.name, self._cause)
            try:
                attempt(min(slice_s, self.timeout_s))
                return
            except refused:
                waited += slice_s
                if waited >= self.timeout_s:
                    raise QueueStalled(self.name, self.timeout_s, state) from None
