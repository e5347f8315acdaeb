"""What the tests of jd_replay_top share."""

from __future__ import annotations

import random

import cocotb
import numpy as np

from models.registers import replay as registers
from models.replay.engine import Flag, Job
from verif import bench
from verif.agents.axi_memory import AxiTiming
from verif.engine_env import EngineTest
from verif.replay.env import OUTPUT, ReplayEnv


class ReplayTest(EngineTest):
    """Environment, clock and reset; a test is its `scenario`."""

    environment = ReplayEnv
    timing = AxiTiming(latency=(4, 20), busy=0.8)

    def build_phase(self) -> None:
        """Make the environment."""
        super().build_phase()
        self.dut = cocotb.top
        self.design = self.dut.u_dut
        self.rng: random.Random = bench.rng(type(self).__name__)

    async def rest(self) -> None:
        """Wait until the engine is idle: then its configuration can be written."""
        await self.env.idle()

    async def clear(self, leaves: int | None = None) -> None:
        """Configure and clear."""
        env = self.env
        leaves = leaves or self.leaves
        await self.rest()
        await env.configure(CFG_N=leaves, CFG_PINIT=1 << min(16, env.config.leaf_w - 1))
        await env.seed(self.rng)
        await env.do(1, Job.CLEAR)

    async def adopt(self) -> None:
        """Take state that a dropped job may have changed from the design into the model."""
        env = self.env
        tree = np.array(await self.leaves_of(range(min(self.leaves, 16))), np.int64)
        rmm = env.golden.rmm
        rmm.tree.set_many(np.arange(len(tree)), tree)
        state = [await env.axil.read(registers.SEED.at(i)) for i in range(8)]
        rmm.generator.load([state[2 * i] | state[2 * i + 1] << 32 for i in range(4)])
        read = env.axil.read
        rmm.pmax = await read(registers.PMAX.offset)
        env.golden.write_register(
            registers.CFG_BETA.offset, await read(registers.CFG_BETA.offset), True
        )
        s = rmm.statistics
        s.samples = await read(registers.N_SAMPLE_LO.offset)
        s.updates = await read(registers.N_UPDATE_LO.offset)
        s.duplicates = await read(registers.DUP.offset)
        s.nonfinite = await read(registers.NONFINITE.offset)

    async def leaves_of(self, which: range) -> list[int]:
        """Leaves as the design has them (they are only read here)."""
        env = self.env
        job = env.descriptor(
            1, Job.RETRIEVE, flags=Flag.MEMORY, count=len(which),
            data=np.array(which, np.uint32),
        )  # fmt: skip
        await env.ended(*await env.send(job))
        raw = env.memory.dump(OUTPUT[1], 16 * len(which))
        env.put(OUTPUT[1], raw)
        await env.clear_status()
        return [int(v) for v in raw.view("<u4")[1::4]]

    @property
    def leaves(self) -> int:
        """N_MAX of the build."""
        return 1 << self.env.config.n_log2

    def pairs(self, count: int, leaves: int | None = None, top: int = 20) -> np.ndarray:
        """[count, 2] uint32 pairs of a leaf and a raw priority."""
        top = min(top, self.env.config.leaf_w)
        data = [
            (self.rng.randrange(leaves or self.leaves), self.rng.getrandbits(top))
            for _ in range(count)
        ]
        return np.array(data, np.uint32)
