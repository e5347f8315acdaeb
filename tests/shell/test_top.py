"""The device's top with its engines, in the small configuration."""

from __future__ import annotations

import pytest

from flow import simulate
from flow.configuration import load_config

pytestmark = pytest.mark.cocotb


@pytest.mark.parametrize("test", ["Present", "LinkFlush"])
def test_top(test: str, seed: int) -> None:
    small = load_config("small")
    simulate.run(
        small.core(), toplevel=small.toplevel, module="verif.shell.top_tests", test=test, seed=seed
    )
