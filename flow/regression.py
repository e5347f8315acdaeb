"""The regression's pytest plugin: tiers, builds before tests, batches, limits, skips, the record.

- **Tiers.** `--tier test` leaves out what is marked `regress` or `slow`, `--tier regress` what is
  marked `slow`; `--tier all` leaves out nothing.
- **Builds first.** All simulators are built before the first test, the largest first, one by each
  worker. A test marked `cocotb` does nothing but call `flow.simulate.run`; it is called once while
  tests are collected, to learn what it will simulate. Any other test that opens a simulator has
  marks `builds(f, ...)`: functions of its parameters that open one, called at the same time. A test
  that opens another one is in the record; one that must is marked `unplanned(reason)`.
- **Batches.** With `--batch N` up to N such tests of one simulator share a process, and a worker.
- **Long tests.** A test marked `long` starts first, so that no worker ends with it alone.
- **Goals.** A test marked `goal` judges what the other tests of its file left (fixture `runs`); it
  comes last and waits for them.
- **Limits** are CPU seconds (mark `cpu_limit`), without those of builds. A test that waits without
  using any CPU time is ended, too. No verdict depends on how busy the machine is.
- **Skips** fail, unless tests/skips.yaml lists their reason.
- **Record.** build/record/latest holds a line for each build, simulation and test, from which the
  table at the end is made.
"""

from __future__ import annotations

import argparse
import faulthandler
import fnmatch
import inspect
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml

from flow import BUILD, ROOT, budget, cache, changed, effort, process, record, simulate, write_whole
from flow.manifest import engines
from flow.simulator import Planned, Simulator, planning

CPU_LIMIT_S = 900.0
STALL_S = 600.0
WAIT_S = 3600.0  # of a goal, for workers that are still at its runs
SESSIONS_KEPT = 20
RUNS_KEPT_S = 3 * 24 * 3600.0
SKIPS = ROOT / "tests/skips.yaml"
GROUPS = "groups.json"  # test -> number of the group that stays in one worker
LEFT_OUT = {"test": ("slow", "regress"), "regress": ("slow",), "all": ()}


class OutOfTime(Exception):
    """A test used more CPU time than its limit, or none at all."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("jackdaw")
    group.addoption("--tier", choices=list(LEFT_OUT), default="all", help="how thorough")
    group.addoption("--batch", type=_positive, default=1, help="cocotb tests that share a process")
    group.addoption("--changed", action="store_true", help="leave out what passed as it is")
    group.addoption("--seed", type=int, default=1, help="seed of all random tests")


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: {config.getoption('--seed')} (rerun with --seed N)"


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The run's seed; every random test derives its generators from it."""
    value = int(request.config.getoption("--seed"))
    print(f"seed {value}")
    return value


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"got {text!r}, want a whole number from 1 on")
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    # The same examples each time, however slow the machine.
    hypothesis.settings.register_profile(
        "jackdaw", deadline=None, derandomize=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )  # fmt: skip
    hypothesis.settings.load_profile("jackdaw")
    try:
        effort.effort()
    except effort.EffortError as error:
        raise pytest.UsageError(str(error)) from error
    for line in (
        "slow: long runs, only in `make test-all`",
        "regress: not in `make test`",
        "cocotb: does nothing but simulate",
        "builds(f, ...): opens the simulators that these functions of its parameters open",
        "unplanned(reason): opens simulators that are not built first",
        "long: takes a minute or more without a simulator, so it comes first",
        "goal: judges what the other tests of its file left",
        "last: judges the record of all other tests",
        "cpu_limit(seconds): limit of CPU time",
    ):
        config.addinivalue_line("markers", line)
    mutant = "JD_MUTANT" in os.environ  # a campaign keeps its own record
    if not hasattr(config, "workerinput") and not config.option.collectonly and not mutant:
        outer = record.session()
        top = (outer or BUILD) / "record"  # a run inside a test is a part of that test's
        if outer is None:
            _prune()
        folder = top / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        folder.mkdir(parents=True)
        if outer is None:
            latest = top / "latest"
            latest.unlink(missing_ok=True)
            latest.symlink_to(folder.name)
        config.stash[_SESSION] = os.environ.get("JD_SESSION")
        os.environ["JD_SESSION"] = str(folder)


