"""Lowering: from networks and an algorithm to the stage table that the engine runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.learner.fp import INFINITY
from models.learner.layout import Geometry, Network, allocate
from models.learner.optim import Slot
from models.learner.program import (
    ACT_NONE,
    ACT_RELU,
    NO_VECTOR,
    OP_AXPY,
    OP_DOT,
    OP_LOSS_Q,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    Program,
    Stage,
)


@dataclass(frozen=True)
class DqnConfig:
    """What a DQN program is made of.

    Attributes:
        sizes: node counts of the network, input first, e.g. (4, 64, 64, 2).
        optimizer: its slot.
        double: choose the next action with the online network.
        kappa: Huber threshold; None for the squared error.
        sync_period: steps between hard copies into the target, 1..65535.
        tau: if given, move the target by tau each step instead.
    """

    sizes: tuple[int, ...]
    optimizer: Slot
    double: bool = False
    kappa: float | None = 1.0
    sync_period: int = 500
    tau: float | None = None


class Frame:
    """Hands out rows of a sample's frame."""

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self.rows = 0

    def vector(self, words: int, copies: int = 1) -> int:
        """Reserve a vector; returns its first row."""
        first = self.rows
        self.rows += copies * self.geometry.vector_rows(words)
        return first


class Table:
    """Collects stages."""

    def __init__(self, geometry: Geometry, frame: Frame) -> None:
        self.geometry = geometry
        self.frame = frame
        self.stages: list[Stage] = []

    def add(self, stage: Stage) -> int:
        """Append a stage; returns its id."""
        self.stages.append(stage)
        return len(self.stages) - 1

    def places(self, net: Network) -> list[tuple[int, int]]:
        """Return each layer's weight row and bias word."""
        row, bias, out = net.row_base, net.bias_base, []
        for layer in net.layers:
            out.append((row, bias))
            row += self.geometry.weight_rows(layer.n_in, layer.n_out)
            bias += -(-layer.n_out // self.geometry.ob) * self.geometry.ob
        return out

    def forward(
        self, index: int, net: Network, source: int, target: bool
    ) -> tuple[list[int], list[int]]:
        """Add a forward pass; returns the vectors of its layers' outputs and the stages' ids."""
        outputs: list[int] = []
        ids: list[int] = []
        for k, (layer, (row, bias)) in enumerate(zip(net.layers, self.places(net), strict=True)):
            outputs.append(self.frame.vector(layer.n_out))
            ids.append(
                self.add(
                    Stage(
                        OP_DOT,
                        net=index,
                        target=target,
                        act=ACT_RELU if k < len(net.layers) - 1 else ACT_NONE,
                        n_in=layer.n_in,
                        n_out=layer.n_out,
                        row=row,
                        bias=bias,
                        src=outputs[k - 1] if k else source,
                        dst=outputs[k],
                        deps=(ids[k - 1],) if k else (),
                        wait_update=0 if target else 1 << index,
                    )
                )
            )
        return outputs, ids

    def backward(
        self, index: int, net: Network, source: int, outputs: list[int], loss: int, gradient: int
    ) -> int:
        """Add BW and WA of all layers; returns the id of the last stage."""
        places = self.places(net)
        count = len(net.layers)
        gradients, ids = {count - 1: gradient}, {count - 1: loss}
        for k in range(count - 1, 0, -1):
            layer = net.layers[k]
            gradients[k - 1] = self.frame.vector(layer.n_in)
            ids[k - 1] = self.add(
                Stage(
                    OP_AXPY,
                    net=index,
                    act=ACT_RELU,
                    n_in=layer.n_in,
                    n_out=layer.n_out,
                    row=places[k][0],
                    src=gradients[k],
                    dst=gradients[k - 1],
                    aux=outputs[k - 1],
                    deps=(ids[k],),
                )
            )
        last = 0
        for k in range(count - 1, -1, -1):
            layer = net.layers[k]
            last = self.add(
                Stage(
                    OP_OUTER,
                    net=index,
                    chain=k > 0,
                    n_in=layer.n_in,
                    n_out=layer.n_out,
                    row=places[k][0],
                    bias=places[k][1],
                    src=gradients[k],
                    aux=outputs[k - 1] if k else source,
                    deps=(ids[k],),
                )
            )
        return last


def dqn(geometry: Geometry, config: DqnConfig) -> Program:
    """Lower DQN (or double DQN) to a program: target pass, online pass, loss, BW, WA, WU, TSM."""
    sizes = list(config.sizes)
    net = allocate(geometry, sizes, has_target=True)
    frame = Frame(geometry)
    table = Table(geometry, frame)
    state = frame.vector(sizes[0], copies=2)
    following = frame.vector(sizes[0], copies=2)
    next_outputs, next_ids = table.forward(0, net, following, target=True)
    choice: list[int] = []
    choice_ids: list[int] = []
    if config.double:
        choice, choice_ids = table.forward(0, net, following, target=False)
    outputs, ids = table.forward(0, net, state, target=False)
    gradient = frame.vector(sizes[-1])
    loss = table.add(
        Stage(
            OP_LOSS_Q,
            n_out=sizes[-1],
            q=outputs[-1],
            q_next=next_outputs[-1],
            chooser=choice[-1] if config.double else 0,
            mode=int(config.double),
            dst=gradient,
            deps=(next_ids[-1], *choice_ids[-1:], ids[-1]),
            kappa=INFINITY if config.kappa is None else np.float32(config.kappa),
        )
    )
    last = table.backward(0, net, state, outputs, loss, gradient)
    update = table.add(Stage(OP_UPDATE, net=0, slot=0, deps=(last,)))
    table.add(
        Stage(
            OP_TARGET,
            net=0,
            period=0 if config.tau is not None else config.sync_period,
            polyak=config.tau is not None,
            tau=np.float32(config.tau or 0),
            deps=(update,),
        )
    )
    return Program(
        stages=tuple(table.stages),
        networks=(net,),
        slots=(config.optimizer,),
        state_words=sizes[0],
        action_words=1,
        state=state,
        next_state=following,
        action=NO_VECTOR,
        frame_rows=frame.rows,
    )
