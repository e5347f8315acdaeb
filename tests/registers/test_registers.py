"""The generated register files follow from the descriptions, and the maps obey the layout."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from models.registers import directory, engine_header
from models.registers.map import by_offset

ROOT = Path(__file__).resolve().parents[2]


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("registers", ROOT / "scripts/registers.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["registers"] = module
    spec.loader.exec_module(module)
    return module


def test_registers_generated_files_are_current() -> None:
    stale = load_generator().stale_files()
    assert not stale, f"run scripts/registers.py: {[str(path) for path in stale]}"


def test_registers_stale_file_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = load_generator()
    files = generator.render_all()
    first = next(iter(files))
    monkeypatch.setattr(generator, "render_all", lambda: {first: files[first] + "x"})
    assert generator.stale_files() == [first]


def test_registers_layout_of_header_and_directory() -> None:
    assert engine_header.RING_HEAD.at(3) == 0x0F8
    assert engine_header.STATUS.field("code").get(0x00014500) == 0x45
    assert engine_header.CYCLES_HI.offset == 0x01C
    assert engine_header.Error.E_RESERVED == 70
    assert directory.MAGIC.reset.to_bytes(4, "little") == b"JDKW"
    assert directory.LAYOUT.reset == 0x00010000
    assert directory.ENGINE.at(30) == 0x0B8
    with pytest.raises(IndexError):
        directory.ENGINE.at(31)
    assert 0x060 not in by_offset(engine_header.REGISTERS)
