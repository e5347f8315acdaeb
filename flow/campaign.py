"""Run mutants: each in a forked pytest with the tests most likely to notice it first."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flow import ROOT, process
from flow.design import resolve

GRACE_S = 30.0
BUILT_S = 10.0
# The property of a test that says how long it took.
CPU_S = "cpu_s"
# A campaign reads what its pytest prints and judges by how it ends: options of the user's own
# pytest are not for it.
NO_OPTIONS = {"PYTEST_ADDOPTS": ""}
# What every run imports: the forks share it.
PRELOAD = (
    "numpy", "pytest", "yaml", "fusesoc.fusesoc", "fusesoc.edalizer", "cocotb_tools.runner",
    "cocotb_tools.check_results", "flow.simulate", "flow.library", "flow.regression",
    "verif.coverage",
)  # fmt: skip


class BaselineFailed(RuntimeError):
    """The tests fail without a mutant: nothing can be said of any."""


class Recorder:
    """pytest plugin: writes every test with outcome and CPU seconds into JD_RECORD, as JSON lines.

    Args:
        limits: CPU seconds of a test's simulation, by node ID.
    """

    def __init__(self, limits: Mapping[str, float] | None = None) -> None:
        self.limits = limits or {}
        self.start = 0.0  # CPU seconds of this process before the test

    def pytest_runtest_setup(self, item: Any) -> None:
        if item.nodeid in self.limits:
            os.environ["JD_CPU_S"] = f"{self.limits[item.nodeid]:.0f}"

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Note what the test took, in a property that a worker's report carries to its master."""
        if call.when == "setup":
            self.start = _cpu_s()
        elif call.when == "call":
            item.user_properties.append((CPU_S, _cpu_s() - self.start))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when != "call" and report.passed:
            return
        seconds = dict(report.user_properties).get(CPU_S, report.duration)
        line = {"test": report.nodeid, "outcome": report.outcome, "seconds": seconds}
        with Path(os.environ["JD_RECORD"]).open("a") as handle:
            handle.write(json.dumps(line) + "\n")


def _cpu_s() -> float:
    """CPU seconds of this process and of all children that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _recorded(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@dataclass
class Knowledge:
    """What earlier runs tell about a test: its CPU seconds and which files' faults it finds."""

    seconds: float
    kills: dict[str, int] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)

    def worth(self, file: str) -> float:
        """Chance to find a fault of a file, by the time that it takes."""
        kills = self.kills.get(file, 0) + 0.1 * sum(self.kills.values())
        runs = self.runs.get(file, 0) + 0.1 * sum(self.runs.values())
        return (kills + 1) / (runs + 2) / (self.seconds + 0.3)


@dataclass(frozen=True)
class Outcome:
    """How a mutant ended: `killed` with the test that noticed, `timeout`, or `survived`."""

    status: str
    test: str
    seconds: float


