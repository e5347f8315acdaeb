"""List the devices: backends, build configurations with their engines, and the tools for `sim`."""

from __future__ import annotations

import argparse

from flow.configuration import load_config, names
from flow.toolchain import ToolMissing, compiler_folder, verilator_version


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line: no arguments."""


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Print the lists."""
    print(f"sim    simulated hardware: {tools()}")
    print("model  golden models: ready")
    print("\nconfiguration  engines, memory")
    for name in names():
        config = load_config(name)
        engines = ", ".join(
            i.name if i.name == i.engine.name else f"{i.name} ({i.engine.name})"
            for i in config.instances
        )
        print(f"{name:13}  {engines}; {config.memory_bytes >> 20} MiB")
    return 0


def tools() -> str:
    """What builds simulators, or what is missing."""
    try:
        compiler = "ziglang" if compiler_folder() else "g++"
        return f"ready, Verilator {verilator_version()} and {compiler}"
    except ToolMissing as error:
        return str(error)
