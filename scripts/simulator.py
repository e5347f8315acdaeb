"""Build the in-process simulator of a configuration and measure its speed.

    scripts/simulator.py demo

Prints how long each build took and the simulated clocks per second of an idle device, with and
without assertions.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "host"), str(ROOT / "scripts")]

from flow.configuration import load_config  # noqa: E402
from jackdaw.device.sim import SimDevice, build_library  # noqa: E402

Result = TypeVar("Result")


def with_progress(label: str, work: Callable[[], Result]) -> Result:
    """Run work, and show the seconds it takes on one line that is rewritten on a terminal."""
    done = threading.Event()
    began = time.monotonic()

    def show() -> None:
        while not done.wait(1.0):
            if sys.stdout.isatty():
                print(f"\r{label} ... {time.monotonic() - began:.0f} s", end="", flush=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        return work()
    finally:
        done.set()
        thread.join()
        start = "\r" if sys.stdout.isatty() else ""
        print(f"{start}{label}: {time.monotonic() - began:.1f} s", flush=True)


def clocks_per_second(device: SimDevice, seconds: float) -> float:
    """Step the idle device for about so many seconds."""
    began, before, chunk = time.perf_counter(), device.clock, 2000
    while time.perf_counter() - began < seconds:
        device.step(chunk)
    return (device.clock - before) / (time.perf_counter() - began)


def main() -> int:
    """Build, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("config", nargs="?", default="demo", help="name in configs/, or a file")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of each measurement")
    parser.add_argument("--build-only", action="store_true", help="measure nothing")
    options = parser.parse_args()
    config = load_config(options.config)
    for assertions in (True, False):
        kind = "with assertions" if assertions else "without assertions"
        with_progress(
            f"{config.name}, build {kind}",
            lambda on=assertions: build_library(config, assertions=on),  # type: ignore[misc]
        )
        if options.build_only:
            continue
        with SimDevice(config, assertions=assertions) as device:
            speed = clocks_per_second(device, options.seconds)
        print(f"{config.name}, idle {kind}: {speed / 1e3:.0f} thousand clocks a second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