class Campaign:
    """The tests of a folder and what is known of them.

    Args:
        tests: pytest files or node IDs.
        overlay: folder with the instrumented sources (JD_OVERLAY).
        work: folder for logs and records.
        seed: seed of the tests.
        jobs: mutants at a time.
        tier: the tests that judge: `regress`, or `test` for those of `make test` alone.
    """

    def __init__(
        self,
        tests: Sequence[str],
        overlay: Path,
        work: Path,
        seed: int,
        jobs: int,
        tier: str = "regress",
    ) -> None:
        self.tests = list(dict.fromkeys(tests))
        self.overlay, self.work, self.seed, self.jobs = overlay, work, seed, jobs
        self.tier = tier
        self.known: dict[str, Knowledge] = {}
        self.runs = work / "runs"  # not among those of tests that run beside it
        work.mkdir(parents=True, exist_ok=True)

    def _environment(self, mutant: int, record: Path) -> dict[str, str]:
        return {
            **NO_OPTIONS,
            "JD_OVERLAY": str(self.overlay),
            "JD_RUNS": str(self.runs),
            "JD_MUTANT": str(mutant),
            "JD_RECORD": str(record),
            "COCOTB_LOG_LEVEL": "WARNING",
        }

    def _arguments(self, tests: Sequence[str]) -> list[str]:
        return [
            "-q", "--tier", self.tier, "-m", "not goal and not last",
            "-p", "no:cacheprovider", "--seed", str(self.seed), "--rootdir", str(ROOT), *tests,
        ]  # fmt: skip

    def baseline(self, timeout_s: float = 3600) -> None:
        """Build every simulator and see that the tests pass on the copy without a mutant.

        What passed before with the same sources, tests and models is not run again.

        Raises: BaselineFailed.
        """
        record = self.work / f"baseline-{self._digest()}.jsonl"
        if record.exists():
            self._learn(record)
        wanted = self._collect()
        todo = [t for t in wanted if t not in self.known]
        if not wanted:
            raise BaselineFailed(f"{', '.join(self.tests)}: no test")
        if todo:
            self._pass(todo, record, timeout_s)
            # A test's first run may have built its simulator; the order of the tests and the
            # mutants' time limits want the time without.
            built = [t for t in todo if t in self.known and self.known[t].seconds > BUILT_S]
            if built:
                self._pass(built, record, timeout_s)
        self.known = {t: self.known[t] for t in wanted if t in self.known}

    def _pass(self, tests: Sequence[str], record: Path, timeout_s: float) -> None:
        """Run tests without a mutant and learn their times. Raises: BaselineFailed."""
        log = self.work / "baseline.log"
        command = [
            sys.executable, "-m", "pytest", "-p", "flow.campaign_plugin", "-n",
            str(self.jobs), "--dist", "load", *self._arguments(tests),
        ]  # fmt: skip
        env = {**os.environ, **self._environment(0, record)}
        env.pop("JD_SESSION", None)
        with log.open("w") as handle:
            done = subprocess.run(
                command, cwd=ROOT, env=env, stdout=handle, stderr=handle, timeout=timeout_s,
                check=False,
            )  # fmt: skip
        self._learn(record)
        if done.returncode:
            raise BaselineFailed(f"tests fail without a mutant, see {log}")

    def _learn(self, record: Path) -> None:
        for line in _recorded(record):
            if line["outcome"] == "passed":
                self.known[line["test"]] = Knowledge(line["seconds"])

    def _collect(self) -> list[str]:
        """Node IDs of the tests, without those that judge the runs of other tests."""
        command = [sys.executable, "-m", "pytest", "--collect-only", *self._arguments(self.tests)]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **NO_OPTIONS}, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        if done.returncode:
            raise BaselineFailed(f"collection failed: {done.stdout[-2000:]}")
        return [line for line in done.stdout.splitlines() if "::" in line]

    def _digest(self) -> str:
        """Hash of what decides a test's outcome: overlay, tests, environments and models."""
        h = hashlib.sha256(self.overlay.name.encode())
        for top in ("tests", "verif", "models", "host", "rtl"):
            for path in sorted((ROOT / top).rglob("*")):
                if path.suffix in (".py", ".sv", ".svh", ".cpp", ".hpp", ".h", ".vlt"):
                    h.update(path.read_bytes())
        return h.hexdigest()[:12]

    def order(self, file: str, tests: Sequence[str]) -> list[str]:
        """The tests of some pytest files, functions or node IDs, the most promising first."""
        wanted = set(tests)
        own = [t for t in self.known if wanted & {t, t.split("[")[0], t.split("::")[0]}]
        return sorted(own, key=lambda t: -self.known[t].worth(file))

    def run(
        self,
        mutants: Sequence[tuple[int, str, Sequence[str]]],
        report: Callable[[int, Outcome], None],
    ) -> None:
        """Run mutants, `jobs` at a time.

        Args:
            mutants: number, file, and the pytest files that verify it.
            report: called with number and outcome of each mutant that ended.
        """
        for module in PRELOAD:
            importlib.import_module(module)
        pending: Iterator[tuple[int, str, Sequence[str]]] = iter(mutants)
        running: dict[int, tuple[int, str, Path, float]] = {}
        more = True
        while more or running:
            while more and len(running) < self.jobs:
                task = next(pending, None)
                if task is None:
                    more = False
                    break
                number, file, tests = task
                order = self.order(file, tests)
                record = self.work / f"mutant{number}.jsonl"
                limit = GRACE_S + 3 * sum(self.known[t].seconds for t in order)
                running[self._fork(number, order, record)] = (
                    number, file, record, limit,
                )  # fmt: skip
            for pid in list(running):
                number, file, record, limit = running[pid]
                # CPU time: how busy the machine is decides nothing. A wait without an end is found
                # by the run itself.
                spent = process.tree_cpu_s(pid)
                ended, status = os.waitpid(pid, os.WNOHANG)
                if not ended and spent < limit:
                    continue
                if not ended:
                    _kill(pid)
                    os.waitpid(pid, 0)
                del running[pid]
                code = os.waitstatus_to_exitcode(status) if ended else None
                report(number, self._outcome(file, record, code, spent))
            time.sleep(0.1)

    def _outcome(self, file: str, record: Path, code: int | None, spent: float) -> Outcome:
        """Learn from the record of a mutant that ended with an exit code, None for a time-out."""
        failed = ""
        for line in _recorded(record):
            known = self.known.setdefault(line["test"], Knowledge(line["seconds"]))
            known.runs[file] = known.runs.get(file, 0) + 1
            if line["outcome"] == "passed":
                known.seconds = min(known.seconds, line["seconds"])
            elif line["outcome"] == "failed":
                failed = line["test"]
                known.kills[file] = known.kills.get(file, 0) + 1
        if code is None:
            return Outcome("timeout", "", spent)
        if code == 0:
            return Outcome("survived", "", spent)
        if code == 1 and failed:
            return Outcome("killed", failed, spent)
        if code < 0:  # the simulator inside the process crashed
            return Outcome("killed", f"signal {-code}", spent)
        raise BaselineFailed(f"pytest ended with {code}, see {record.with_suffix('.log')}")

    def _fork(self, number: int, tests: Sequence[str], record: Path) -> int:
        record.unlink(missing_ok=True)
        pid = os.fork()
        if pid:
            return pid
        code = 3
        try:
            os.environ.update(self._environment(number, record))
            os.environ.pop("JD_SESSION", None)
            resolve.cache_clear()  # of the original, which the parent may know
            log = os.open(record.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            import pytest

            # A mutant that hangs a simulation is known by the time that its tests take else.
            recorder = Recorder({t: 10 + 3 * self.known[t].seconds for t in tests})
            code = int(pytest.main(["-x", *self._arguments(tests)], plugins=[recorder]))
        finally:
            os._exit(code)


def _kill(pid: int) -> None:
    """Kill a process and all that it started."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    victims = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in victims} - victims
        if not more:
            break
        victims |= more
    for victim in victims:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            continue
