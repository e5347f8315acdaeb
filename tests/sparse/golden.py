"""IC3Net in NumPy by the definitions of each part, without engine, tiles or programs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jackdaw.drivers.sparse import Parameters, SparseSettings
from models.float import add
from models.replay.rng import Xoshiro, splitmix64
from models.sparse import comm, layer, lstm, optim
from models.sparse.formats import Geometry
from models.sparse.ic3net import CUT, NAMES, Group, Layout, layers
from models.sparse.numbers import half
from models.sparse.osel import Encoding, encode, max_index
from models.sparse.plan import ROW_CYCLIC, owners


def start(settings: SparseSettings, geometry: Geometry, rng: np.random.Generator) -> Parameters:
    """Random parameters for a network."""
    found: Parameters = {}
    for name, one in zip(NAMES, layers(settings.sizes, geometry), strict=True):
        bound = 1 / np.sqrt(one.m)
        found[name] = {
            "weight": rng.uniform(-bound, bound, (one.m, one.n)).astype(np.float32),
            "bias": rng.uniform(-bound, bound, one.n).astype(np.float32),
        }
        if one.groups > 1:
            for key, count in (("ig", one.m), ("og", one.n)):
                found[name][key] = rng.integers(0, 26, (count, one.groups)).astype(np.int8)
    return found


@dataclass
class Reference:
    """IC3Net with one run of dW for each core, chunk of tiles and step, as the program has it.

    Attributes:
        settings: of the driver.
        geometry: of the build.
        memories: as `Sparse.memories`.
        policy: which core has a row in ROW split.
    """

    settings: SparseSettings
    geometry: Geometry
    memories: dict[str, dict[str, np.ndarray]]
    policy: int = ROW_CYCLIC
    steps: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        s = self.settings
        self.sizes = s.sizes
        self.layout = Layout(self.sizes, self.geometry)
        self.table = dict(zip(NAMES, layers(self.sizes, self.geometry), strict=True))
        self.generator = Xoshiro(splitmix64(s.seed))
        one = np.float32
        self.rates = optim.Rates(
            one(s.rate), one(s.decay), one(1 - s.decay), one(s.eps), one(s.group_rate)
        )
        self.inverse = one(1 / (s.agents - 1) if s.agents > 1 else 0)
        for name, arrays in self.memories.items():
            t = self.table[name]
            arrays.setdefault("weight_square", np.zeros((t.m, t.n), np.float32))
            arrays.setdefault("bias_square", np.zeros(t.n, np.float32))
            if t.groups > 1:
                arrays.setdefault("states", np.zeros(t.m + t.n, np.float32))
        self.regroup()

    def regroup(self) -> None:
        """Masks and gradients of an iteration."""
        self.masks: dict[str, Encoding] = {}
        self.w16: dict[str, np.ndarray] = {}
        cores = self.geometry.cores
        self.grads = {n: [np.zeros((t.m, t.n), np.float32)] * cores for n, t in self.table.items()}
        self.sums = {n: [np.zeros(t.n, np.float32)] * cores for n, t in self.table.items()}
        for name, t in self.table.items():
            arrays = self.memories[name]
            if t.groups > 1:
                ig, og = max_index(arrays["ig"]), max_index(arrays["og"])
            else:
                ig, og = np.zeros(t.m, np.int64), np.zeros(t.n, np.int64)
            self.masks[name] = encode(ig, og, t.groups)
            self.w16[name] = half(arrays["weight"])

    def forward(self, name: str, x: np.ndarray) -> np.ndarray:
        """FW with the bias."""
        t, mask = self.table[name], self.masks[name]
        owner = None
        if self.sizes.row:
            owner = owners(t.m, mask.rows, self.geometry.cores, self.policy)
        y = layer.forward(
            x, self.w16[name], mask.row_lists, mask.column_lists, t.split, owner,
            self.geometry.cores,
        )  # fmt: skip
        return add(y, np.broadcast_to(half(self.memories[name]["bias"]), y.shape))

    def back(self, name: str, dy: np.ndarray) -> np.ndarray:
        """DX from `dx_from` on."""
        t, mask = self.table[name], self.masks[name]
        owner = None
        if self.sizes.row:
            order = np.concatenate(mask.column_lists)
            owner = owners(t.n, order, self.geometry.cores, self.policy)
        w = np.ascontiguousarray(self.w16[name].T)
        y = layer.forward(dy, w, mask.column_lists, mask.row_lists, 1, owner, self.geometry.cores)
        return y[:, t.dx_from :]

    def by_episode(self, x: np.ndarray) -> np.ndarray:
        """[V, N] to [B, A, N]."""
        return x.reshape(self.settings.episodes, self.settings.agents, -1)

    def step(self, obs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        """A step; [V, 8] float16."""
        s = self.sizes
        seen = np.zeros((s.vectors, s.padded), np.float16)
        seen[:, : s.observations] = obs
        if self.steps:
            last = self.steps[-1]["lstm"]
            h, cell = last.h, last.cell
        else:
            h = cell = np.zeros((s.vectors, s.hidden), np.float16)
        talk = np.asarray(gates, bool).reshape(-1, self.settings.agents)
        c = comm.forward(self.by_episode(h), talk, self.inverse).reshape(s.vectors, -1)
        inp = add(self.forward("com", c), self.forward("enc", seen))
        second = np.concatenate([inp, h], axis=1)
        done = lstm.forward(self.forward("lst", second), cell)
        out = self.forward("hed", done.h)
        self.steps.append({
            "seen": seen, "heard": c, "second": second, "lstm": done, "cell": cell, "talk": talk,
        })  # fmt: skip
        return out

    def backward(self, dout: np.ndarray) -> None:
        """All steps."""
        s = self.sizes
        zero = np.zeros((s.vectors, s.hidden), np.float16)
        dh, dcell = zero, zero
        runs = []
        for t in reversed(range(s.steps)):
            kept = self.steps[t]
            if (t + 1) % CUT == 0:
                dh, dcell = zero, zero
            d = half(dout[t])
            dh = add(self.back("hed", d), dh)
            dz, dcell = lstm.backward(kept["lstm"], kept["cell"], dh, dcell)
            both = self.back("lst", dz)
            dinp, dh = both[:, : s.hidden], both[:, s.hidden :]
            runs += [
                ("lst", kept["second"], dz), ("com", kept["heard"], dinp),
                ("enc", kept["seen"], dinp), ("hed", kept["lstm"].h, d),
            ]  # fmt: skip
            dcom = self.back("com", dinp)
            dh = comm.backward(
                self.by_episode(dh), self.by_episode(dcom), kept["talk"], self.inverse
            ).reshape(s.vectors, -1)
        for chunk in self.layout.chunks:
            for run in runs:
                self.accumulate(*run, chunk)
        self.steps.clear()

    def accumulate(self, name: str, x: np.ndarray, dy: np.ndarray, chunk: Group) -> None:
        """dW of a step and a chunk."""
        mask = self.masks[name]
        cores = self.geometry.cores
        for core in range(cores):
            first, end = self.layout.firsts[core], self.layout.counts[core]
            low, high = (4 * k for k in (chunk.first, chunk.first + chunk.tiles[core]))
            mine = slice(first + min(low, end), first + min(high, end))
            rows = mask.mask
            if self.sizes.row:
                owner = owners(len(mask.ig), mask.rows, cores, self.policy)
                rows = rows & (owner == core)[:, None]
            self.grads[name][core] = layer.weight_gradient(
                self.grads[name][core], x[mine], dy[mine], rows
            )
            padded = np.zeros((-(-len(dy[mine]) // 4) * 4, dy.shape[1]), np.float16)
            padded[: len(dy[mine])] = dy[mine]
            self.sums[name][core] = layer.bias_gradient(self.sums[name][core], padded)

    def update(self, scale: float) -> None:
        """RMSprop of all layers, then the grouping."""
        gscale = np.float32(scale)
        totals = {}
        for name, mask in self.masks.items():
            arrays, where = self.memories[name], mask.mask
            grads = self.grads[name]
            if self.sizes.row:
                owner = owners(len(mask.ig), mask.rows, self.geometry.cores, self.policy)
                grads = [np.stack([grads[c][m] for m, c in enumerate(owner)])]
            g = optim.scaled(grads, gscale)
            products = np.where(where, optim.products(arrays["weight"], g), 0)
            totals[name] = products.sum(axis=1), products.sum(axis=0)
            w, v = optim.rmsprop(arrays["weight"], arrays["weight_square"], g, self.rates)
            arrays["weight"] = np.where(where, w, arrays["weight"])
            arrays["weight_square"] = np.where(where, v, arrays["weight_square"])
            sums = self.sums[name][:1] if self.sizes.row else self.sums[name]
            arrays["bias"], arrays["bias_square"] = optim.rmsprop(
                arrays["bias"], arrays["bias_square"], optim.scaled(sums, gscale), self.rates
            )
        for name, t in self.table.items():
            if t.groups == 1:
                continue
            arrays, mask = self.memories[name], self.masks[name]
            states = np.split(arrays["states"], [t.m])
            for k, key in enumerate(("ig", "og")):
                selected = (mask.ig, mask.og)[k]
                drawn = optim.draws(self.generator, len(selected))
                arrays[key], states[k] = optim.regroup(
                    arrays[key], states[k], selected, totals[name][k], drawn, self.rates
                )
            arrays["states"] = np.concatenate(states)

    def train(self, dout: np.ndarray, loss_scale: float, divisor: float) -> None:
        """As the driver's."""
        self.backward(dout)
        self.update(1 / (loss_scale * divisor))
        self.regroup()


def small(**changes: Any) -> SparseSettings:
    """Settings that fit the build `sparse`."""
    base = SparseSettings(13, 3, 4, 5, hidden=16, groups=4, seed=7)
    return replace(base, **changes)