def _prune() -> None:
    """Forget the records of all but the last sessions, and what old simulations left."""
    sessions = sorted((BUILD / "record").glob("2*"))[:-SESSIONS_KEPT]
    old = time.time() - RUNS_KEPT_S
    runs = [path for path in (BUILD / "runs").glob("*") if path.stat().st_mtime < old]
    for path in (*sessions, *runs):
        shutil.rmtree(path, ignore_errors=True)


_SESSION = pytest.StashKey[str | None]()
_GROUP = pytest.StashKey[int]()
_REQUESTS = pytest.StashKey[list[simulate.Request]]()
_PLAN = pytest.StashKey[Path | None]()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _SESSION in config.stash:
        before = config.stash[_SESSION]
        os.environ.pop("JD_SESSION", None)
        if before is not None:
            os.environ["JD_SESSION"] = before


def requests(item: pytest.Item) -> list[simulate.Request]:
    """What a test marked `cocotb` simulates."""
    if _REQUESTS not in item.stash:
        found: list[simulate.Request] = []
        if item.get_closest_marker("cocotb") and not item.get_closest_marker("goal"):
            given = _parameters(item)
            wanted = item._fixtureinfo.argnames  # type: ignore[attr-defined]
            function = item.function  # type: ignore[attr-defined]
            with simulate.planning() as found:
                try:
                    function(**{name: given[name] for name in wanted})
                except pytest.fail.Exception:  # it wants a simulation that fails
                    found[:] = [replace(request, alone=True) for request in found]
                except AssertionError:  # there is no coverage yet
                    pass
        item.stash[_REQUESTS] = found
    return item.stash[_REQUESTS]


def _parameters(item: pytest.Item) -> dict[str, Any]:
    """A test's parameters, also those of its fixtures, and the seed."""
    callspec = getattr(item, "callspec", None)
    seed = int(item.config.getoption("--seed"))
    return {**(callspec.params if callspec else {}), "seed": seed}


