"""pyuvm environments of monitor, loss, noise and Adam: golden model, scoreboard, coverage."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import cocotb
import numpy as np
from pyuvm import uvm_component, uvm_env

from models.float import from_fixed
from models.qat import noise, ops
from models.replay.rng import Xoshiro
from verif.agents.stream import StreamAgent, StreamBus, StreamItem
from verif.agents.timing import Pattern
from verif.bench import parameters, rng
from verif.coverage import Coverage
from verif.qat.words import any_size, pack, unpack
from verif.scoreboard import Scoreboard

TENSORS = 8
WORD = 1 << 31


def size(name: str) -> int:
    """A parameter of the bench: Cores, Lw or Lanes."""
    return parameters()[name]


class Model:
    """A block's golden model: what comes out of an item that came in."""

    prefix: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __call__(self, item: StreamItem) -> Iterable[StreamItem]:
        """What comes out."""
        raise NotImplementedError

    def points(self) -> Mapping[str, Iterable[str]]:
        """Coverage points and their bins."""
        raise NotImplementedError

    def facts(self, item: StreamItem, out: StreamItem) -> Iterable[str]:
        """The bins, as point.bin, that an input with its output hits."""
        raise NotImplementedError


class Environment(uvm_env):
    """Source, monitor of the outputs, scoreboard and coverage of a block.

    Attributes:
        model: of the block; its coverage takes what `seen` holds after each item.
        pattern: gaps between the items.
    """

    def __init__(self, name: str, parent: uvm_component, model: Model, pattern: Pattern) -> None:
        super().__init__(name, parent)
        self.model = model
        self.pattern = pattern

    def build_phase(self) -> None:
        """Make the parts."""
        dut, model = cocotb.top, self.model
        bus = StreamBus(dut, f"{model.prefix}_in", model.inputs, ready=False)
        self.source = StreamAgent("source", self, bus, "source", self.pattern)
        bus = StreamBus(dut, f"{model.prefix}_out", model.outputs, ready=False)
        self.sink = StreamAgent("sink", self, bus, "passive")
        self.scoreboard = Scoreboard("scoreboard", self, model=self._predict)
        points = {
            point: {str(label): self._holds(f"{point}.{label}") for label in labels}
            for point, labels in model.points().items()
        }
        self.coverage = Coverage("coverage", self, f"qat.{model.prefix}", points)

    def connect_phase(self) -> None:
        """Connect the monitors."""
        self.source.ap.connect(self.scoreboard.inputs)
        self.sink.ap.connect(self.scoreboard.outputs)

    @staticmethod
    def _holds(name: str) -> Callable[[Any], bool]:
        return lambda facts: name in facts

    def _predict(self, item: StreamItem) -> list[StreamItem]:
        (out,) = self.model(item)
        self.coverage.sample(set(self.model.facts(item, out)))
        return [out]


def true(point: str, **conditions: object) -> Iterator[str]:
    """The bins of a point whose conditions hold."""
    return (f"{point}.{name}" for name, holds in conditions.items() if holds)


