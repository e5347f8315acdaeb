"""Workers: the same results wherever a task runs; processes that die, hang or raise."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from flow.effort import scale
from jackdaw.errors import EnvError, StateTableTooLarge, WorkerDied, WorkerTimeout
from jackdaw.search import TreeSearch
from jackdaw.search.games.hidden import HiddenTree
from jackdaw.search.pool import Pool, ProcessPool, SerialPool
from jackdaw.search.simulation import NO_ACTION, NOWHERE, TASK, Rules, Simulator, StateTable

ROWS = 40
RULES = Rules(seed=3, horizon=10, discount=0.9)


class Fateful(HiddenTree):
    """What action 1 does: it ends the process, hangs, or raises; by a file, so many times."""

    def __init__(self, fate: str, marks: Path, times: int) -> None:
        super().__init__(actions=3)
        self.fate, self.marks, self.times = fate, marks, times

    def step(self, action: int) -> tuple[float, bool]:
        if action == 1 and len(list(self.marks.iterdir())) < self.times:
            (self.marks / f"{os.getpid()}-{time.monotonic_ns()}").touch()
            if self.fate == "die":
                os._exit(7)
            if self.fate == "hang":
                time.sleep(60)
            raise RuntimeError("bad luck")
        return super().step(action)


def filled() -> StateTable:
    """A table whose row 0 is a root."""
    table = StateTable(ROWS, 16)
    env = HiddenTree(actions=3)
    Simulator(env, table, RULES).root()
    return table


def tasks(count: int, action: int | None = None, store: int = NOWHERE) -> np.ndarray:
    out = np.zeros(count, TASK)
    out["worker"] = out["number"] = np.arange(count)
    out["action"] = np.arange(count) % 3 if action is None else action
    out["store"] = store
    return out


def run(pool: Pool, given: np.ndarray) -> list[Any]:
    """All results, by number, without their times."""
    pool.submit(given)
    parts = [pool.collect(1)]
    while sum(map(len, parts)) < len(given):
        parts.append(pool.collect(1))
    assert len(pool.collect(0)) == 0
    results = np.sort(np.concatenate(parts), order="number")
    return results[["worker", "over", "legal", "number", "value"]].tolist()


def test_results_do_not_depend_on_the_worker() -> None:
    """Also the states that are kept, of the children of nodes that another process kept."""
    first = tasks(30)
    first["store"] = np.arange(1, 31)
    first["action"][5] = NO_ACTION
    second = tasks(30)
    second["source"], second["number"] = np.arange(30, 0, -1), np.arange(100, 130)
    found = []
    for processes in (0, 1, 3):
        table = filled()
        one = Simulator(HiddenTree(actions=3), table, RULES)
        pool: Pool = SerialPool(one)
        if processes:
            pool = ProcessPool(lambda t=table: Simulator(HiddenTree(3), t, RULES), processes)  # type: ignore[misc]
        results = [run(pool, first), run(pool, second)]
        pool.close()
        found.append((results, table.head.tolist(), table.states.tolist()))
    assert found[0] == found[1] == found[2]
    values = [row[4] for row in found[0][0][0]]
    assert len(set(values)) == 30 and [found[0][1][row][1] for row in (5, 6, 7)] == [1, 0, 1]


def test_a_value_is_the_discounted_return_from_the_root() -> None:
    """Along a path of three edges, and the roll-out after it."""
    table, env = filled(), HiddenTree(actions=3)
    simulator = Simulator(env, table, RULES)
    pool, want, source = SerialPool(simulator), 0.0, 0
    other = HiddenTree(actions=3)
    for level, action in enumerate((2, 0, 1)):
        one = tasks(1, action, level + 1)
        one["source"], one["number"] = source, 50 + level
        value = run(pool, one)[0][4]
        want += 0.9**level * other.step(action)[0]
        ahead = other.rollout(simulator.generator(50 + level), 10)
        assert value == pytest.approx(want + 0.9 ** (level + 1) * ahead, abs=1e-12)
        source = level + 1
    assert table.head[3].tolist() == (pytest.approx(want), 3, 0)


@pytest.mark.parametrize(("fate", "error"), [("die", WorkerDied), ("hang", WorkerTimeout)])
def test_a_task_whose_process_ends_is_tried_once_more(
    fate: str, error: type[Exception], tmp_path: Path
) -> None:
    """Then the results are those of a pool without an accident; a second end is an error."""

    def pool(times: int) -> ProcessPool:
        marks = tmp_path / str(times)
        marks.mkdir()
        return ProcessPool(
            lambda: Simulator(Fateful(fate, marks, times), table, RULES), 2, timeout_s=0.5
        )

    table = filled()
    given = tasks(12, 0)
    given["action"][4] = 1
    want = run(SerialPool(Simulator(HiddenTree(3), table, RULES)), given)
    once = pool(1)
    assert run(once, given) == want and once.restarts == 1
    once.close()
    twice = pool(2)
    with pytest.raises(error, match=r"task 4 \(from state 0, action 1\): .*in 2 attempts"):
        run(twice, given)
    twice.drop()
    assert run(twice, given) == want  # there are two marks now
    twice.close()


def test_an_exception_of_an_environment_comes_as_text(tmp_path: Path) -> None:
    table = filled()
    for pool in (
        SerialPool(Simulator(Fateful("raise", tmp_path, 1), table, RULES)),
        ProcessPool(lambda: Simulator(Fateful("raise", tmp_path, 2), table, RULES), 2),
    ):
        with pytest.raises(EnvError, match="RuntimeError: bad luck"):
            run(pool, tasks(6))
        pool.drop()
        assert len(run(pool, tasks(6))) == 6
        pool.close()


def test_many_messages_with_kills_in_between(seed: int) -> None:
    """Bursts of random size; a process is killed now and then. Nothing is lost or comes twice."""
    rng, table = np.random.default_rng(seed), filled()
    pool = ProcessPool(lambda: Simulator(HiddenTree(3), table, RULES), 3)
    number, open_ = 0, set[int]()
    for burst in range(scale(1000, 60)):
        one = tasks(int(rng.integers(1, 40)))
        one["number"] += number
        number += len(one)
        open_ |= set(one["number"].tolist())
        pool.submit(one)
        if burst % 20 == 10:
            victim = pool._workers[int(rng.integers(3))]
            os.kill(victim.process.pid, signal.SIGKILL)
        for got in pool.collect(int(rng.integers(0, len(open_) + 1)))["number"].tolist():
            open_.remove(got)
    while open_:
        for got in pool.collect(1)["number"].tolist():
            open_.remove(got)
    assert pool.restarts == len(range(10, scale(1000, 60), 20))
    pool.close()


def test_a_table_that_no_memory_holds_is_refused() -> None:
    with pytest.raises(StateTableTooLarge, match=r"1000000 states of 10000000000 bytes: got 10,0"):
        StateTable(10**6, 10**10)


def children(of: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{of}/task/{of}/children").read_text().split()]


SCRIPT = """
    from functools import partial
    from jackdaw.search import TreeSearch
    from jackdaw.search.games.hidden import HiddenTree

    with TreeSearch(partial(HiddenTree, 6, 40, 2000), 100000, parallel="processes",
                    processes=2, virtual_loss=0.1, check=False) as search:
        print("ready", flush=True)
        search.act(HiddenTree())
