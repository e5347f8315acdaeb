"""Begin an engine: a copy of the smallest one that has everything, under a new name."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from flow import INSTALLED, ROOT
from flow.manifest import ELSEWHERE, NAME, by_id, known
from jackdaw.errors import ConfigError

EXAMPLES = "examples"
PREFIX = "engine_"
PAGE = "docs/new-engine.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("name", help="lower-case letters and digits, e.g. filter")
    parser.add_argument("--id", help="four characters of its ID word; default from the name")
    parser.add_argument("--out", type=Path, help="its folder; default ./engine_NAME")


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Copy, rename and generate the registers. Raises: ConfigError."""
    if INSTALLED:
        raise ConfigError(
            "the tools that make an engine's registers and test it are not part of the package: "
            "run this in a clone"
        )
    folder = (options.out or Path(f"engine_{options.name}")).resolve()
    word = options.id or options.name.upper().ljust(4, "_")[:4]
    check(options.name, word, folder)
    (example,) = (ROOT / EXAMPLES).glob(f"{PREFIX}*/")
    copy(example, folder, options.name, word)
    env = os.environ | {ELSEWHERE: str(folder)}
    command = [sys.executable, str(ROOT / "scripts/registers.py")]
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
    print(f"{folder} computes y = a x + b, as the example does. Now:")
    print(f"  export {ELSEWHERE}={folder}")
    print(f"  cd {ROOT}")
    print(f"  {sys.executable} -m pytest -q -c pyproject.toml -p conftest {folder / 'tests'}")
    print(f"{ROOT / PAGE} goes through its files.")
    return 0


def check(name: str, word: str, folder: Path) -> None:
    """Refuse names that are not free. Raises: ConfigError."""
    if not NAME.fullmatch(name) or name in known():
        raise ConfigError(f"engine {name!r}: want a new name of lower-case letters and digits")
    if not re.fullmatch(r"[\x21-\x7e]{4}", word):
        raise ConfigError(f"--id {word!r}: want four printable characters")
    if int.from_bytes(word.encode(), "little") in by_id():
        raise ConfigError(f"--id {word}: another engine has it")
    if folder.exists():
        raise ConfigError(f"{folder} is there already")


def copy(example: Path, folder: Path, name: str, word: str) -> None:
    """Copy the example under another name, without what is generated.

    Args:
        example: its folder.
        folder: of the new engine.
        name: of the new engine.
        word: four characters of its ID word.
    """
    old = example.name.removeprefix(PREFIX)
    shutil.copytree(example, folder, ignore=shutil.ignore_patterns("generated", "__pycache__"))
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file():
            text = re.sub(
                r'engine_id = "\S{4}"', lambda _: f'engine_id = "{word}"', path.read_text()
            )
            for before, after in (
                ("jd_", ""), (PREFIX, ""), ("example:", ""), ("test_", ""), ("engine: ", ""),
                ('"', '"'), ("", "_error"),
            ):  # fmt: skip
                text = text.replace(f"{before}{old}{after}", f"{before}{name}{after}")
            text = text.replace(f"{old.capitalize()}Bus", f"{name.capitalize()}Bus")
            path.write_text(text)
        if old in path.name:
            path.rename(path.with_name(path.name.replace(old, name)))
