"""Tests of jd_a3c_top; each runs one sequence under one timing."""

from __future__ import annotations

import pyuvm
from pyuvm import uvm_test

from flow.effort import scale
from verif.a3c import sequences
from verif.a3c.env import CLOCK_LIMIT, A3cEnv
from verif.agents.axi_memory import AxiTiming

QUICK = AxiTiming(latency=(10, 10))
PATIENCE = 300_000  # clocks, for a slow memory
SLOW = AxiTiming(latency=(1, 120), busy=0.6)


class Base(uvm_test):
    """A test: an environment and a body."""

    timing = QUICK
    limit = CLOCK_LIMIT

    def build_phase(self) -> None:
        """Make the environment."""
        self.env = A3cEnv("env", self, self.timing)
        self.env.limit = self.limit

    async def run_phase(self) -> None:
        """Reset, then the body."""
        self.raise_objection()
        await self.env.start()
        await self.body()
        self.drop_objection()

    async def body(self) -> None:
        """What the test does."""
        raise NotImplementedError


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Smoke(Base):
    """A task of every kind, alone."""

    async def body(self) -> None:
        """See sequences.smoke."""
        await sequences.smoke(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Random(Base):
    """Random tasks side by side, quick memory; every size of a batch."""

    async def body(self) -> None:
        """See sequences.random_tasks and all_samples."""
        await sequences.random_tasks(self.env, batches=scale(4), size=8, samples=3)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Layouts(Base):
    """Random tasks in every layout of the parameters."""

    async def body(self) -> None:
        """See sequences.layouts."""
        await sequences.layouts(self.env, batches=scale(2))


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Samples(Base):
    """Every size of a batch."""

    async def body(self) -> None:
        """See sequences.all_samples."""
        await sequences.all_samples(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BackPressure(Base):
    """Random tasks with a slow memory."""

    timing = SLOW
    limit = PATIENCE

    async def body(self) -> None:
        """See sequences.random_tasks."""
        await sequences.random_tasks(self.env, batches=scale(2), size=scale(8, 4), samples=2)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Tickets(Base):
    """Updates of the same parameters by several units, copies in their order."""

    timing = SLOW
    limit = PATIENCE

    async def body(self) -> None:
        """See sequences.tickets and many."""
        await sequences.tickets(self.env, rounds=scale(4, 2))
        await sequences.many(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Roles(Base):
    """Roles of units; registers while tasks run."""

    async def body(self) -> None:
        """See sequences.roles and registers_while_busy."""
        await sequences.roles(self.env)
        await sequences.registers_while_busy(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BadDescriptor(Base):
    """Every error of a task and of a network."""

    async def body(self) -> None:
        """See sequences.refused."""
        await sequences.refused(self.env, count=scale(60, 12))


@pyuvm.test(timeout_time=80, timeout_unit="ms")
class BusError(Base):
    """SLVERR and DECERR for each kind of access."""

    async def body(self) -> None:
        """See sequences.bus_errors."""
        await sequences.bus_errors(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class ResetMidway(Base):
    """Soft resets of the busy engine and of the idle one."""

    timing = SLOW
    limit = PATIENCE

    async def body(self) -> None:
        """See sequences.reset_midway and soft_reset_of_idle."""
        await sequences.reset_midway(self.env, times=scale(8, 2), clocks=3000)
        await sequences.soft_reset_of_idle(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class HardReset(Base):
    """Hard resets of the busy engine."""

    timing = SLOW
    limit = PATIENCE

    async def body(self) -> None:
        """See sequences.hard_resets."""
        await sequences.hard_resets(self.env, times=scale(4, 2), clocks=2000)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Timeouts(Base):
    """The watchdog, with a memory that answers later."""

    timing = AxiTiming(latency=(600, 900))

    async def body(self) -> None:
        """See sequences.timeouts."""
        await sequences.timeouts(self.env)
