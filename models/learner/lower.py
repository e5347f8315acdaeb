"""Lowering: from networks and an algorithm to the stage table that the engine runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.learner.fp import INFINITY
from models.learner.layout import Geometry, Network, allocate, free_place
from models.learner.loss import MODE_DOUBLE, MODE_MAX, MODE_TWIN
from models.learner.optim import Slot
from models.learner.program import (
    ACT_NONE,
    ACT_RELU,
    ACT_TANH,
    ACT_TANH_SLOPE,
    NO_VECTOR,
    OP_AXPY,
    OP_DOT,
    OP_LOSS_PI,
    OP_LOSS_Q,
    OP_LOSS_TD,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    Program,
    Stage,
    spatial_unit,
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


@dataclass(frozen=True)
class ActorCriticConfig:
    """What a DDPG or TD3 program is made of. Actions are in units of their bound: -1..1.

    Attributes:
        actor: node counts, S first and A last, e.g. (3, 64, 64, 1); ends in tanh.
        critic: node counts, S + A first and 1 last.
        actor_optimizer, critic_optimizer: their slots.
        tau: what the targets move by each step (of TD3: each delayed step).
        kappa: Huber threshold of the critics; None for the squared error.
        lagged: the actor's gradient is that of the critic before this step's update (CF, lagged
            critic), so that all updates of a step come last; else of the critic after it.
    """

    actor: tuple[int, ...]
    critic: tuple[int, ...]
    actor_optimizer: Slot
    critic_optimizer: Slot
    tau: float = 0.005
    kappa: float | None = None
    lagged: bool = False


ACTOR, CRITIC, TWIN = 0, 1, 2  # networks of DDPG and TD3
OFFSET_MAX = 255  # lane of a stage's first element


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
    """Collects stages.

    Attributes:
        delayed: whether the stages that are added are delayed.
    """

    def __init__(self, geometry: Geometry, frame: Frame) -> None:
        self.geometry = geometry
        self.frame = frame
        self.stages: list[Stage] = []
        self.delayed = False

    def add(self, stage: Stage) -> int:
        """Append a stage; returns its id."""
        unit = spatial_unit(stage) if self.geometry.ntu > 1 else 0
        self.stages.append(replace(stage, delayed=self.delayed, unit=unit))
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
        self,
        index: int,
        net: Network,
        source: int,
        target: bool,
        after: tuple[int, ...] = (),
        action_lane: int | None = None,
        noise: bool = False,
    ) -> tuple[list[int], list[int]]:
        """Add a forward pass.

        Args:
            index: network.
            source: vector of its input.
            target: from the target bank.
            after: stages whose results are in the input.
            action_lane: the network is an actor: it ends in tanh and writes to this lane of its
                input's vector.
            noise: of an actor: add the record's noise to the action.
        Returns: the vectors of the layers' outputs, and the stages' ids.
        """
        outputs: list[int] = []
        ids: list[int] = []
        for k, (layer, (row, bias)) in enumerate(zip(net.layers, self.places(net), strict=True)):
            acts = action_lane is not None and k == len(net.layers) - 1
            outputs.append(source if acts else self.frame.vector(layer.n_out))
            last = ACT_TANH if acts else ACT_NONE
            ids.append(
                self.add(
                    Stage(
                        OP_DOT,
                        net=index,
                        target=target,
                        act=ACT_RELU if k < len(net.layers) - 1 else last,
                        noise=acts and noise,
                        offset=action_lane or 0 if acts else 0,
                        n_in=layer.n_in,
                        n_out=layer.n_out,
                        row=row,
                        bias=bias,
                        src=outputs[k - 1] if k else source,
                        dst=outputs[k],
                        deps=(ids[k - 1],) if k else after,
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
        gradients, ids = self.hidden_gradients(index, net, outputs, loss, gradient)
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

    def hidden_gradients(
        self, index: int, net: Network, outputs: list[int], loss: int, gradient: int
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Add BW of all layers; returns for each the vector of its outputs' gradient, its stage."""
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
        return gradients, ids