"""


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_after_ctrl_c_no_process_and_no_memory_is_left(sign: signal.Signals) -> None:
    """Nor after the master is killed: its processes see that it is gone."""
    before = set(os.listdir("/dev/shm"))
    master = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert master.stdout is not None and master.stdout.readline() == "ready\n"
    time.sleep(0.3)
    workers = children(master.pid)
    assert len(workers) == 2
    for process in (master.pid, *(workers if sign == signal.SIGINT else [])):
        with suppress(ProcessLookupError):
            os.kill(process, sign)  # a terminal sends Ctrl-C to all of them
    _, text = master.communicate(timeout=30)
    assert sign == signal.SIGKILL or text.splitlines()[-1] == "KeyboardInterrupt"
    end = time.monotonic() + 10
    while any(Path(f"/proc/{w}").exists() and alive(w) for w in workers):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert set(os.listdir("/dev/shm")) <= before


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_processes_of_a_search_end_with_it() -> None:
    before = set(children(os.getpid()))
    with TreeSearch("CartPole-v1", 16, 4, parallel="processes", processes=2, check=False) as search:
        assert len(set(children(os.getpid())) - before) == 2
        env = gymnasium.make("CartPole-v1")
        env.reset(seed=1)
        assert search.act(env) in (0, 1)
    assert not set(children(os.getpid())) - before
