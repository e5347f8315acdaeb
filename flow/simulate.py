"""Run cocotb tests in a simulator that is built once (flow/simulator.py).

`run` is one test. The regression knows the tests of a session beforehand (`planning`), so that it
can build first, and run several tests of one simulator in one process (`batch`): starting one
costs more than a short test. A test that fails ends its process; those after it get a new one.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from flow import BUILD, ROOT, budget, coverage, pins, process, record
from flow.manifest import engines
from flow.simulator import BuildFailed, Simulator
from flow.toolchain import environment

__all__ = ["BuildFailed", "Request", "SimulationFailed", "batch", "planning", "run"]

CPU_S = 600.0
# Every signal, also below generate loops, which a control file cannot reach: large and slow.
FLAT = ("--public-flat-rw",)


class SimulationFailed(AssertionError):
    """A cocotb test failed, or none ran."""


@dataclass(frozen=True)
class Request:
    """One cocotb test in one simulator.

    Attributes:
        simulator: what it runs in.
        module: Python module with the cocotb tests.
        test: name of exactly one test.
        seed: of cocotb, of random register values and of the test's own generators.
        plusargs: more plusargs.
        environment: more environment variables of the process.
        cpu_s: limit of CPU seconds.
        alone: needs a process of its own.
    """

    simulator: Simulator
    module: str
    test: str
    seed: int = 1
    plusargs: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    cpu_s: float = CPU_S
    alone: bool = False

    @property
    def group(self) -> tuple[object, ...]:
        """Tests of equal groups may run in one process."""
        return (
            self.simulator, self.module, self.seed, self.plusargs, self.environment,
            self.test if self.alone else "",
        )  # fmt: skip


@dataclass
class _Session:
    """What this process knows of the requests that will come."""

    planned: list[Request] | None = None  # being collected
    batches: dict[Request, tuple[Request, ...]] = field(default_factory=dict)
    results: dict[Request, Path | SimulationFailed] = field(default_factory=dict)


_session = _Session()
made: list[Path] = []  # folders of the tests that passed; whoever reads it clears it


@contextmanager
def planning() -> Iterator[list[Request]]:
    """Inside, `run` runs nothing: it only notes what it was asked for."""
    _session.planned = []
    try:
        yield _session.planned
    finally:
        _session.planned = None


def batch(requests: Sequence[Request]) -> None:
    """Announce tests of one group that will all be wanted: they share a process."""
    for request in requests:
        _session.batches[request] = tuple(requests)


def run(
    core: str,
    *,
    toplevel: str,
    module: str,
    test: str,
    parameters: Mapping[str, int] | None = None,
    seed: int = 1,
    sources: Sequence[Path | str] = (),
    plusargs: Sequence[str] = (),
    environment_extra: Mapping[str, str] | None = None,
    build_args: Sequence[str] = (),
    cpu_s: float = CPU_S,
    alone: bool = False,
    waves: bool | None = None,
) -> Path:
    """Build `toplevel` (cached by content) and run cocotb test `test` of Python module `module`.

    cocotb reaches the signals of the toplevel, and those that `public.vlt` beside the module
    names; with `build_args=FLAT` all. If ports of the toplevel are structs of a bus, it is `u_dut`
    in a module with flat pins (flow/pins.py).

    Args:
        core: FuseSoC core that holds the sources.
        toplevel: module to simulate.
        module: Python module with the cocotb tests.
        test: name of exactly one test.
        parameters: parameters of the toplevel; the test finds them in JD_PARAMETERS (JSON).
        seed: seed of cocotb, of random register values and of the test's own generators.
        sources: extra SystemVerilog files (verification wrappers), relative to the root.
        plusargs: more plusargs.
        environment_extra: more environment variables for the test.
        build_args: more Verilator arguments.
        cpu_s: limit of CPU seconds of an ordinary core, more of a slower one; the environment
            variable JD_CPU_S, seconds of this core, lowers it.
        alone: the test needs a process of its own, whoever else uses the simulator.
        waves: write dump.fst; default: the environment variable JD_WAVES.
    The environment variable JD_RUNS names another folder for runs than build/runs.
    Returns: the test's folder (dump.fst, coverage files).
    Raises: SimulationFailed, BuildFailed.
    """
    public = ROOT.joinpath(*module.split(".")[:-1]) / "public.vlt"
    flat = pins.flat(core, toplevel, sources)
    extra = tuple(os.path.relpath(ROOT / source, ROOT) for source in sources)
    simulator = Simulator(
        core,
        flat.toplevel,
        tuple((parameters or {}).items()),
        sources=(*extra, *flat.sources),
        control=(*((os.path.relpath(public, ROOT),) if public.exists() else ()), *flat.control),
        arguments=tuple(build_args),
        waves=bool(os.environ.get("JD_WAVES")) if waves is None else waves,
        toggles=True,
    )
    request = Request(
        simulator, module, test, seed, tuple(plusargs), tuple((environment_extra or {}).items()),
        cpu_s, alone or simulator.waves,
    )  # fmt: skip
    if _session.planned is not None:
        _session.planned.append(request)
        return BUILD
    result = _session.results.pop(request, None)
    while result is None:
        left = [r for r in _session.batches.pop(request, ()) if r not in _session.results]
        _run_process([request, *(r for r in left if r != request)])
        result = _session.results.pop(request, None)
    if isinstance(result, SimulationFailed):
        raise result
    made.append(result)
    return result


def cpu_limit(requests: Sequence[Request]) -> float:
    """CPU seconds of this core that a process of these tests may take; see `run`."""
    limit = sum(request.cpu_s for request in requests) * max(1.0, budget.slower_now())
    return min(limit, float(os.environ.get("JD_CPU_S", limit)))


def _run_process(requests: Sequence[Request]) -> None:
    """Run tests of one group in one process; at least the first has a result then."""
    first = requests[0]
    it, parameters = first.simulator, dict(first.simulator.parameters)
    program = it.build()
    runs = Path(os.environ.get("JD_RUNS", BUILD / "runs"))
    runs.mkdir(parents=True, exist_ok=True)
    names = [request.test for request in requests]
    prefix = f"{first.module.split('.')[-1]}-{first.test}-{first.seed}-"
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=runs))
    for name in names:
        (folder / name).mkdir()
    here = folder / names[0] if len(names) == 1 else folder
    env = _environment(it.toplevel, first.module) | {
        "JD_PARAMETERS": json.dumps(parameters),
        "JD_SEED": str(first.seed),
        "COCOTB_RANDOM_SEED": str(first.seed),
        "COCOTB_TEST_FILTER": rf"(^|\.)({'|'.join(map(re.escape, names))})$",
        "COCOTB_RESULTS_FILE": str(folder / "results.xml"),
        "COCOTB_MAX_FAILURES": "1",  # what a failed test leaves must not decide about the next
        **dict(first.environment),
    }
    command = [
        program, *(["--trace"] if it.waves else []), "+verilator+rand+reset+2",
        f"+verilator+seed+{first.seed}", *first.plusargs,
    ]  # fmt: skip
    limit = cpu_limit(requests)
    done = process.run(command, cwd=here, log=folder / "run.log", env=env, cpu_s=limit)
    record.add("runs", what=str(it), core=it.core, tests=names, cpu=round(done.cpu_s, 2))
    told = _told(folder / "results.xml")
    if told.get(first.test) == "skipped":
        del told[first.test]  # nothing passes by being skipped
    passed = [name for name in names if told.get(name) == ""]
    clean = len(passed) == len(names) and not done.code and not done.limit
    for request in requests:
        if request.test in passed and (clean or len(passed) < len(names)):
            _session.results[request] = folder / request.test
    if clean:
        if coverage.measured(it.core):
            # The counts of a process are kept once; without them, Verilator wrote none: an error.
            (here / "coverage.dat").rename(folder / names[0] / "coverage.dat")
            for name in names:
                coverage.keep(it.core, folder / name, f"{folder.name}-{name}")
        if os.environ.get("JD_SHOW_LOG"):
            print(done.output)
        if it.waves:
            shutil.copy2(here / "dump.fst", BUILD / "last.fst")
        return
    # The first without a pass was running when it ended; those after it did not run.
    failed = next((name for name in names if told.get(name)), None)
    failed = failed or next((name for name in names if name not in passed), names[-1])
    at = next(request for request in requests if request.test == failed)
    tail = "\n".join(done.output.splitlines()[-60:])
    beside = [name for name in names if name != failed]
    _session.results[at] = SimulationFailed(
        f"{failed}: {told.get(failed) or 'no result'}: {first.module} on {it} seed {first.seed}: "
        f"{done.limit or f'exit code {done.code}'}"
        f"{f'; in one process with {beside}' if beside else ''}\n{folder}\n"
        f"{tail or 'The log is empty.'}"
    )


def _told(results: Path) -> dict[str, str]:
    """Test -> what a results file says: nothing if it passed, `skipped`, or why it failed."""
    if not results.exists():
        return {}
    told: dict[str, str] = {}
    try:
        cases = list(ElementTree.parse(results).iter("testcase"))
    except ElementTree.ParseError:
        return {}
    for case in cases:
        bad = [*case.iter("failure"), *case.iter("error")]
        if any(b.get("type") == "RegressionTerminated" for b in bad):
            continue  # it did not run, because one before it failed
        reasons = "; ".join(f"{f.get('type')}: {f.get('message')}" for f in bad)
        skipped = "skipped" if case.find("skipped") is not None else ""
        told[str(case.get("name"))] = (reasons or "failed") if bad else skipped
    return told


def _environment(toplevel: str, module: str) -> dict[str, str]:
    """The environment in which a simulator finds cocotb and the project."""
    libraries, gpi_users = _cocotb()
    own = [engine.python for engine in engines().values() if engine.python is not None]
    env = environment()
    env.update(
        PYTHONPATH=os.pathsep.join(map(str, [ROOT, ROOT / "host", ROOT / "scripts", *own])),
        LD_LIBRARY_PATH=os.pathsep.join([libraries, *filter(None, [env.get("LD_LIBRARY_PATH")])]),
        GPI_USERS=gpi_users,
        PYGPI_PYTHON_BIN=sys.executable,
        TOPLEVEL_LANG="verilog",
        COCOTB_TOPLEVEL=toplevel,
        COCOTB_TEST_MODULES=module,
        COCOTB_TRUST_INERTIAL_WRITES="1",
        GPI_LOG_LEVEL=env.get("GPI_LOG_LEVEL", "WARNING"),
        # pytest rewrites the assertions of the tests and of their environment, and no others.
        COCOTB_REWRITE_ASSERTION_FILES=f"verif/*.py {module.split('.')[0]}/*.py",
        PYTEST_ADDOPTS="--noconftest",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        # Each process reads modules that were compiled: seconds without a cache.
        PYTHONDONTWRITEBYTECODE="",
        PYTHONPYCACHEPREFIX=str(BUILD / "pycache"),
    )
    for name in ("COCOTB_TESTCASE", "COCOTB_RANDOM_TEST_ORDER", "WAVES", "GUI"):
        env.pop(name, None)
    return env


@functools.cache
def _cocotb() -> tuple[str, str]:
    """Folder of cocotb's libraries, and what GPI loads."""
    import find_libpython
    from cocotb_tools import config

    python = find_libpython.find_libpython()
    if python is None:
        raise BuildFailed("this Python has no shared library; cocotb needs one")
    return str(config.libs_dir), ";".join([str(python), config.pygpi_entry_point()])