def dqn(geometry: Geometry, config: DqnConfig) -> Program:
    """Lower DQN (or double DQN) to a program: target pass, online pass, loss, BW, WA, WU, TSM.

    The first pass is the one whose weights are there first: the target's, which most steps leave
    as it is, runs beside the WU of the step before; a target that moves each step comes last.
    """
    sizes = list(config.sizes)
    net = allocate(geometry, sizes, has_target=True)
    frame = Frame(geometry)
    table = Table(geometry, frame)
    state = frame.vector(sizes[0], copies=2)
    following = frame.vector(sizes[0], copies=2)
    moves = config.tau is not None
    if not moves:
        next_outputs, next_ids = table.forward(0, net, following, target=True)
    choice: list[int] = []
    choice_ids: list[int] = []
    if config.double:
        choice, choice_ids = table.forward(0, net, following, target=False)
    outputs, ids = table.forward(0, net, state, target=False)
    if moves:
        next_outputs, next_ids = table.forward(0, net, following, target=True)
    gradient = frame.vector(sizes[-1])
    loss = table.add(
        Stage(
            OP_LOSS_Q,
            n_out=sizes[-1],
            q=outputs[-1],
            q_next=next_outputs[-1],
            chooser=choice[-1] if config.double else 0,
            mode=MODE_DOUBLE if config.double else MODE_MAX,
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
            period=0 if moves else config.sync_period,
            polyak=moves,
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


def ddpg(geometry: Geometry, config: ActorCriticConfig) -> Program:
    """Lower DDPG to a program: networks ACTOR and CRITIC, slots of the actor and of the critic.

    Raises: ValueError if actor and critic do not fit together.
    Source: learner 6.2; "Continuous Control with Deep Reinforcement Learning", algorithm 1.
    """
    return _actor_critic(geometry, config, critics=1, delay=0)


def td3(geometry: Geometry, config: ActorCriticConfig, delay: int = 2) -> Program:
    """Lower TD3 to a program: networks ACTOR, CRITIC and TWIN, the slots as of DDPG.

    The actor and all targets move in every delay-th step; records hold the noise of the target
    action, clipped by the host.

    Args:
        delay: 1..65535.
    Raises: ValueError if actor and critic do not fit together.
    Source: learner 6.3; "Addressing Function Approximation Error in Actor-Critic Methods",
        algorithm 1.
    """
    return _actor_critic(geometry, config, critics=2, delay=delay)


def _actor_critic(
    geometry: Geometry, config: ActorCriticConfig, critics: int, delay: int
) -> Program:
    """Lower DDPG (one critic, delay 0) or TD3 (two critics)."""
    states, actions = config.actor[0], config.actor[-1]
    if config.critic[0] != states + actions or config.critic[-1] != 1:
        raise ValueError(f"critic {config.critic}: want {states + actions} inputs and 1 output")
    if states > OFFSET_MAX:
        raise ValueError(f"states: got {states}, want 1..{OFFSET_MAX} before an action")
    nets = [allocate(geometry, list(config.actor), has_target=True)]
    for number in range(critics):
        place = free_place(geometry, nets[-1])
        columns = (states, actions) if number == 0 else (0, 0)
        nets.append(allocate(geometry, list(config.critic), True, *place, columns))
    frame = Frame(geometry)
    table = Table(geometry, frame)
    twin = critics == 2
    state, following, given = (frame.vector(states + actions, copies=2) for _ in range(3))
    noise = frame.vector(states + actions, copies=2) if twin else 0

    # The critics: on the action taken, which needs their weights alone and so runs beside the last
    # WU and TSM of the step before; target actor and critics on s', TD errors, BW, WA.
    passes = [
        table.forward(index, nets[index], given, target=False)
        for index in range(CRITIC, CRITIC + critics)
    ]
    _, next_ids = table.forward(
        ACTOR, nets[ACTOR], following, target=True, action_lane=states, noise=twin
    )
    targets, target_ids = [], []
    for index in range(CRITIC, CRITIC + critics):
        outputs, ids = table.forward(index, nets[index], following, True, after=(next_ids[-1],))
        targets.append(outputs[-1])
        target_ids.append(ids[-1])
    lasts = []
    for index, (outputs, ids) in enumerate(passes, start=CRITIC):
        gradient = frame.vector(1)
        loss = table.add(
            Stage(
                OP_LOSS_TD,
                n_out=1,
                q=outputs[-1],
                q_next=targets[0],
                chooser=targets[-1] if twin else 0,
                mode=MODE_TWIN if twin else MODE_MAX,
                quiet=index != CRITIC,
                dst=gradient,
                deps=(ids[-1], *target_ids),
                kappa=INFINITY if config.kappa is None else np.float32(config.kappa),
            )
        )
        lasts.append(table.backward(index, nets[index], given, outputs, loss, gradient))

    updates: dict[int, int] = {}  # stages, by their networks

    def update_critics() -> None:
        for index, last in enumerate(lasts, start=CRITIC):
            updates[index] = table.add(Stage(OP_UPDATE, net=index, slot=1, deps=(last,)))

    if not config.lagged:
        update_critics()
    table.delayed = delay > 0
    last = _actor(table, nets, state, states)
    table.delayed = False
    if config.lagged:
        update_critics()
    table.delayed = delay > 0
    updates[ACTOR] = table.add(Stage(OP_UPDATE, net=ACTOR, slot=0, deps=(last,)))
    for index in range(len(nets)):
        table.add(
            Stage(
                OP_TARGET,
                net=index,
                polyak=True,
                tau=np.float32(config.tau),
                deps=(updates[index],),
            )
        )
    return Program(
        stages=tuple(table.stages),
        networks=tuple(nets),
        slots=(config.actor_optimizer, config.critic_optimizer),
        state_words=states,
        action_words=actions,
        state=state,
        next_state=following,
        action=given,
        frame_rows=frame.rows,
        noise=noise,
        delay=delay,
    )


def _actor(table: Table, nets: list[Network], state: int, states: int) -> int:
    """Add the actor's part: actor, critic on its action, BW to the action, BW and WA of the actor.

    Args:
        state: vector of s, which also gets the action.
        states: S, the action's lane.
    Returns: the id of the last stage.
    """
    actor, critic = nets[ACTOR], nets[CRITIC]
    outputs, ids = table.forward(ACTOR, actor, state, target=False, action_lane=states)
    values, value_ids = table.forward(CRITIC, critic, state, target=False, after=(ids[-1],))
    gradient = table.frame.vector(1)
    loss = table.add(Stage(OP_LOSS_PI, n_out=1, q=values[-1], dst=gradient, deps=(value_ids[-1],)))
    gradients, stages = table.hidden_gradients(CRITIC, critic, values, loss, gradient)
    action_gradient = table.frame.vector(critic.columns)
    to_action = table.add(
        Stage(
            OP_DOT,
            net=CRITIC,
            act=ACT_TANH_SLOPE,
            no_bias=True,
            column=True,
            n_in=critic.layers[0].n_out,
            n_out=critic.columns,
            row=critic.column_row,
            src=gradients[0],
            dst=action_gradient,
            aux=state,
            offset=states,
            deps=(stages[0],),
            wait_update=1 << CRITIC,
        )
    )
    return table.backward(ACTOR, actor, state, outputs, to_action, action_gradient)
