"""Weight update and target copy, every operation rounded to binary32 in the order of the RTL."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.learner.fp import ONE, ZERO, canonical, from_bits, to_bits

SGD, MOMENTUM, ADAM = 0, 1, 2
SLOT_WORDS = 16


@dataclass(frozen=True)
class Slot:
    """An optimizer slot of the program; all numbers are float32.

    Attributes:
        kind: SGD, MOMENTUM or ADAM.
        lr: learning rate at the start.
        beta1: momentum, or Adam's first decay.
        beta2: Adam's second decay.
        eps: Adam's epsilon.
        rest1, rest2: 1 - beta1 and 1 - beta2 as the host rounded them.
        decrement: what the learning rate loses each step.
        floor: below which it does not go.
    """

    kind: int = SGD
    lr: np.float32 = ZERO
    beta1: np.float32 = ZERO
    beta2: np.float32 = ZERO
    eps: np.float32 = ZERO
    rest1: np.float32 = ONE
    rest2: np.float32 = ONE
    decrement: np.float32 = ZERO
    floor: np.float32 = ZERO

    def encode(self) -> np.ndarray:
        """Return the slot's words, [16] uint32."""
        out = np.zeros(SLOT_WORDS, np.uint32)
        out[0] = self.kind
        out[1:9] = [
            to_bits(x)
            for x in (self.lr, self.beta1, self.beta2, self.eps, self.rest1, self.rest2,
                      self.decrement, self.floor)
        ]  # fmt: skip
        return out

    @classmethod
    def decode(cls, words: np.ndarray) -> Slot:
        """Inverse of encode; the kind is not checked."""
        return cls(int(words[0]), *(from_bits(int(w)) for w in words[1:9]))


def sgd(lr: float, decrement: float = 0.0, floor: float = 0.0) -> Slot:
    """Make a slot of plain SGD."""
    return Slot(SGD, np.float32(lr), decrement=np.float32(decrement), floor=np.float32(floor))


def momentum(lr: float, mu: float = 0.9, decrement: float = 0.0, floor: float = 0.0) -> Slot:
    """Make a slot of SGD with momentum mu."""
    slot = sgd(lr, decrement, floor)
    return replace(slot, kind=MOMENTUM, beta1=np.float32(mu))


def adam(
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    decrement: float = 0.0,
    floor: float = 0.0,
) -> Slot:
    """Make a slot of Adam; 1 - beta is rounded from the exact difference."""
    return Slot(
        ADAM, np.float32(lr), np.float32(beta1), np.float32(beta2), np.float32(eps),
        np.float32(1 - beta1), np.float32(1 - beta2), np.float32(decrement), np.float32(floor),
    )  # fmt: skip


@dataclass(frozen=True)
class Scalars:
    """The state `t` of a network.

    Attributes:
        c1, c2: Adam's bias corrections, 1 minus the power of a beta. They are summed like the
            moments, c = beta*c + rest, so that no bits cancel in the first steps.
        lr: learning rate now.
        since: steps since the target was copied.
        waited: of network 0, steps since the program's delayed stages ran.
    """

    c1: np.float32 = ZERO
    c2: np.float32 = ZERO
    lr: np.float32 = ZERO
    since: int = 0
    waited: int = 0

    def encode(self) -> np.ndarray:
        """Return the image, [16] uint32."""
        out = np.zeros(SLOT_WORDS, np.uint32)
        out[:3] = [to_bits(self.c1), to_bits(self.c2), to_bits(self.lr)]
        out[3:5] = self.since, self.waited
        return out

    @classmethod
    def decode(cls, words: np.ndarray) -> Scalars:
        """Inverse of encode."""
        c1, c2, lr = (from_bits(int(w)) for w in words[:3])
        return cls(c1, c2, lr, int(words[3]), int(words[4]))


def update(
    slot: Slot, state: Scalars, w: np.ndarray, m: np.ndarray, v: np.ndarray, g: np.ndarray
) -> tuple[Scalars, np.ndarray, np.ndarray, np.ndarray]:
    """Update parameters once.

    Args:
        slot: the optimizer.
        state: the network's scalars before the step.
        w, m, v: [N] float32, parameters and moments.
        g: [N] float32, gradients.
    Returns: scalars, w, m, v after the step.
    Source: learner WU; mirrors rtl/learner/jd_learner_update.sv and jd_learner_rate.sv.
    """
    with np.errstate(all="ignore"):
        if slot.kind == ADAM:
            m = slot.beta1 * m + slot.rest1 * g
            v = slot.beta2 * v + slot.rest2 * (g * g)
            c1 = slot.beta1 * state.c1 + slot.rest1
            c2 = slot.beta2 * state.c2 + slot.rest2
            rate, root = state.lr / c1, ONE / np.sqrt(c2)
            w = w - rate * (m / (np.sqrt(v) * root + slot.eps))
            state = replace(state, c1=c1, c2=c2)
        else:
            if slot.kind == MOMENTUM:
                m = slot.beta1 * m + g
            w = w - state.lr * (m if slot.kind == MOMENTUM else g)
        lower = state.lr - slot.decrement
        state = replace(state, lr=slot.floor if lower < slot.floor else lower)
    return state, canonical(w), canonical(m), canonical(v)


def polyak(t: np.ndarray, w: np.ndarray, tau: np.float32) -> np.ndarray:
    """Return t + tau*(w - t), the target parameters after a soft copy."""
    with np.errstate(all="ignore"):
        return canonical(t + tau * (w - t))
