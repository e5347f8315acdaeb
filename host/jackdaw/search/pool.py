"""Workers: in this process, or in processes of their own.

A process gets tasks through a pipe, several in a message, and answers in the same way. Processes
are forked, so the state table and the environment's maker need not be sent.

Source: thesis 5.1.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Protocol

import numpy as np

from jackdaw.errors import EnvError, WorkerDied, WorkerTimeout
from jackdaw.search.simulation import RESULT, TASK, Simulator

FLUSH_S = 100e-6  # a process answers after this time, or when it has nothing left to do
LOOK_MS = 100  # how often limits are looked at
ATTEMPTS = 2
JOIN_S = 5.0
RESULTS, FAILURE = b"R", b"E"
FORK = get_context("fork")


class Pool(Protocol):
    """Executes tasks; results come in any order."""

    def submit(self, tasks: np.ndarray) -> None:
        """Give out tasks, [n] TASK, an array that may change afterwards; does not wait."""

    def collect(self, least: int) -> np.ndarray:
        """Wait for at least so many results; returns all that are there, [n] RESULT.

        Raises: EnvError, WorkerDied, WorkerTimeout.
        """

    def drop(self) -> None:
        """Forget all tasks; nothing of them is written after that."""

    def close(self) -> None:
        """End the workers."""


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """Results one after the other, [n] RESULT: quicker than NumPy, which compares the fields."""
    if len(parts) == 1:
        return parts[0]
    return np.frombuffer(b"".join(part.tobytes() for part in parts), RESULT)


class SerialPool:
    """One worker, in this process."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._done: list[np.ndarray] = []

    def submit(self, tasks: np.ndarray) -> None:
        """See Pool; the tasks are executed at once. Raises: EnvError."""
        results = np.zeros(len(tasks), RESULT)
        for task, result in zip(tasks, results, strict=True):
            text = self._simulator.attempt(task, result)
            if text:
                raise EnvError(text, int(task["worker"]))
        self._done.append(results)

    def collect(self, least: int) -> np.ndarray:
        """See Pool."""
        found = joined(self._done)
        self._done.clear()
        return found

    def drop(self) -> None:
        """See Pool."""
        self._done.clear()

    def close(self) -> None:
        """See Pool."""
        self._simulator.env.close()


class _Worker:
    """A process.

    Attributes:
        process: of multiprocessing.
        pipe: to it.
        open: tasks that it has, in order, [1] TASK each.
        current: [1] uint64, shared with it: number of the task that it is at.
        since: when it began the first of them, at the latest.
    """

    def __init__(self, process: Any, pipe: Connection, current: np.ndarray) -> None:
        self.process, self.pipe, self.current = process, pipe, current
        self.open: deque[np.ndarray] = deque()
        self.since = 0.0