# ---- Monitor
class Monitor(Model):
    """Pairs and shifts of all tensors after each set of lines."""

    prefix = "monitor"
    inputs = ("cores", "tensor", "data")
    outputs = ("low", "high", "shift")

    def __init__(self) -> None:
        self.pairs = [(0, 0)] * TENSORS

    def items(self, count: int) -> Iterable[StreamItem]:
        """Lines with each shift, then lines of growing size, some of both cores in one tensor."""
        generator, cores = rng("monitor"), size("Cores")
        for shift in range(1, 17):
            largest = generator.choice((-1, 1)) << 14 + shift
            words = [largest, *[0] * (cores * size("Lw") - 1)]
            yield StreamItem(cores=1, tensor=shift % TENSORS, data=pack(words))
        for index in range(count):
            tensors = [generator.randrange(TENSORS) for _ in range(cores)]
            if generator.random() < 0.3:
                tensors = tensors[:1] * cores
            most = 1 + 32 * index // count
            words = [
                generator.getrandbits(32) - WORD >> 32 - generator.randint(1, most)
                for _ in range(cores * size("Lw"))
            ]
            if index > count - 20:
                words[generator.randrange(len(words))] = generator.choice((-WORD, WORD - 1))
            yield StreamItem(
                cores=generator.randrange(1, 1 << cores),
                tensor=sum(tensor << 3 * core for core, tensor in enumerate(tensors)),
                data=pack(words),
            )

    def __call__(self, item: StreamItem) -> Iterable[StreamItem]:
        """All pairs."""
        lw = size("Lw")
        lines = unpack(item.data, size("Cores") * lw)
        for core in range(size("Cores")):
            if item.cores >> core & 1:
                k = item.tensor >> 3 * core & 7
                line = lines[core * lw : (core + 1) * lw]
                self.pairs[k] = ops.monitor(*self.pairs[k], line)
        low, high = np.array(self.pairs).T
        shifts = np.array([ops.shift_of(*pair) for pair in self.pairs])
        return [StreamItem(low=pack(low), high=pack(high), shift=pack(shifts, 5))]

    def points(self) -> Mapping[str, Iterable[str]]:
        """Each tensor, each shift, both cores at once, the ends."""
        return {
            "tensor": map(str, range(TENSORS)),
            "shift": map(str, range(17)),
            "cores": ("one", "two_tensors", "same_tensor"),
            "end": ("least", "largest"),
        }

    def facts(self, item: StreamItem, out: StreamItem) -> Iterable[str]:
        """The tensors of the cores, the shifts after them."""
        cores = [core for core in range(size("Cores")) if item.cores >> core & 1]
        tensors = [item.tensor >> 3 * core & 7 for core in cores]
        yield from (f"tensor.{k}" for k in tensors)
        yield from (f"shift.{out.shift >> 5 * k & 31}" for k in range(TENSORS))
        different = len(set(tensors))
        yield from true(
            "cores", one=len(cores) == 1, two_tensors=different == 2,
            same_tensor=len(cores) > different,
        )  # fmt: skip
        yield from true(
            "end", least=min(low for low, _ in self.pairs) == -WORD,
            largest=max(high for _, high in self.pairs) == WORD - 1,
        )  # fmt: skip


