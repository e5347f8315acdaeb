"""The tool flows behind the scripts and the tests: toolchain, file lists, simulators."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