class ProcessPool:
    """Forked processes, each with an environment of its own.

    Attributes:
        restarts: processes that were started in place of others.
    """

    def __init__(
        self, make: Callable[[], Simulator], processes: int, timeout_s: float = 60.0
    ) -> None:
        """Start the processes.

        Args:
            make: makes a process's simulator, in it.
            processes: how many.
            timeout_s: of one simulation.
        """
        self._make, self._timeout = make, timeout_s
        self._poll = select.poll()
        self._workers: list[_Worker] = []
        self._by_handle: dict[int, _Worker] = {}
        self._attempts: dict[int, int] = {}  # of tasks whose process ended
        self.restarts = 0
        for _ in range(processes):
            self._workers.append(self._start())

    def _start(self) -> _Worker:
        mine, theirs = FORK.Pipe()
        inherited = [mine, *(worker.pipe for worker in self._workers)]
        current = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.uint64, 1)
        process = FORK.Process(
            target=_serve, args=(self._make, theirs, inherited, current), daemon=True
        )
        process.start()
        theirs.close()
        worker = _Worker(process, mine, current)
        self._poll.register(mine.fileno(), select.POLLIN)
        self._by_handle[mine.fileno()] = worker
        return worker

    def submit(self, tasks: np.ndarray) -> None:
        """See Pool; each task goes to the process that has the fewest."""
        loads = [len(worker.open) for worker in self._workers]
        shares: list[list[int]] = [[] for _ in loads]
        for index in range(len(tasks)):
            chosen = loads.index(min(loads))
            loads[chosen] += 1
            shares[chosen].append(index)
        for worker, share in zip(self._workers, shares, strict=True):
            if share:
                self._give(worker, tasks[share])

    def _give(self, worker: _Worker, tasks: np.ndarray) -> None:
        if not worker.open:
            worker.since = time.monotonic()
        worker.open.extend(tasks[i : i + 1] for i in range(len(tasks)))
        with suppress(OSError):  # it has ended; `collect` sees that
            worker.pipe.send_bytes(tasks.tobytes())

    def collect(self, least: int) -> np.ndarray:
        """See Pool."""
        found: list[np.ndarray] = []
        count = 0
        while True:
            left = max(least - count, 0)
            ready = self._poll.poll(LOOK_MS if left else 0)
            for handle, _ in ready:
                worker = self._by_handle[handle]
                try:
                    message = worker.pipe.recv_bytes()
                except (EOFError, OSError):
                    self._ended(worker, WorkerDied)
                    continue
                if message[:1] == FAILURE:
                    number, _, text = message[1:].decode().partition(" ")
                    raise EnvError(text, int(number))
                results = np.frombuffer(message[1:], RESULT)
                for _ in results:
                    worker.open.popleft()
                worker.since = time.monotonic()
                if self._attempts:
                    for number in results["number"].tolist():
                        self._attempts.pop(number, None)
                found.append(results)
                count += len(results)
            if count >= least and not ready:
                return joined(found)
            if not ready:
                self._limits()

    def _limits(self) -> None:
        """End processes whose simulation takes too long."""
        now = time.monotonic()
        for worker in list(self._workers):
            if worker.open and now - worker.since > self._timeout:
                self._ended(worker, WorkerTimeout)

    def _ended(self, worker: _Worker, kind: type[WorkerDied]) -> None:
        """Start another process in place of one; its tasks are given out again, once.

        Raises: WorkerDied, WorkerTimeout.
        """
        self._stop(worker)
        code = worker.process.exitcode
        self._workers.remove(worker)
        self._workers.append(self._start())
        self.restarts += 1
        if not worker.open:
            return
        at = int(worker.current[0])
        mine = [one[0] for one in worker.open if int(one["number"][0]) == at]
        if not mine:  # it did not begin yet
            mine = [worker.open[0][0]]
        task = mine[0]
        first = int(task["number"])
        self._attempts[first] = self._attempts.get(first, 0) + 1
        if self._attempts[first] == ATTEMPTS:
            del self._attempts[first]
            what = (
                f"a simulation took more than {self._timeout:g} s"
                if kind is WorkerTimeout
                else f"its process ended with exit code {code}"
            )
            raise kind(
                f"task {first} (from state {task['source']}, action {task['action']}): {what}, in "
                f"{ATTEMPTS} attempts"
            )
        self.submit(np.concatenate(worker.open))

    def _stop(self, worker: _Worker) -> None:
        handle = worker.pipe.fileno()
        self._poll.unregister(handle)
        del self._by_handle[handle]
        worker.pipe.close()
        worker.process.kill()
        worker.process.join()

    def drop(self) -> None:
        """See Pool; processes that are at work are replaced."""
        for worker in list(self._workers):
            if worker.open:
                self._stop(worker)
                self._workers.remove(worker)
                self._workers.append(self._start())
        self._attempts.clear()

    def close(self) -> None:
        """See Pool."""
        for worker in self._workers:
            if not worker.open:
                worker.pipe.close()  # it ends by itself
                worker.process.join(JOIN_S)
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()
        self._workers.clear()
        self._by_handle.clear()


def _serve(
    make: Callable[[], Simulator],
    pipe: Connection,
    inherited: list[Connection],
    current: np.ndarray,
) -> None:
    """A process: executes tasks until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the master ends it
    for other in inherited:
        other.close()
    try:
        simulator = make()
        while True:
            tasks = np.frombuffer(pipe.recv_bytes(), TASK)
            results = np.zeros(len(tasks), RESULT)
            sent, last = 0, time.perf_counter()
            numbers = tasks["number"].tolist()
            for index in range(len(tasks)):
                current[0] = numbers[index]
                text = simulator.attempt(tasks[index], results[index])
                if text:
                    number = int(tasks[index]["worker"])
                    pipe.send_bytes(FAILURE + f"{number} {text}".encode())
                    break
                now = time.perf_counter()
                if now - last > FLUSH_S or index + 1 == len(tasks):
                    pipe.send_bytes(RESULTS + results[sent : index + 1].tobytes())
                    sent, last = index + 1, now
    except (EOFError, OSError):
        pass
    finally:
        os._exit(0)