# ---- Loss
class Loss(Model):
    """Targets of q', and errors and seeds of q; the sums in `q`, `td` and `count`."""

    prefix = "loss"
    inputs = (
        "lanes", "error", "weighted", "scale", "q", "y", "weight", "reward", "discount",
    )  # fmt: skip
    outputs = ("lanes", "error", "result", "td", "float", "saturated")

    def __init__(self) -> None:
        self.q = self.td = self.count = 0

    def items(self, count: int) -> Iterable[StreamItem]:
        """Lanes of both kinds, of all sizes; terminal ones; each scale."""
        generator, lanes = rng("loss"), size("Lanes")

        def words() -> int:
            return pack(any_size(generator) for _ in range(lanes))

        for _ in range(count):
            weights = [generator.choice((1 << 24, generator.getrandbits(25), 0)) for _ in range(4)]
            discounts = [generator.choice((0, generator.getrandbits(32), 4252017623, (1 << 32) - 1))
                         for _ in range(lanes)]  # fmt: skip
            yield StreamItem(
                lanes=generator.randrange(1, 1 << lanes), error=generator.getrandbits(1),
                weighted=generator.getrandbits(1), scale=generator.getrandbits(4), q=words(),
                y=words(), weight=pack(weights[:lanes], 25), reward=words(),
                discount=pack(discounts),
            )  # fmt: skip

    def __call__(self, item: StreamItem) -> Iterable[StreamItem]:
        """The lanes that came; 0 in the others."""
        lanes = size("Lanes")
        mask = np.array([item.lanes >> lane & 1 for lane in range(lanes)], bool)
        q = unpack(item.q, lanes)[mask]
        td, result, floats = (np.zeros(lanes, np.int64) for _ in range(3))
        if item.error:
            weight = unpack(item.weight, lanes, 25, signed=False)[mask] if item.weighted else None
            scale = item.scale - (item.scale >> 3 << 4)
            found = ops.errors(q, unpack(item.y, lanes)[mask], weight, scale)
            td[mask], result[mask], over = found.td, found.seed, found.saturated
            floats[mask] = from_fixed(np.abs(found.td), ops.ACTIVATION).view(np.uint32)
            self.q += int(q.sum())
            self.td += int(np.abs(found.td).sum())
            self.count += len(q)
        else:
            discount = unpack(item.discount, lanes, signed=False)[mask]
            result[mask], over = ops.target(q, unpack(item.reward, lanes)[mask], discount)
        yield StreamItem(
            lanes=item.lanes, error=item.error, result=pack(result), td=pack(td),
            float=pack(floats), saturated=over,
        )  # fmt: skip

    def points(self) -> Mapping[str, Iterable[str]]:
        """Kinds, scales, terminal transitions, saturation of each kind."""
        return {
            "kind": ("target", "error", "weighted", "all_lanes", "terminal", "weight_0"),
            "scale": map(str, range(-8, 8)),
            "saturation": ("target", "error", "seed", "seed_low", "many"),
        }

    def facts(self, item: StreamItem, out: StreamItem) -> Iterable[str]:
        """What the lanes were, and where they were saturated."""
        lanes = [lane for lane in range(size("Lanes")) if item.lanes >> lane & 1]

        def words(value: int, bits: int = 32) -> list[int]:
            return [value >> bits * lane & (1 << bits) - 1 for lane in lanes]

        error = bool(item.error)
        yield from true(
            "kind", target=not error, error=error and not item.weighted,
            weighted=error and item.weighted, all_lanes=len(lanes) == size("Lanes"),
            terminal=not error and 0 in words(item.discount),
            weight_0=error and 0 in words(item.weight, 25),
        )  # fmt: skip
        if error:
            yield f"scale.{item.scale - (item.scale >> 3 << 4)}"
        yield from true(
            "saturation", target=not error and out.saturated, error=WORD - 1 in words(out.td),
            seed=error and WORD - 1 in words(out.result),
            seed_low=error and WORD in words(out.result), many=out.saturated > 2,
        )  # fmt: skip


# ---- Noise
class Noise(Model):
    """Actions of lines; `drawn` has the noise of the next line with it."""

    prefix = "noise"
    inputs = ("noise", "data")
    outputs = ("data",)

    def __init__(self) -> None:
        self.generator = Xoshiro()
        self.x = [0] * size("Lw")
        self.drawn = [0] * size("Lw")

    def draw(self, kind: int, actions: int, sigma: int, theta: int) -> None:
        """Draw the noise of the next line."""
        drawn = noise.draw(kind, self.generator, self.x, actions, sigma, theta)
        self.drawn = drawn + [0] * (size("Lw") - actions)

    def line(self, generator: random.Random) -> StreamItem:
        """A line of an actor's outputs."""
        words = [generator.randint(-noise.ONE, noise.ONE) for _ in range(size("Lw"))]
        return StreamItem(noise=generator.random() < 0.8, data=pack(words))

    def __call__(self, item: StreamItem) -> Iterable[StreamItem]:
        """The action."""
        words = unpack(item.data, size("Lw"))
        drawn = self.drawn if item.noise else [0] * len(words)
        action = [noise.disturb(int(w), d) for w, d in zip(words, drawn, strict=True)]
        yield StreamItem(data=pack(action))

    def points(self) -> Mapping[str, Iterable[str]]:
        """With and without noise, both ends of an action."""
        return {"line": ("plain", "noise", "most", "least")}

    def facts(self, item: StreamItem, out: StreamItem) -> Iterable[str]:
        """Whether there is noise, and whether the action is clamped."""
        words = unpack(out.data, size("Lw"))
        yield from true(
            "line", plain=not item.noise, noise=item.noise and item.data != out.data,
            most=noise.ONE in words, least=-noise.ONE in words,
        )  # fmt: skip


