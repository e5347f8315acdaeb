"""The shell: links, pages, directory, interrupts, shared memory ports, and the device's top."""

from __future__ import annotations

import pytest

from flow import simulate
from flow.regression import regress
from verif.coverage import require

pytestmark = pytest.mark.cocotb

MODULE = "verif.shell.tests"


@pytest.mark.parametrize("test", ["LinkRandom", "LinkClear", "LinkRate"])
@pytest.mark.parametrize("depth", [3, regress(16)])
def test_link(test: str, depth: int, seed: int) -> None:
    simulate.run(
        "jackdaw:shell:shell",
        toplevel="jd_shell_link",
        module=MODULE,
        test=test,
        parameters={"Depth": depth},
        seed=seed,
    )


@pytest.mark.parametrize("test", ["Pages", "Directory"])
def test_shell_echo(test: str, seed: int) -> None:
    simulate.run(
        "jackdaw:verif:shell_echo", toplevel="jd_shell_echo", module=MODULE, test=test, seed=seed
    )


def test_shell_memory_traffic(seed: int) -> None:
    simulate.run(
        "jackdaw:verif:memory_bench", toplevel="jd_memory_bench", module=MODULE, test="Traffic",
        seed=seed,
    )  # fmt: skip


def test_shell_memory_shared(seed: int) -> None:
    folders = [
        simulate.run(
            "jackdaw:verif:shell_echo",
            toplevel="jd_shell_echo",
            module=MODULE,
            test="MemoryShared",
            seed=seed + turn,
        )
        for turn in range(2)
    ]
    require(folders)
