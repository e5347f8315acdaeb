"""The learner's pipe in an in-process simulator, beside its golden model."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from flow import ROOT
from flow.library import Harness, build, open_library
from models.learner.fp import to_bits
from models.learner.layout import Geometry
from models.learner.learner import Batch
from models.learner.program import Program

PUBLIC = ROOT / "verif/learner/pipe_public.vlt"
HARNESS = Path("verif/learner/pipe_harness.cpp")


FILL = np.float32(7)  # of frames, before a step


@dataclass(frozen=True)
class Config:
    """Build parameters of a pipe.

    Attributes:
        geometry: lanes and memories.
        mul, add: latencies of the operators, clocks.
        fast: no assertions and no view of the frame memory: for timing the simulator.
    """

    geometry: Geometry = field(default_factory=Geometry)
    mul: int = 2
    add: int = 2
    fast: bool = False


@dataclass(frozen=True)
class Report:
    """What a step gave.

    Attributes:
        deltas: [n] uint32 bits of the TD errors, in the order they came; slots: their samples.
        clocks: from the start to step_done_o.
        busy: clocks in which the tensor unit started an operation; data, token, update: stalls.
        not_finite: (stage, sample) or None.
        bad_index: sample or None.
    """

    deltas: np.ndarray
    slots: np.ndarray
    clocks: int
    busy: int
    data: int
    token: int
    update: int
    not_finite: tuple[int, int] | None
    bad_index: int | None


@cache
def library(config: Config) -> ctypes.CDLL:
    """Build and open the simulator of a configuration."""
    g = config.geometry
    spatial = ("PIPE_SPATIAL",) if g.ntu > 1 else ()
    path = build(
        "jackdaw:engine:learner_spatial" if spatial else "jackdaw:engine:learner_pipe",
        "jd_learner_spatial_pipe" if spatial else "jd_learner_pipe",
        HARNESS,
        parameters={
            "P": g.p, "OB": g.ob, "GI": g.gi, "LW": g.lw, "MulLatency": config.mul,
            "AddLatency": config.add, "WRows": g.w_rows, "ARows": g.a_rows, "BMax": g.b_max,
            "DMax": g.d_max, "ActorCritic": g.actor_critic,
        },
        assertions=not config.fast,
        defines=spatial if config.fast else ("PIPE_PUBLIC", *spatial),
        control=() if config.fast else (PUBLIC,),
        optimize="-O2" if config.fast else os.environ.get("JD_OPTIMIZE", "-O1"),
    )  # fmt: skip
    return open_library(path)


def _pointer(words: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(words.ctypes.data)


class PipeSim(Harness):
    """A pipe under simulation.

    Args:
        config: the build.
        seed: of the random register values and of the harness.
    """

    def __init__(self, config: Config, seed: int) -> None:
        super().__init__(library(config), seed)
        self.config = config

    def load_program(self, program: Program) -> None:
        """Write the stage table."""
        for index, stage in enumerate(program.stages):
            words = stage.encode()
            self.call("pipe_stage", index, _pointer(words))

    def load_weights(self, weights: np.ndarray, biases: np.ndarray) -> None:
        """Write all weights and biases (flat float32 or uint32 arrays of whole rows)."""
        g = self.config.geometry
        for bias, flat, width in ((0, weights, g.p), (1, biases, g.ob)):
            words = np.ascontiguousarray(flat).view(np.uint32)
            rows = words.size // width
            self.call("pipe_weights", bias, 0, rows, _pointer(words))

    def load_frame(self, program: Program, sample: int, row: int, words: np.ndarray) -> None:
        """Write whole rows of a frame from its row `row` on."""
        words = np.ascontiguousarray(words).view(np.uint32)
        count = words.size // self.config.geometry.p
        first = sample * program.frame_rows + row
        self.call("pipe_frame", first, count, _pointer(words))

    def set_step(
        self,
        program: Program,
        batch: int,
        inverse_batch: np.float32,
        parity: int,
        banks: tuple[int, ...],
        phase: int | None = None,
        due: bool = True,
    ) -> None:
        """Drive step_i.

        Args:
            phase: of the program; None: all its stages.
            due: delayed stages run.
        """
        value, at = 0, 0

        def field(x: int, width: int) -> None:
            nonlocal value, at
            value |= x << at
            at += width

        g = self.config.geometry
        field(program.state, 8)
        field(program.next_state, 8)
        field(program.copy_rows(g), 8)
        field(program.frame_rows, 8)
        stages = range(len(program.stages)) if phase is None else program.phases[phase]
        field(stages.stop, 8)
        field(parity, 1)
        field(batch, 16)
        field(to_bits(inverse_batch), 32)
        nets = [*program.networks, *[None] * 8][:8]
        for net, bank in zip(nets, banks, strict=True):
            field((1 + bank) * net.rows if net else 0, 16)
        for net, bank in zip(nets, banks, strict=True):
            field((1 + bank) * net.biases if net else 0, 16)
        field(program.action, 8)
        field(program.noise, 8)
        field(stages.start, 8)
        field(int(due), 1)
        words = np.frombuffer(value.to_bytes(48, "little"), np.uint32).copy()
        self.library.pipe_step_words(self.handle, _pointer(words))

    def load_batch(self, program: Program, batch: Batch, parity: int) -> None:
        """Write what a batch's records fill, and the scalars."""
        g = self.config.geometry
        rows = program.copy_rows(g)
        count = batch.state.shape[0]
        given = [(program.state, batch.state), (program.next_state, batch.next_state)]
        if program.continuous:
            given.append((program.action, np.concatenate([batch.state, batch.action], axis=1)))
        if batch.noise is not None:
            given.append((program.noise, batch.noise))
        for first, data in given:
            padded = np.full((count, rows * g.p), FILL, np.float32)
            padded[:, : data.shape[1]] = data
            for sample in range(count):
                self.load_frame(program, sample, first + parity * rows, padded[sample])
        for sample in range(count):
            words = np.array(
                [
                    np.uint32(
                        0xDEAD_BEEF  # no one may look at it
                        if program.continuous
                        else int(batch.action[sample]) & 0xFFFF_FFFF
                    ),
                    to_bits(batch.reward[sample]),
                    to_bits(batch.discount[sample]),
                    to_bits(batch.weight[sample]),
                ],
                np.uint32,
            )
            self.call("pipe_scalars", parity, sample, _pointer(words))

    def run(
        self,
        batch: int,
        slow: int = 0,
        busy: int = 0,
        targets: int = 0,
        abort_at: int = 0,
        limit: int = 2_000_000,
    ) -> Report:
        """Run the step that set_step describes.

        Args:
            batch: samples.
            slow: samples become ready one by one, each after about `slow` clocks; 0: all at once.
            busy: networks whose update ends late: some 300 clocks after the start.
            targets: networks whose target's does.
            abort_at: clock of an abort, 0 never.
            limit: clocks after which a step counts as hung.
        Raises: CheckFailed.
        """
        deltas, slots = np.zeros((2, max(batch, 1)), np.uint32)
        report = np.zeros(11, np.uint32)
        self.call(
            "pipe_step", batch, slow, ctypes.c_uint32(busy), ctypes.c_uint32(targets),
            ctypes.c_uint32(abort_at), ctypes.c_uint32(limit), _pointer(deltas), _pointer(slots),
            _pointer(report),
        )  # fmt: skip
        r = [int(x) for x in report]
        return Report(
            deltas=deltas[: r[10]], slots=slots[: r[10]],
            clocks=r[0], busy=r[1], data=r[2], token=r[3], update=r[4],
            not_finite=(r[6], r[7]) if r[5] else None,
            bad_index=r[9] if r[8] else None,
        )  # fmt: skip

    def gradients(self, bias: bool, row: int, rows: int) -> np.ndarray:
        """Read rows of (bias) gradients; flat uint32."""
        g = self.config.geometry
        words = np.zeros(rows * (g.ob if bias else g.p), np.uint32)
        self.call("pipe_gradients", int(bias), row, rows, _pointer(words))
        return words

    def frames(self, program: Program, count: int, port: int = 0) -> np.ndarray:
        """Return the frames of the first samples, [count, frame words] uint32."""
        rows = program.frame_rows * count
        words = np.zeros(rows * self.config.geometry.p, np.uint32)
        self.library.pipe_frames(self.handle, port, 0, rows, _pointer(words))
        return words.reshape(count, -1)
