"""Tests of jd_learner_top; each runs one sequence under one timing."""

from __future__ import annotations

import pyuvm
from pyuvm import uvm_test

from flow.effort import scale
from verif.agents.axi_memory import AxiTiming
from verif.agents.timing import Pattern, bursts, random_pauses
from verif.bench import rng
from verif.learner import sequences
from verif.learner.env import CLOCK_LIMIT, LearnerEnv

QUICK = AxiTiming(latency=(20, 20))
SLOW = AxiTiming(latency=(1, 120), busy=0.6)


class Base(uvm_test):
    """A test: an environment and a body."""

    timing = QUICK
    limit = CLOCK_LIMIT
    smp: Pattern | None = None
    tde: Pattern | None = None

    def build_phase(self) -> None:
        """Make the environment."""
        self.env = LearnerEnv("env", self, self.timing, self.smp, self.tde)
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
    """One small training run."""

    limit = 12_000

    async def body(self) -> None:
        """See sequences.smoke."""
        await sequences.smoke(self.env)


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class Random(Base):
    """Random programs and jobs, quick memory."""

    async def body(self) -> None:
        """See sequences.random_training."""
        await sequences.random_training(self.env, programs=scale(4, 2), jobs=3)


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class BackPressure(Base):
    """Random programs with a slow memory and slow links."""

    timing = SLOW

    def build_phase(self) -> None:
        """Make the patterns and the environment."""
        self.smp = random_pauses(rng("smp"), busy=0.3, longest=40)
        self.tde = bursts(rng("tde"), on=8, off=200)
        super().build_phase()

    async def body(self) -> None:
        """See sequences.random_training."""
        await sequences.random_training(self.env, programs=scale(3), jobs=3)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class RoundTrip(Base):
    """LOAD and STORE of everything; training resumes to the bit."""

    timing = SLOW

    async def body(self) -> None:
        """See sequences.round_trip."""
        await sequences.round_trip(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BadDescriptor(Base):
    """Every error of a job's check and of a program's."""

    async def body(self) -> None:
        """See sequences.refused."""
        await sequences.refused(self.env, programs=scale(60, 12))


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BusError(Base):
    """SLVERR and DECERR for each kind of access."""

    async def body(self) -> None:
        """See sequences.bus_errors."""
        await sequences.bus_errors(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BadData(Base):
    """Records and indices that drop a step."""

    async def body(self) -> None:
        """See sequences.bad_data."""
        await sequences.bad_data(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BadStream(Base):
    """An index stream that breaks its rules, and one that never comes."""

    async def body(self) -> None:
        """See sequences.bad_stream, words_behind_an_error and no_stream."""
        await sequences.bad_stream(self.env)
        await sequences.words_behind_an_error(self.env)
        await sequences.no_stream(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Infer(Base):
    """Forward passes, quick memory; failing memory, resets."""

    async def body(self) -> None:
        """See sequences.infer, infer_errors and infer_resets."""
        await sequences.infer(self.env)
        await sequences.infer_errors(self.env)
        await sequences.infer_resets(self.env, times=scale(6, 2))


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class InferSlow(Base):
    """Forward passes with a slow memory."""

    timing = SLOW

    async def body(self) -> None:
        """See sequences.infer and infer_resets."""
        await sequences.infer(self.env)
        await sequences.infer_resets(self.env, times=scale(6, 2))


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Gradients(Base):
    """Steps by GRADS and APPLY, quick memory; errors and resets."""

    async def body(self) -> None:
        """See sequences.gradients and gradients_errors."""
        await sequences.gradients(self.env)
        await sequences.gradients_errors(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class GradientsSlow(Base):
    """Steps by GRADS and APPLY with a slow memory and slow links."""

    timing = SLOW

    def build_phase(self) -> None:
        """Make the patterns and the environment."""
        self.smp = random_pauses(rng("smp"), busy=0.3, longest=40)
        self.tde = bursts(rng("tde"), on=8, off=200)
        super().build_phase()

    async def body(self) -> None:
        """See sequences.gradients and gradients_errors."""
        await sequences.gradients(self.env)
        await sequences.gradients_errors(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class ResetMidway(Base):
    """Soft resets during TRAIN."""

    timing = SLOW

    async def body(self) -> None:
        """See sequences.reset_midway."""
        await sequences.reset_midway(self.env, times=scale(8, 3))


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class HardReset(Base):
    """Hard resets of the running engine."""

    timing = SLOW

    async def body(self) -> None:
        """See sequences.hard_reset."""
        await sequences.hard_reset(self.env, times=scale(12, 8))


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Networks(Base):
    """Several networks, and jobs that wait for each other."""

    async def body(self) -> None:
        """See sequences.networks, together, counters and patient."""
        await sequences.networks(self.env)
        await sequences.together(self.env)
        await sequences.counters(self.env)
        await sequences.patient(self.env)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Timeouts(Base):
    """The watchdog, with a memory that answers later."""

    timing = AxiTiming(latency=(400, 600))

    async def body(self) -> None:
        """See sequences.timeouts."""
        await sequences.timeouts(self.env)


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class ActorCritic(Base):
    """DDPG and TD3, quick memory."""

    async def body(self) -> None:
        """See sequences.actor_critic and actor_critic_errors."""
        await sequences.actor_critic(self.env)
        await sequences.actor_critic_errors(self.env)


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class ActorCriticSlow(Base):
    """DDPG and TD3 with a slow memory and slow links; soft resets."""

    timing = SLOW

    def build_phase(self) -> None:
        """Make the patterns and the environment."""
        self.smp = random_pauses(rng("smp"), busy=0.3, longest=40)
        self.tde = bursts(rng("tde"), on=8, off=200)
        super().build_phase()

    async def body(self) -> None:
        """See sequences.actor_critic and actor_critic_resets."""
        await sequences.actor_critic(self.env)
        await sequences.actor_critic_resets(self.env, times=scale(3))
