"""Programs of the learner: stage table, networks, optimizers, and their encoding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.learner.fp import ZERO, from_bits, to_bits
from models.learner.layout import Geometry, Network
from models.learner.optim import Slot

OP_DOT, OP_AXPY, OP_OUTER, OP_LOSS_Q, OP_LOSS_TD, OP_LOSS_PI, OP_UPDATE, OP_TARGET = range(1, 9)
PRODUCTS = (OP_DOT, OP_AXPY, OP_OUTER)
LOSSES = (OP_LOSS_Q, OP_LOSS_TD, OP_LOSS_PI)
COMPUTE = PRODUCTS + LOSSES
UPDATES = (OP_UPDATE, OP_TARGET)
ACT_NONE, ACT_RELU, ACT_TANH, ACT_TANH_SLOPE = range(4)
NO_STAGE = 0xFF
NO_VECTOR = 0xFF
HEADER_WORDS, RECORD_WORDS, STAGE_WORDS = 16, 16, 8


@dataclass(frozen=True)
class Stage:
    """A stage descriptor (32 bytes). Vectors are named by their first row in a frame.

    Attributes:
        op: OP_*.
        net: network of the weights.
        target: use its current target bank.
        act: ACT_*; of AXPY: mask by aux > 0; ACT_TANH_SLOPE: times the tangent's slope at aux.
        no_bias: DOT adds no bias.
        chain: the next descriptor belongs to this stage (OUTER).
        column: DOT reads the network's copy of columns.
        delayed: runs only in every delay-th step of the program.
        noise: DOT with ACT_TANH adds the record's noise and keeps the sum within -1 and 1.
        unit: the tensor unit that runs it, spatial_unit of a build with four, else 0.
        n_in, n_out: DOT, OUTER: of the layer; AXPY: n_in is the width of the result; LOSS: n_out
            actions.
        row, bias: first weight row and bias word, online bank.
        src: DOT: input; AXPY, OUTER: gradients of the outputs.
        dst: result; of LOSS the gradients.
        aux: AXPY: activations for the mask; OUTER: inputs; ACT_TANH_SLOPE: results of the tangent.
        offset: lane of dst's first element; with ACT_TANH_SLOPE of aux's.
        deps: up to three stages whose sample must be done.
        wait_update: mask of networks whose weight update must have ended.
        q, q_next, chooser, mode: vectors and mode of LOSS (models/learner/loss.py).
        quiet: LOSS_TD keeps its TD errors to itself.
        slot: optimizer slot of WU.
        period, polyak: of TSM: copy every period steps, or move by tau each step.
        kappa, tau: scalars.
    """

    op: int
    net: int = 0
    target: bool = False
    act: int = ACT_NONE
    no_bias: bool = False
    chain: bool = False
    column: bool = False
    delayed: bool = False
    noise: bool = False
    unit: int = 0
    n_in: int = 0
    n_out: int = 0
    row: int = 0
    bias: int = 0
    src: int = 0
    dst: int = 0
    aux: int = 0
    offset: int = 0
    deps: tuple[int, ...] = ()
    wait_update: int = 0
    q: int = 0
    q_next: int = 0
    chooser: int = 0
    mode: int = 0
    quiet: bool = False
    slot: int = 0
    period: int = 0
    polyak: bool = False
    kappa: np.float32 = ZERO
    tau: np.float32 = ZERO

    def encode(self) -> np.ndarray:
        """Return the descriptor, [8] uint32."""
        deps = [*self.deps, *[NO_STAGE] * 3][:3]
        param = self.q | self.q_next << 8 | self.chooser << 16 | self.mode << 24
        param |= int(self.quiet) << 26
        if self.op == OP_UPDATE:
            param = self.slot
        if self.op == OP_TARGET:
            param = self.period | int(self.polyak) << 16
        return np.array(
            [
                self.op | self.net << 5 | int(self.target) << 8 | self.act << 9
                | int(self.no_bias) << 11 | int(self.chain) << 12 | int(self.column) << 13
                | self.unit << 14 | int(self.delayed) << 18 | int(self.noise) << 19,
                self.n_in | self.n_out << 16,
                self.row | self.bias << 16,
                self.src | self.dst << 8 | self.aux << 16 | self.offset << 24,
                deps[0] | deps[1] << 8 | deps[2] << 16 | self.wait_update << 24,
                param,
                to_bits(self.kappa),
                to_bits(self.tau),
            ],
            np.uint32,
        )  # fmt: skip

    @classmethod
    def decode(cls, words: np.ndarray) -> Stage:
        """Inverse of encode for legal descriptors; reserved bits are not looked at."""
        w = [int(x) for x in words]
        op, p = w[0] & 31, w[5]
        loss = op in LOSSES
        return cls(
            op=op, net=w[0] >> 5 & 7, target=bool(w[0] >> 8 & 1), act=w[0] >> 9 & 3,
            no_bias=bool(w[0] >> 11 & 1), chain=bool(w[0] >> 12 & 1),
            column=bool(w[0] >> 13 & 1), unit=w[0] >> 14 & 15,
            delayed=bool(w[0] >> 18 & 1), noise=bool(w[0] >> 19 & 1),
            n_in=w[1] & 0xFFFF, n_out=w[1] >> 16, row=w[2] & 0xFFFF, bias=w[2] >> 16,
            src=w[3] & 0xFF, dst=w[3] >> 8 & 0xFF, aux=w[3] >> 16 & 0xFF, offset=w[3] >> 24,
            deps=tuple(d for d in (w[4] & 0xFF, w[4] >> 8 & 0xFF, w[4] >> 16 & 0xFF)
                       if d != NO_STAGE),
            wait_update=w[4] >> 24,
            q=p & 0xFF if loss else 0, q_next=p >> 8 & 0xFF if loss else 0,
            chooser=p >> 16 & 0xFF if loss else 0, mode=p >> 24 & 3 if loss else 0,
            quiet=bool(p >> 26 & 1) if op == OP_LOSS_TD else False,
            slot=p & 15 if op == OP_UPDATE else 0,
            period=p & 0xFFFF if op == OP_TARGET else 0,
            polyak=bool(p >> 16 & 1) if op == OP_TARGET else False,
            kappa=from_bits(w[6]), tau=from_bits(w[7]),
        )  # fmt: skip


def spatial_unit(stage: Stage) -> int:
    """Return the tensor unit of a stage in a spatial pipeline.

    0: DOT of a target; 1: DOT of online weights, LOSS; 2: AXPY; 3: OUTER. WU and TSM have none: 0.
    Mirrors unit_of in rtl/learner/jd_learner_pkg.sv.
    """
    if stage.op == OP_DOT:
        return 0 if stage.target else 1
    if stage.op in LOSSES:
        return 1
    return {OP_AXPY: 2, OP_OUTER: 3}.get(stage.op, 0)


@dataclass(frozen=True)
class Program:
    """A program image.

    Attributes:
        stages, networks, slots: the tables.
        state_words, action_words: S and A of a record.
        state, next_state: vectors of s and s'; with an action vector each has room for an action
            after, at lane S.
        action: vector that gets [s][a], or NO_VECTOR: the action is one int32.
        frame_rows: rows of a sample's frame.
        noise: vector that gets the record's noise (A words), or 0: records have none.
        delay: delayed stages run in every delay-th step; 0 if there are none.

    Each vector that a record fills has two copies of copy_rows rows, one a step parity.
    """

    stages: tuple[Stage, ...]
    networks: tuple[Network, ...]
    slots: tuple[Slot, ...]
    state_words: int
    action_words: int
    state: int
    next_state: int
    action: int
    frame_rows: int
    noise: int = 0
    delay: int = 0

    @property
    def continuous(self) -> bool:
        """Whether an action is a vector of float32."""
        return self.action != NO_VECTOR

    @property
    def inputs(self) -> tuple[int, ...]:
        """The vectors that a record fills."""
        return (*self.observed, *((self.noise,) if self.noise else ()))

    def copy_rows(self, geometry: Geometry) -> int:
        """Return the rows of one copy of a vector that a record fills."""
        return geometry.vector_rows(self.input_words)

    @property
    def record_words(self) -> int:
        """Words of a record: [s][a][r][d][s'][noise]."""
        return 2 * self.state_words + self.action_words * (2 if self.noise else 1) + 2

    def forward_pass(self, network: int) -> range | None:
        """Return the stages that INFER runs for a network, or None: it has no such pass.

        The first chain of DOT stages of its online weights, standing one after the other, with as
        many stages as the network has layers. The first one reads s, s' or [s][a], each of the
        others what the one before it wrote.
        """
        chain: list[Stage] = []
        for index, stage in enumerate(self.stages):
            if (
                stage.op != OP_DOT
                or stage.net != network
                or stage.target
                or stage.column
                or stage.noise
                or stage.act == ACT_TANH_SLOPE
            ):
                chain = []
            elif chain and _reads_result(stage, chain[-1]):
                chain.append(stage)
            elif stage.src in self.observed and stage.n_in <= self.input_words:
                chain = [stage]
            else:
                chain = []
            if chain and len(chain) == len(self.networks[network].layers):
                return range(index + 1 - len(chain), index + 1)
        return None

    @property
    def trained(self) -> int:
        """The networks that a WU stage updates, as a mask."""
        return sum(1 << n for n in {s.net for s in self.stages if s.op == OP_UPDATE})

    @property
    def observed(self) -> tuple[int, ...]:
        """The vectors that a record fills, but for the noise."""
        return (self.state, self.next_state, *((self.action,) if self.continuous else ()))

    @property
    def input_words(self) -> int:
        """Words for which a vector that a record fills has room."""
        return self.state_words + (self.action_words if self.continuous else 0)

    @property
    def phases(self) -> tuple[range, ...]:
        """The stages of each phase: compute stages, then the updates up to the next of those."""
        starts = [
            k
            for k, stage in enumerate(self.stages)
            if k == 0 or (stage.op in COMPUTE and self.stages[k - 1].op in UPDATES)
        ]
        return tuple(map(range, starts, [*starts[1:], len(self.stages)]))

    def encode(self) -> np.ndarray:
        """Return the image, uint32 words."""
        header = np.zeros(HEADER_WORDS, np.uint32)
        header[0] = len(self.stages) | len(self.networks) << 8 | len(self.slots) << 16
        header[1] = self.state_words | self.action_words << 16
        header[2] = self.state | self.next_state << 8 | self.action << 16 | self.noise << 24
        header[3] = self.frame_rows
        header[4] = self.delay
        parts = [header]
        parts += [n.encode() for n in self.networks]
        parts += [s.encode() for s in self.slots]
        parts += [s.encode() for s in self.stages]
        return np.concatenate(parts)

    @classmethod
    def decode(cls, image: np.ndarray) -> Program:
        """Inverse of encode for a legal image (models/learner/validate.py checks one)."""
        w = [int(x) for x in image[:HEADER_WORDS]]
        counts = (w[0] >> 8 & 0xFF, w[0] >> 16 & 0xFF, w[0] & 0xFF)
        slots_at = HEADER_WORDS + RECORD_WORDS * counts[0]
        stages_at = slots_at + RECORD_WORDS * counts[1]
        networks = image[HEADER_WORDS:slots_at].reshape(-1, RECORD_WORDS)
        slots = image[slots_at:stages_at].reshape(-1, RECORD_WORDS)
        stages = image[stages_at : stages_at + STAGE_WORDS * counts[2]].reshape(-1, STAGE_WORDS)
        return cls(
            stages=tuple(Stage.decode(x) for x in stages),
            networks=tuple(Network.decode(x) for x in networks),
            slots=tuple(Slot.decode(x) for x in slots),
            state_words=w[1] & 0xFFFF,
            action_words=w[1] >> 16,
            state=w[2] & 0xFF,
            next_state=w[2] >> 8 & 0xFF,
            action=w[2] >> 16 & 0xFF,
            frame_rows=w[3],
            noise=w[2] >> 24,
            delay=w[4] & 0xFFFF,
        )


def _reads_result(stage: Stage, before: Stage) -> bool:
    """Whether a stage's input is what the DOT before it wrote."""
    return stage.src == before.dst and stage.n_in == before.n_out and not before.offset
