"""Tests of jd_learner_top; each runs one sequence under one timing."""

from __future__ import annotations

import pyuvm

from flow.effort import scale
from verif.agents.axi_memory import AxiTiming
from verif.agents.timing import Pattern, bursts, random_pauses
from verif.bench import rng
from verif.engine_env import EngineTest
from verif.failures import all_failures
from verif.learner import sequences
from verif.learner.env import LearnerEnv

QUICK = AxiTiming(latency=(20, 20))
SLOW = AxiTiming(latency=(1, 120), busy=0.6)


class Base(EngineTest):
    """The usual environment and memory."""

    environment = LearnerEnv
    timing = QUICK


class SlowLinks(Base):
    """A slow memory and slow links."""

    timing = SLOW

    def patterns(self) -> dict[str, Pattern]:
        return {
            "smp": random_pauses(rng("smp"), busy=0.3, longest=40),
            "tde": bursts(rng("tde"), on=8, off=200),
        }


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Smoke(Base):
    """One small training run."""

    limit = 12_000
    sequences = (sequences.Smoke(),)


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class Random(Base):
    """Random programs and jobs, quick memory."""

    sequences = (sequences.RandomTraining(programs=scale(4, 2), jobs=3),)


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class BackPressure(SlowLinks):
    """Random programs with a slow memory and slow links."""

    sequences = (sequences.RandomTraining(programs=scale(3), jobs=3),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class RoundTrip(Base):
    """LOAD and STORE of everything; training resumes to the bit."""

    timing = SLOW
    sequences = (sequences.RoundTrip(),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BadDescriptor(Base):
    """Every error of a job's check and of a program's."""

    sequences = (sequences.Refused(programs=scale(60, 12)),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BusError(Base):
    """SLVERR and DECERR for each kind of access."""

    sequences = (sequences.BusErrors(),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Failures(Base):
    """Arrays at the end of memory, and a memory that fails or does not answer."""

    sequences = all_failures(sequences.cases)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BadData(Base):
    """Records and indices that drop a step."""

    sequences = (sequences.BadData(),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BadStream(Base):
    """An index stream that breaks its rules, and one that never comes."""

    sequences = (sequences.BadStream(), sequences.WordsBehindAnError(), sequences.NoStream())


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Infer(Base):
    """Forward passes, quick memory; failing memory, resets."""

    sequences = (
        sequences.Infer(),
        sequences.InferErrors(),
        sequences.InferResets(times=scale(6, 2)),
    )


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class InferSlow(Base):
    """Forward passes with a slow memory."""

    timing = SLOW
    sequences = (sequences.Infer(), sequences.InferResets(times=scale(6, 2)))


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Gradients(Base):
    """Steps by GRADS and APPLY, quick memory; errors and resets."""

    sequences = (sequences.Gradients(), sequences.GradientsErrors())


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class GradientsSlow(SlowLinks):
    """Steps by GRADS and APPLY with a slow memory and slow links."""

    sequences = (sequences.Gradients(), sequences.GradientsErrors())


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class ResetMidway(Base):
    """Soft resets during TRAIN."""

    timing = SLOW
    sequences = (sequences.ResetMidway(times=scale(8, 3)),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class HardReset(Base):
    """Hard resets of the running engine."""

    timing = SLOW
    sequences = (sequences.HardReset(times=scale(12, 8)),)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Networks(Base):
    """Several networks, and jobs that wait for each other."""

    sequences = (
        sequences.Networks(),
        sequences.Together(),
        sequences.Counters(),
        sequences.Patient(),
    )


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Timeouts(Base):
    """The watchdog, with a memory that answers later."""

    timing = AxiTiming(latency=(400, 600))
    sequences = (sequences.Timeouts(),)


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class ActorCritic(Base):
    """DDPG and TD3, quick memory."""

    sequences = (sequences.ActorCritic(), sequences.ActorCriticErrors())


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class ActorCriticSlow(SlowLinks):
    """DDPG and TD3 with a slow memory and slow links; soft resets."""

    sequences = (sequences.ActorCritic(), sequences.ActorCriticResets(times=scale(3)))
