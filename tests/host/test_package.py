"""The package that pip installs: nothing of it is found in the repository, and it trains."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from flow import ROOT, toolchain
from flow.package import TREE, contents, manifest, renamed, stage

BUFFER = f"""
import sys
missing = ("yaml", "gymnasium", "torch", "matplotlib")  # numba takes yaml if it is there
sys.modules |= dict.fromkeys(missing)
import numpy as np
from jackdaw.device import open_device
from jackdaw.replay_buffer import PrioritizedReplayBuffer

device = open_device("model", "demo")
buffer = PrioritizedReplayBuffer(100, {{"state": {{"shape": 4}}}}, alpha=0.6, device=device)
buffer.add(state=np.ones((10, 4)))
assert buffer.sample(8)["state"].shape == (8, 4)
files = [str(m.__file__) for m in sys.modules.values() if getattr(m, "__file__", None)]
assert not [f for f in files if f.startswith({str(ROOT / "host")!r})], files
names = {{name.partition(".")[0] for name in sys.modules}}
assert not names & {{"flow", "models"}}, names
"""


def call(python: Path | str, *words: str, cwd: Path, **env: str) -> str:
    """Run Python in a folder; returns what it printed."""
    done = subprocess.run(
        [str(python), *words], cwd=cwd, env={**os.environ, **env}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_wheel_has_one_name_and_all_that_it_needs(tmp_path: Path) -> None:
    """The replay buffer on the models runs from the staged files, with NumPy and Numba alone."""
    stage(ROOT, tmp_path / "site" / "jackdaw")
    empty = tmp_path / "empty"
    empty.mkdir()
    call(sys.executable, "-c", BUFFER, cwd=empty, PYTHONPATH=str(tmp_path / "site"))
    names = {name for _, name in contents(ROOT)}
    assert {"py.typed", "_tree/rtl/shell/shell.core", "_tree/configs/demo.json"} <= names
    assert not [name for name in names if name.startswith(("_tree/tests", "_tree/verif"))]


def test_imports_get_the_names_of_a_wheel() -> None:
    text = "from flow import ROOT\nfrom models.a.b import c\n    import models.d as d\n"
    assert renamed(text) == (
        f"from {TREE}.flow import ROOT\nfrom {TREE}.models.a.b import c\n"
        f"    import {TREE}.models.d as d\n"
    )
    same = "from flowers import a\nfrom jackdaw import flow\n"
    assert renamed(same) == same
    with pytest.raises(ValueError, match="from models import"):
        renamed("import models.a\n")


def test_a_manifest_needs_no_yaml_in_a_wheel() -> None:
    made = json.loads(manifest((ROOT / "rtl/replay/engine.yaml").read_text()))
    assert made["registers"] == f"{TREE}.models.registers.replay"
    assert made["driver"] == "jackdaw.drivers.replay:Replay"


def test_a_missing_compiler_has_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    toolchain.compiler_folder.cache_clear()
    with pytest.raises(toolchain.ToolMissing, match=r"install g\+\+ .* or pip install ziglang"):
        toolchain.compiler_folder()
    toolchain.compiler_folder.cache_clear()


def test_zig_stands_in_for_a_missing_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its words are those of g++, without the two that its linker does not know."""
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(toolchain, "find_spec", lambda name: name)
    monkeypatch.setattr(toolchain, "BUILD", tmp_path)
    echo = tmp_path / "python"
    echo.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    echo.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(echo))
    toolchain.compiler_folder.cache_clear()
    folder = toolchain.compiler_folder()
    toolchain.compiler_folder.cache_clear()
    assert folder is not None
    given = ["-shared", "a b.o", "-latomic", "-Wl,-Bsymbolic-functions", "-o", "x.so"]
    out = subprocess.run([folder / "g++", *given], capture_output=True, text=True, check=True)
    words = out.stdout.splitlines()
    assert words[:3] == ["-m", "ziglang", "c++"] and words[-4:] == [
        "-shared",
        "a b.o",
        "-o",
        "x.so",
    ]


@pytest.mark.regress
@pytest.mark.unplanned("the installed wheel builds in its own cache")
@pytest.mark.parametrize("extras", ["train,sim", "train,sim,compiler"])
def test_an_installed_wheel_trains(tmp_path: Path, extras: str) -> None:
    """In a clean environment and an empty folder, on `model` and `sim`; with zig without g++."""
    call(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT),
         cwd=tmp_path)  # fmt: skip
    (wheel,) = tmp_path.glob("jackdaw-*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    binaries = tmp_path / "venv" / "bin"
    call(binaries / "python", "-m", "pip", "install", "-q", f"{wheel}[{extras}]", cwd=tmp_path)
    path = os.environ["PATH"]
    if "compiler" in extras:
        bare = tmp_path / "bare"
        bare.mkdir()
        for name in ("sh", "dirname"):
            (bare / name).symlink_to(f"/bin/{name}" if name == "sh" else f"/usr/bin/{name}")
        path = str(bare)
    empty = tmp_path / "empty"
    empty.mkdir()
    for device in ("model", "sim"):
        out = call(
            binaries / "jackdaw", "train", "dqn", "CartPole-v1", "--device", device, "--steps", "5",
            "--set", "warm=64", "--set", "threshold=0", "--set", "evaluate_every=5",
            "--out", str(empty / device), cwd=empty, PATH=path, JD_OPTIMIZE="-Og",
            JACKDAW_CACHE=str(tmp_path / "cache"),
        )  # fmt: skip
        assert "mean_return" in out
    summaries = [json.loads((empty / d / "summary.json").read_text()) for d in ("model", "sim")]
    assert summaries[0]["mean_return"] == summaries[1]["mean_return"]
    assert [path.name for path in sorted(empty.iterdir())] == ["model", "sim"]
    packages = {path.name for path in binaries.parent.glob("lib/python*/site-packages/*")}
    assert "jackdaw" in packages and not packages & {"models", "flow", "scripts", "tests", "rtl"}