# ---- Adam
class Adam(Model):
    """New words of a slice, with `scalars`."""

    prefix = "adam"
    inputs = ("tag", "w", "m", "v", "t", "g")
    outputs = ("tag", "w", "m", "v", "t", "over")

    def __init__(self) -> None:
        self.scalars = ops.Adam(1677722, 16777, 1, 1 << 20, 83886)

    def change(self, generator: random.Random, index: int) -> None:
        """Other scalars: usual ones, ends, or any; of 25 in a row each tau with each epsilon."""
        half = 1 << 23  # of which many products are ties
        tau = (83886, half, 0, 1 << 24, generator.randint(0, 1 << 24))
        eps = (1, 2, 3, (1 << 24) - 1, generator.randint(1, (1 << 24) - 1))
        c1, c2, rate = (
            generator.choice((*some, 1, end, generator.randint(1, end)))
            for *some, end in (
                (1677722, half, (1 << 24) - 1), (16777, half, (1 << 24) - 1),
                (1 << 20, 1 << 25, (1 << 26) - 1),
            )
        )  # fmt: skip
        self.scalars = ops.Adam(c1, c2, eps[index // 5 % 5], rate, tau[index % 5])

    def items(self, count: int, generator: random.Random | None = None) -> Iterable[StreamItem]:
        """Words of all sizes; second moments about the square, at both ends, and of any size."""
        generator = generator or rng("adam")
        for _ in range(count):
            words: dict[str, list[int]] = {name: [] for name in "wmvtg"}
            for _ in range(size("Lw")):
                for name in "wmtg":
                    words[name].append(any_size(generator))
                square = words["g"][-1] ** 2
                anything = generator.getrandbits(64) >> generator.randrange(64)
                near = max(0, square + generator.randint(-2, 2))
                words["v"].append(generator.choice((anything, near, 0, (1 << 64) - 1)))
                if generator.random() < 0.05:
                    for name in "wmvtg":
                        words[name][-1] = 0
            packed = {
                name: pack(values, 64 if name == "v" else 32)
                for name, values in words.items()
            }  # fmt: skip
            yield StreamItem(tag=generator.getrandbits(17), **packed)

    def __call__(self, item: StreamItem) -> Iterable[StreamItem]:
        """The new words."""
        lw = size("Lw")
        w, m, t, g = (unpack(getattr(item, name), lw).astype(np.int32) for name in "wmtg")
        v = unpack(item.v, lw, 64, signed=False)
        over = ops.adam(w, m, v, t, g, self.scalars)
        yield StreamItem(
            tag=item.tag, w=pack(w), m=pack(m), v=pack(v, 64), t=pack(t), over=over,
        )  # fmt: skip

    def points(self) -> Mapping[str, Iterable[str]]:
        """Scalars at their ends; moments at theirs; what is saturated; padding."""
        return {
            "tau": ("none", "whole", "part"),
            "eps": ("one", "largest"),
            "second": ("zero", "largest"),
            "result": ("clipped", "padding", "weight_saturated"),
        }

    def facts(self, item: StreamItem, out: StreamItem) -> Iterable[str]:
        """What the words were."""
        lw, s = size("Lw"), self.scalars
        lanes = [unpack(getattr(item, name), lw) for name in "wmtg"]
        seconds = [unpack(port.v, lw, 64, signed=False) for port in (item, out)]
        roots = np.sqrt(seconds[1].astype(np.float64)) + s.eps + 1
        yield from true("tau", none=s.tau == 0, whole=s.tau == 1 << 24, part=0 < s.tau < 1 << 24)
        yield from true("eps", one=s.eps == 1, largest=s.eps == (1 << 24) - 1)
        yield from true(
            "second", zero=not seconds[0].all(), largest=(~seconds[0] == 0).any()
        )  # fmt: skip
        yield from true(
            "result", clipped=(np.abs(unpack(out.m, lw)) > 8 * roots).any(),
            padding=(~np.any([*lanes, seconds[0]], axis=0)).any(),
            weight_saturated=out.over > 0,
        )  # fmt: skip
