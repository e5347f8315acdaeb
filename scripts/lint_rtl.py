#!/usr/bin/env python3
"""Verilator's -Wall on every core: what `fusesoc run --target=lint CORE` does, in one process.

Starting FuseSoC for each core takes as long as all of Verilator's work; here it is asked for all
file lists at once. The exit code is 1 if a core has a warning.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from flow import ROOT
from flow.configuration import load_config
from flow.configuration import names as configurations
from flow.design import Design, resolve
from flow.manifest import engines
from flow.toolchain import environment

# Verilator takes long for each of these; `--quick` leaves them out. All their modules are in the
# configuration `sparse` too.
LARGE = ("jackdaw:engine:sparse_top", "sparse_full", "sparse_paper", "sparse_train")
NAME = re.compile(r"^name: *(jackdaw:[a-z0-9:_]*):", re.M)


def cores(left_out: tuple[str, ...] = ()) -> list[str]:
    """Every core of hand-written RTL, and the device of every configuration.

    Raises: ValueError if a core or configuration that is to be left out is unknown.
    """
    places = [ROOT / "rtl", *(manifest.folder for manifest in engines().values())]
    found = {path for place in places for path in place.rglob("*.core")}
    texts = [path.read_text() for path in sorted(found)]
    blocks = [name for text in texts if "generators:" not in text for name in NAME.findall(text)]
    names = [*blocks, *configurations()]
    if unknown := sorted({*left_out} - {*names}):
        raise ValueError(f"no core or configuration {', '.join(unknown)}")
    return [_core(name) for name in names if name not in left_out]


def _core(name: str) -> str:
    return load_config(name).core() if name in configurations() else name


def lint(design: Design) -> subprocess.CompletedProcess[str]:
    """Run Verilator over a core's lint target; the exit code is not 0 at a warning."""
    command = [
        "verilator", "--lint-only", "-Wall", "--top-module", design.toplevel,
        *(f"-I{os.path.relpath(path, ROOT)}" for path in design.includes),
        *(f"-G{name}={value}" for name, value in design.parameters.items()),
        *(os.path.relpath(path, ROOT) for path in (*design.waivers, *design.sources)),
    ]  # fmt: skip
    return subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cores", nargs="*", help="names, or configurations; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true", help=f"not {', '.join(LARGE)}")
    options = parser.parse_args()
    names = [*map(_core, options.cores)] or cores(LARGE if options.quick else ())
    designs = [resolve(name, "lint") for name in names]
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, done in zip(names, pool.map(lint, designs), strict=True):
            if done.returncode:
                failed += 1
                print(f"{done.stdout}{done.stderr}\nlint of {name} failed", file=sys.stderr)
    print(f"lint: {len(names) - failed} of {len(names)} cores clean")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