def opens(item: pytest.Item) -> list[Simulator]:
    """What a test opens in its own process, by its marks `builds`.

    A function with a parameter that the test does not have is not for it.
    """
    given, found = _parameters(item), []
    for mark in item.iter_markers("builds"):
        for opener in mark.args:
            names = inspect.signature(opener).parameters.keys()
            if names <= given.keys():
                with planning() as noted, suppress(Planned):
                    opener(**{name: given[name] for name in names})
                found += noted
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tier, put tests in order, and group those that belong together."""
    left_out = LEFT_OUT[config.getoption("--tier")]
    dropped = [item for item in items if any(item.get_closest_marker(m) for m in left_out)]
    kept = [item for item in items if item not in set(dropped)]
    if config.getoption("--changed"):
        kept, unchanged = changed.divide(kept, int(config.getoption("--seed")))
        dropped += unchanged
    config.hook.pytest_deselected(items=dropped)

    groups: dict[object, list[pytest.Item]] = defaultdict(list)
    goals: list[pytest.Item] = []
    last: list[pytest.Item] = []
    for item in kept:
        of = {request.group for request in requests(item)}
        if item.get_closest_marker("last"):
            last.append(item)
        elif item.get_closest_marker("goal"):
            goals.append(item)
        elif len(of) == 1:
            groups[of.pop()].append(item)
        elif of or item.get_closest_marker("long"):
            groups[item.nodeid].append(item)
        else:
            groups[item.path].append(item)
    size = config.getoption("--batch")
    order: list[list[pytest.Item]] = []
    for members in groups.values():
        step = size if requests(members[0]) else len(members)
        order += [members[i : i + step] for i in range(0, len(members), step)]
    order.sort(key=_weight, reverse=True)
    for number, members in enumerate(order):
        for item in members:
            item.stash[_GROUP] = number
    for number, item in enumerate(goals + last):
        item.stash[_GROUP] = -1 - number
    items[:] = [item for members in order for item in members] + goals + last
    if hasattr(config, "workerinput") and (folder := record.session()):
        # Every worker writes the same.
        chosen = {item.nodeid: item.stash[_GROUP] for item in items}
        write_whole(folder / GROUPS, json.dumps(chosen))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadgroup` workers get whole groups, in the order of the tests."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):  # type: ignore[misc]
        """Tests of one group go to one worker; the workers have written the groups down."""

        groups: dict[str, int]

        def _split_scope(self, nodeid: str) -> str:
            if not hasattr(self, "groups"):
                folder = record.session()
                assert folder is not None
                self.groups = json.loads((folder / GROUPS).read_text())
            return str(self.groups[nodeid])

    return Groups(config, log)


def _weight(members: list[pytest.Item]) -> tuple[float, int]:
    """How long tests may take: what they took last on this machine, else long, large ones first."""
    known = changed.seconds()
    mine = [known.get(item.nodeid) for item in members]
    if all(value is not None for value in mine):
        return (sum(value for value in mine if value is not None), 0)
    if any(item.get_closest_marker("long") for item in members):
        return (60.0, 0)
    asked = [request for item in members for request in requests(item)]
    return (30.0 if asked else 15.0, sum(request.simulator.size for request in asked))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Build every simulator of the chosen tests, the largest first."""
    if session.config.option.collectonly:
        return
    batches: dict[object, list[simulate.Request]] = defaultdict(list)
    wanted: dict[Simulator, None] = {}
    for item in session.items:
        asked = requests(item)
        wanted.update(dict.fromkeys(request.simulator for request in asked))
        wanted.update(dict.fromkeys(opens(item)))
        if len({request.group for request in asked}) == 1 and _GROUP in item.stash:
            batches[item.stash[_GROUP]] += asked
    for members in batches.values():
        if not members[0].alone and session.config.getoption("--batch") > 1:
            simulate.batch(list(dict.fromkeys(members)))
    session.config.stash[_PLAN] = record.write_plan(it.name for it in wanted)
    todo = sorted((s for s in wanted if not s.built), key=lambda s: -s.size)
    if todo:
        _build(session.config, todo)


def _build(config: pytest.Config, todo: list[Simulator]) -> None:
    capture = config.pluginmanager.getplugin("capturemanager")

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(text, file=sys.stderr, flush=True)

    def build(number: int, it: Simulator) -> None:
        start = time.monotonic()
        try:
            if not it.built and it.try_build():
                say(f"built {number}/{len(todo)} {it}: {time.monotonic() - start:.1f} s")
        except Exception as error:  # the tests that need it fail, and say so
            say(f"not built: {it}: {str(error).splitlines()[0]}")

    workers = 1 if hasattr(config, "workerinput") else cache.SLOTS
    for it in todo:
        assert it.name  # FuseSoC is not made for threads: every key is known before they start
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(build, range(1, len(todo) + 1), todo))


@pytest.fixture
def runs(request: pytest.FixtureRequest) -> list[Path]:
    """Folders of the simulations of the other tests of this file, once all of them have ended.

    Fails if one of them is not among this session's tests, or failed: then nothing can be said.
    """
    mine = request.node.path
    expected = {
        item.nodeid
        for item in request.session.items
        if item.path == mine and item.get_closest_marker("cocotb") and item is not request.node
    }
    if not expected:
        pytest.fail("no simulation of this file is among the tests: run the whole file")
    lines = _ended_tests(expected)
    failed = sorted(name for name in expected if lines[name]["outcome"] != "passed")
    if failed:
        pytest.fail(f"nothing is known of the goals: failed {failed}")
    return [Path(folder) for name in sorted(expected) for folder in lines[name]["folders"]]


def _ended_tests(expected: set[str]) -> dict[str, dict[str, Any]]:
    """The lines of some tests in the record, once all are there."""
    folder, waited = record.session(), time.monotonic()
    assert folder is not None
    while True:
        lines = {line["test"]: line for line in record.read(folder, "tests")}
        missing = expected - set(lines)
        if not missing:
            return lines
        if time.monotonic() - waited > WAIT_S:
            pytest.fail(f"no end of {sorted(missing)}")
        time.sleep(0.5)


