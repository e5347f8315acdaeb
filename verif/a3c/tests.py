"""Tests of jd_a3c_top; each runs one sequence under one timing."""

from __future__ import annotations

import pyuvm

from flow.effort import scale
from verif.a3c import sequences
from verif.a3c.env import A3cEnv
from verif.agents.axi_memory import AxiTiming
from verif.engine_env import EngineTest
from verif.failures import all_failures

QUICK = AxiTiming(latency=(10, 10))
PATIENCE = 300_000  # clocks, for a slow memory
SLOW = AxiTiming(latency=(1, 120), busy=0.6)


class Base(EngineTest):
    """The usual environment and memory."""

    environment = A3cEnv
    timing = QUICK


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Smoke(Base):
    """A task of every kind, alone."""

    sequences = (sequences.Smoke(),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Random(Base):
    """Random tasks side by side, quick memory; every size of a batch."""

    sequences = (sequences.RandomTasks(batches=scale(4), size=8, samples=3),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Layouts(Base):
    """Random tasks in every layout of the parameters."""

    sequences = (sequences.Layouts(batches=scale(2)),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Samples(Base):
    """Every size of a batch."""

    sequences = (sequences.AllSamples(),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BackPressure(Base):
    """Random tasks with a slow memory."""

    timing = SLOW
    limit = PATIENCE
    sequences = (sequences.RandomTasks(batches=scale(2), size=scale(8, 4), samples=2),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Tickets(Base):
    """Updates of the same parameters by several units, copies in their order."""

    timing = SLOW
    limit = PATIENCE
    sequences = (sequences.Tickets(rounds=scale(4)), sequences.Many())


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Roles(Base):
    """Roles of units; registers while tasks run."""

    sequences = (sequences.Roles(), sequences.RegistersWhileBusy())


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BadDescriptor(Base):
    """Every error of a task and of a network."""

    sequences = (sequences.Refused(count=scale(60)),)


@pyuvm.test(timeout_time=80, timeout_unit="ms")
class BusError(Base):
    """SLVERR and DECERR for each kind of access."""

    sequences = (sequences.BusErrors(),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class ResetMidway(Base):
    """Soft resets of the busy engine and of the idle one."""

    timing = SLOW
    limit = PATIENCE
    sequences = (sequences.ResetMidway(times=scale(8, 2), clocks=3000), sequences.SoftResetOfIdle())


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class HardReset(Base):
    """Hard resets of the busy engine."""

    timing = SLOW
    limit = PATIENCE
    sequences = (sequences.HardResets(times=scale(4), clocks=2000),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Timeouts(Base):
    """The watchdog, with a memory that answers later."""

    timing = AxiTiming(latency=(300, 500))
    sequences = (sequences.Timeouts(),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Failures(Base):
    """Arrays at the end of memory, and a memory that fails or does not answer."""

    sequences = all_failures(sequences.cases)
