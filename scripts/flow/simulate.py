"""Build a cocotb simulation once for each configuration and run one test in it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from flow import BUILD, ROOT, coverage
from flow.design import Design, resolve
from flow.toolchain import compile_slot, environment, locked, verilator_version

BUILD_ARGS = (
    "--assert",
    "-Wall",
    "--x-assign",
    "unique",
    "--x-initial",
    "unique",
    "--build-jobs",
    "1",
)
# The runner keeps its state in the process and has no time-out: a child process runs it.
RUNNER = """
import json, sys
from cocotb_tools.runner import get_runner
get_runner("verilator").test(**json.loads(sys.argv[1]))
"""


class SimulationFailed(AssertionError):
    """A cocotb test failed, or none ran."""


def _reasons(results: Path) -> str:
    """What a results file says of the tests that failed."""
    if not results.exists():
        return "no results"
    failures = ElementTree.parse(results).iter("failure")
    return "; ".join(f"{f.get('type')}: {f.get('message')}" for f in failures) or "no failure told"


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
    timeout_s: float = 600.0,
    waves: bool | None = None,
) -> Path:
    """Build `toplevel` (cached by content) and run cocotb test `test` of Python module `module`.

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
        timeout_s: wall-clock limit (seconds) of the run; the environment variable JD_TIMEOUT_S
            lowers it.
        waves: write dump.fst; default: the environment variable JD_WAVES.
    The environment variable JD_RUNS names another folder for runs than build/runs.
    Returns: the run's folder (results.xml, dump.fst, coverage files).
    Raises: SimulationFailed.
    """
    from cocotb_tools.check_results import get_results

    design = resolve(core)
    parameters = dict(parameters or {})
    waves = bool(os.environ.get("JD_WAVES")) if waves is None else waves
    build = _build(
        design,
        toplevel,
        parameters,
        [ROOT / s for s in sources],
        [*build_args, *coverage.verilator_arguments(core, toggles=True)],
        waves,
    )
    runs = Path(os.environ.get("JD_RUNS", BUILD / "runs"))
    runs.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{module.split('.')[-1]}-{test}-{seed}-", dir=runs))
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "host"), str(ROOT / "scripts")])
    env["JD_PARAMETERS"] = json.dumps(parameters)
    env["JD_SEED"] = str(seed)
    env.update(environment_extra or {})
    arguments = {
        "test_module": module,
        "hdl_toplevel": toplevel,
        "hdl_toplevel_lang": "verilog",
        "build_dir": str(build),
        "test_dir": str(folder),
        "seed": seed,
        "results_xml": str(folder / "results.xml"),
        "test_filter": rf"(^|\.){test}$",
        "plusargs": ["+verilator+rand+reset+2", f"+verilator+seed+{seed}", *plusargs],
        "timescale": ("1ns", "1ps"),
        "waves": waves,
        "log_file": str(folder / "run.log"),
    }
    command = [sys.executable, "-c", RUNNER, json.dumps(arguments)]
    child = subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    timeout_s = min(timeout_s, float(os.environ.get("JD_TIMEOUT_S", timeout_s)))
    try:
        output, _ = child.communicate(timeout=timeout_s)
        failure = output[-2000:] if child.returncode else ""
    except subprocess.TimeoutExpired:
        failure = f"no end within {timeout_s} s"
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    results = folder / "results.xml"
    count, bad = get_results(results) if results.exists() else (0, 1)
    log = (folder / "run.log").read_text(errors="replace") if (folder / "run.log").exists() else ""
    if not count or bad or failure:
        tail = "\n".join(log.splitlines()[-60:])
        raise SimulationFailed(
            f"{test}: {_reasons(results)}: {module} on {toplevel} {parameters} seed {seed}: "
            f"{count} ran, {bad} failed {failure}\n{folder}\n{tail or 'The log is empty.'}"
        )
    coverage.keep(core, folder)
    if os.environ.get("JD_SHOW_LOG"):
        print(log)
    if waves:
        shutil.copy2(folder / "dump.fst", BUILD / "last.fst")
    return folder


def _build(
    design: Design,
    toplevel: str,
    parameters: dict[str, int],
    sources: list[Path],
    build_args: list[str],
    waves: bool,
) -> Path:
    from cocotb_tools.runner import get_runner

    args = [*BUILD_ARGS, *build_args, *(["--trace-fst"] if waves else [])]
    args += [str(f) for f in design.compiled] + (["-Wno-fatal"] if design.compiled else [])
    texts = [s.read_text() for s in sources]
    digest = design.digest(toplevel, sorted(parameters.items()), texts, args, verilator_version())
    build = BUILD / "sim" / f"{toplevel}-{digest}"
    with locked(BUILD / "sim" / f"{toplevel}-{digest}.lock"):
        if (build / "done").exists():
            return build
        shutil.rmtree(build, ignore_errors=True)
        saved, saved_env = Path.cwd(), dict(os.environ)
        try:
            os.environ.update(environment())
            os.environ["MAKEFLAGS"] = "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1"
            with compile_slot():
                get_runner("verilator").build(
                    sources=[*design.waivers, *design.sources, *sources],
                    includes=list(design.includes),
                    parameters=parameters,
                    hdl_toplevel=toplevel,
                    build_dir=build,
                    build_args=args,
                    always=True,
                    timescale=("1ns", "1ps"),
                    waves=waves,
                    log_file=str(build.with_suffix(".log")),
                )
        except (Exception, SystemExit) as error:
            log = build.with_suffix(".log")
            tail = log.read_text(errors="replace")[-6000:] if log.exists() else ""
            raise SimulationFailed(f"build of {toplevel} {parameters}: {error}\n{tail}") from error
        finally:
            os.chdir(saved)
            os.environ.clear()
            os.environ.update(saved_env)
        # What only the compiler needed is most of the size.
        for pattern in ("*.gch", "*.o", "*.a"):
            for path in build.glob(pattern):
                path.unlink()
        (build / "done").touch()
    return build