@pytest.fixture
def session_record(request: pytest.FixtureRequest) -> Path:
    """Folder of this session's record, once all tests that come before a test marked `last` ended.

    Needs the mark `last`.
    """
    last = {item.nodeid for item in request.session.items if item.get_closest_marker("last")}
    assert request.node.nodeid in last
    _ended_tests({item.nodeid for item in request.session.items} - last)
    folder = record.session()
    assert folder is not None
    return folder


def regress(*values: object, name: str | None = None) -> Any:
    """A parameter set that is not in `make test`."""
    return pytest.param(*values, marks=pytest.mark.regress, id=name)


def builds(*openers: Callable[..., object]) -> pytest.MarkDecorator:
    """A mark: the test opens the simulators that these functions of its parameters open."""
    return pytest.mark.builds.with_args(*openers)


def keep(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Parameters of a test, of which the first `count` are in `make test`."""
    return [v if i < count else regress(v) for i, v in enumerate(values)]


class _Watch:
    """Ends a test that uses more CPU time than it may, or none for long."""

    def __init__(self) -> None:
        self.limit, self.start, self.reason = 0.0, 0.0, ""
        self.armed = False
        threading.Thread(target=self._look, daemon=True).start()

    def begin(self, limit: float) -> None:
        self.limit, self.reason = limit, ""
        self.start = process.tree_cpu_s(os.getpid()) - record.build_cpu_s
        self.armed = True

    def end(self) -> None:
        self.armed = False

    def _look(self) -> None:
        last, since = 0.0, time.monotonic()
        while True:
            time.sleep(2)
            now = process.tree_cpu_s(os.getpid())
            if not self.armed or now > last + 0.05:
                last, since = now, time.monotonic()
            used = now - record.build_cpu_s - self.start
            if not self.armed or self.reason:
                # It did not stop when it was asked to: a loop in compiled code.
                if self.armed and used > self.limit + 60:
                    faulthandler.dump_traceback(file=sys.__stderr__ or sys.stderr, all_threads=True)
                    os._exit(3)
                continue
            if used > self.limit:
                self.reason = f"no end within {self.limit:.0f} s of CPU time ({used:.0f} s)"
            elif time.monotonic() - since > STALL_S:
                self.reason = f"no CPU time used for {STALL_S:.0f} s"
            if self.reason:
                os.kill(os.getpid(), signal.SIGUSR1)


_watch: _Watch | None = None


def _ended(number: int, frame: object) -> None:
    if _watch is not None and _watch.armed and _watch.reason:
        raise OutOfTime(_watch.reason)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record a test's seconds; it may build, but that does not count."""
    start, used, built = time.monotonic(), process.tree_cpu_s(os.getpid()), record.build_cpu_s
    simulate.made.clear()
    item.stash[_OUTCOME] = "passed"
    plan = item.config.stash.get(_PLAN, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("JD_PLAN", raising=False)
        if plan is not None and item.get_closest_marker("unplanned") is None:
            patch.setenv("JD_PLAN", str(plan))
        yield
    cpu = process.tree_cpu_s(os.getpid()) - used - (record.build_cpu_s - built)
    outcome = item.stash[_OUTCOME]
    record.add(
        "tests", test=item.nodeid, outcome=outcome, wall=round(time.monotonic() - start, 2),
        cpu=round(cpu, 2), folders=[str(folder) for folder in simulate.made],
    )  # fmt: skip
    if record.session() is None:
        return
    budget.measure_speed()
    if outcome == "passed":
        changed.passed(item, int(item.config.getoption("--seed")))


_OUTCOME = pytest.StashKey[str]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    global _watch
    if _watch is None:
        signal.signal(signal.SIGUSR1, _ended)
        _watch = _Watch()
    mark = item.get_closest_marker("cpu_limit")
    _watch.begin(float(mark.args[0]) if mark else CPU_LIMIT_S)
    try:
        yield
    finally:
        _watch.end()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not allowed_skip(item.nodeid, reason):
            report.outcome = "failed"
            report.longrepr = f"{reason}: a skip that {SKIPS.relative_to(ROOT)} does not list"
    if report.outcome != "passed":
        item.stash[_OUTCOME] = report.outcome


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    if report.outcome == "skipped" and not allowed_skip(collector.nodeid, str(report.longrepr)):
        report.outcome = "failed"


def allowed_skip(test: str, reason: str) -> bool:
    """Whether a test may be skipped for a reason."""
    listed = yaml.safe_load(SKIPS.read_text()) or []
    return any(fnmatch.fnmatch(test, s["tests"]) and s["reason"] in reason for s in listed)


def area(test: str) -> str:
    """The folder of a test below `tests`, or the engine whose folder it is in."""
    for engine in engines().values():
        if (ROOT / test.split("::")[0]).resolve().is_relative_to(engine.folder):
            return engine.name
    parts = test.split("/")
    return parts[1] if len(parts) > 2 else ""


def phases(folder: Path) -> dict[str, dict[str, float]]:
    """CPU seconds by area of the tests, then by phase; `sum` is that of an area's phases.

    A build belongs to the area of the core that it is of, Verilator's own objects to `shared`.
    """
    table: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for line in record.read(folder, "builds"):
        of = core_area(line["core"])
        for tool in ("verilator", "compiler"):
            table[of][tool] += line.get(tool, 0.0)
        table[of]["builds"] += 1
    simulated = 0.0
    for line in record.read(folder, "runs"):
        table[core_area(line["core"])]["simulation"] += line["cpu"]
        simulated += line["cpu"]
    for line in record.read(folder, "tests"):
        table[area(line["test"])]["tests"] += 1
        table[area(line["test"])]["python"] += line["cpu"]
    for line in record.read(folder, "runs"):
        table[core_area(line["core"])]["python"] -= line["cpu"]
    for row in table.values():
        row["python"] = max(0.0, row["python"])
        row["sum"] = sum(row[name] for name in ("verilator", "compiler", "simulation", "python"))
    return {name: dict(row) for name, row in table.items()}


def core_area(core: str) -> str:
    """The folder of tests that a core's builds and simulations count for."""
    if not core:
        return "shared"
    kind, name = core.split(":")[1:3]
    if kind == "device":  # of a configuration: its name and a hash
        name = name.rpartition("_")[0]
        return name if name in changed.ENGINES else kind
    for engine in changed.ENGINES:
        if name.startswith(engine):
            return engine
    if name.startswith("device"):
        return "device"
    if name in ("shell", "shell_echo", "memory_bench", "engine"):
        return "shell"
    return {"float": "float"}.get(name, "lib" if kind in ("lib", "verif") else "device")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    folder = record.session()
    if folder is None or hasattr(config, "workerinput") or config.option.collectonly:
        return
    table = phases(folder)
    changed.keep_seconds(folder)
    for what, test in unplanned(folder):
        terminalreporter.line(f"opened, but not built first: {what} by {test}")
    if config.getoption("--changed"):
        terminalreporter.line(f"{_count(folder)} tests were left out: they passed as they are now")
    if not table:
        return
    columns = ("builds", "verilator", "compiler", "tests", "simulation", "python", "sum")
    terminalreporter.section("CPU seconds")
    terminalreporter.line(f"{'':12}" + "".join(f"{name:>12}" for name in columns))
    total: dict[str, float] = defaultdict(float)
    for name, row in sorted(table.items()):
        terminalreporter.line(f"{name:12}" + "".join(f"{row.get(c, 0):12.0f}" for c in columns))
        for column in columns:
            total[column] += row.get(column, 0)
    terminalreporter.line(f"{'all':12}" + "".join(f"{total[c]:12.0f}" for c in columns))
    terminalreporter.line(
        f"This core is {budget.slower(folder):.1f} times slower than an ordinary one."
    )


def unplanned(folder: Path) -> list[tuple[str, str]]:
    """Simulators that tests of a session opened without a mark, each with its test."""
    found = {(line["what"], line["test"]): None for line in record.read(folder, "unplanned")}
    return list(found)


def _count(folder: Path) -> int:
    return max((line["count"] for line in record.read(folder, "left_out")), default=0)
