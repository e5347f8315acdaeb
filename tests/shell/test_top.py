"""The device's top with its engines, in the small configuration."""

from __future__ import annotations

import json

import pytest

from flow import ROOT, simulate

pytestmark = pytest.mark.cocotb


@pytest.mark.parametrize("test", ["Present", "LinkFlush"])
def test_top(test: str, seed: int) -> None:
    small = json.loads((ROOT / "configs/small.json").read_text())
    simulate.run(
        "jackdaw:jackdaw:accelerator",
        toplevel="jd_top",
        module="verif.shell.top_tests",
        test=test,
        parameters={**small, "BuildHash": 0x9ABCDEF0},
        seed=seed,
    )
