"""IC3Net on the sparse engine: its layers, and where its tensors lie.

A step of a tile is a record in the activation store; records of a step are one after the other.

Source: Singh, Jain, Sukhbaatar 2019 (IC3Net); LearningGroup; docs/sparse.md (network).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

from models.sparse.formats import (
    MOST_TILES,
    SETS,
    VECTORS,
    Geometry,
    Layer,
    Tensor,
    pitch,
)

ENC, COM, LST, HED = range(4)  # layers
NAMES = ("enc", "com", "lst", "hed")
OUTPUTS = 8  # 5 actions, 2 gate logits, 1 value
ACTIONS, GATES = 5, 2
CUT = 10  # steps after which no gradient goes back
HEAD_SPLIT_LOG2 = 2  # KSPLIT of the heads, where the lanes suffice
MOST_PARTS, LEAST_TILES = 4, 2  # of a chunk; of a part, unless the chunk has fewer


class DoesNotFit(ValueError):
    """A network does not fit into a build.

    Attributes:
        what, needed, present: what there is too little of.
        parameter: of the build.
    """

    def __init__(self, what: str, needed: int, present: int, parameter: str) -> None:
        super().__init__(f"{what}: {needed}, this build has {present} ({parameter})")
        self.what, self.needed, self.present, self.parameter = what, needed, present, parameter


@dataclass(frozen=True)
class Sizes:
    """What is trained.

    Attributes:
        observations: O, as the environment gives them.
        agents, episodes: A and B; V = A * B vectors.
        steps: T, of an episode at most.
        hidden: H, a multiple of 8.
        groups: G of the layers enc, com and lst.
        head_groups: G of the layer hed.
        row: ROW split: rows over cores; False: episodes over cores.
    """

    observations: int
    agents: int
    episodes: int
    steps: int
    hidden: int = 128
    groups: int = 1
    head_groups: int = 1
    row: bool = False

    @property
    def padded(self) -> int:
        """Observations, a multiple of 8."""
        return -(-self.observations // 8) * 8

    @property
    def groups_of_all(self) -> list[int]:
        """G of each layer."""
        return [self.head_groups if layer == HED else self.groups for layer in range(len(NAMES))]

    @property
    def vectors(self) -> int:
        """V."""
        return self.agents * self.episodes


def layers(sizes: Sizes, geometry: Geometry) -> list[Layer]:
    """The network table. Raises: DoesNotFit."""
    h, o = sizes.hidden, sizes.padded
    split = HEAD_SPLIT_LOG2
    while sizes.head_groups > 1 or OUTPUTS << split > geometry.lanes or 1 << split > geometry.slots:
        if split == 0:
            break
        split -= 1
    shapes = [(o, h), (h, h), (2 * h, 4 * h), (h, OUTPUTS)]
    # Most tiles of FW and dX. A plan of more tiles than that would leave banks idle.
    layout = Layout(sizes, geometry)

    def most(cut: Callable[[Group], Sequence[Group]]) -> int:
        return max(max(part.tiles) for chunk in layout.chunks for part in cut(chunk))

    parts = most(layout.parts)
    tiles = [most(layout.encoder_parts), parts, parts, most(lambda chunk: [chunk])]
    found: list[Layer] = []
    at = [0, 0, 0, 0]
    for k, (m, n) in enumerate(shapes):
        layer = Layer(
            m, n, sizes.groups_of_all[k], split if k == HED else 0, k == HED and n < geometry.lanes,
            tiles[k], *at,
        )  # fmt: skip
        found.append(layer)
        at = [
            at[0] + m * pitch(n),
            at[1] + n,
            at[2] + sum(layer.grouping),
            at[3] + layer.states,
        ]
    widest = max(o, 4 * h)
    for what, needed, present, name in (
        ("layer", max(chain(*shapes)), geometry.d_max, "SparseDMax"),
        ("layers", len(found), geometry.l_max, "SparseLMax"),
        ("groups", max(sizes.groups_of_all), geometry.g_max, "SparseGMax"),
        ("parameters", at[0], geometry.p_words, "SparsePWords"),
        ("biases", at[1], geometry.b_words, "SparseBWords"),
        ("lines of grouping entries", at[2], geometry.m_rows, "SparseMRows"),
        ("grouping states", at[3], geometry.s_words, "SparseSWords"),
        ("lines of operand X", SETS * MOST_TILES * widest, geometry.x_rows, "SparseXRows"),
        ("lines of operand Y", SETS * MOST_TILES * widest, geometry.y_rows, "SparseYRows"),
    ):
        if needed > present:
            raise DoesNotFit(what, needed, present, name)
    return found


@dataclass(frozen=True)
class Group:
    """Tiles that an instruction works on.

    Attributes:
        first: tile of each core.
        tiles: of core 0, 1 and 2.
    """

    first: int
    tiles: tuple[int, int, int]


@dataclass(frozen=True)
class Layout:
    """Where everything lies.

    Attributes:
        sizes: of the network.
        geometry: of the build.
    """

    sizes: Sizes
    geometry: Geometry

    @cached_property
    def counts(self) -> list[int]:
        """Vectors of each core."""
        s, cores = self.sizes, self.geometry.cores
        if s.row:
            return [s.vectors] * cores
        ends = [c * s.episodes // cores for c in range(cores + 1)]
        return [s.agents * (b - a) for a, b in pairwise(ends)]

    @cached_property
    def firsts(self) -> list[int]:
        """First vector of each core."""
        if self.sizes.row:
            return [0] * self.geometry.cores
        return [sum(self.counts[:c]) for c in range(self.geometry.cores)]

    @property
    def tiles(self) -> int:
        """Tiles of the core that has the most."""
        return -(-max(self.counts) // VECTORS)

    @property
    def border(self) -> int:
        """Tiles between two borders of episodes."""
        agents = self.sizes.agents
        return agents // math.gcd(agents, VECTORS)

    @cached_property
    def chunks(self) -> list[Group]:
        """Tiles that go through the array at once. Raises: DoesNotFit."""
        if self.tiles <= MOST_TILES:
            return [self.group(0, self.tiles)]
        width = MOST_TILES // self.border * self.border
        if not width:
            raise DoesNotFit("tiles between two episodes", self.border, MOST_TILES, "SparseXRows")
        return [self.group(k, min(k + width, self.tiles)) for k in range(0, self.tiles, width)]

    def parts(self, chunk: Group) -> list[Group]:
        """The parts of a chunk, cut between episodes."""
        first, width = chunk.first, max(chunk.tiles)
        blocks = -(-width // self.border)
        count = max(1, min(MOST_PARTS, blocks, width // LEAST_TILES))
        cuts = [first + k * blocks // count * self.border for k in range(count)] + [first + width]
        return [self.group(a, b) for a, b in pairwise(cuts)]

    def forward_parts(self, chunk: Group) -> list[Group]:
        """The parts of a chunk on the way forward.

        A step waits for the communication of its first part, so that one is cut in two, between
        episodes. A dense layer would take as long for a half: half of the banks would rest.
        """
        parts = self.parts(chunk)
        width = max(parts[0].tiles)
        middle = chunk.first + width // self.border // 2 * self.border
        if self.sizes.groups == 1 or middle == chunk.first:
            return parts
        first = [self.group(chunk.first, middle), self.group(middle, chunk.first + width)]
        return [*first, *parts[1:]]

    def encoder_parts(self, chunk: Group) -> list[Group]:
        """What the encoder takes at once: the parts in two halves."""
        parts = self.parts(chunk)
        half, last = parts[(len(parts) - 1) // 2], parts[-1]
        cuts = [chunk.first, *(part.first + max(part.tiles) for part in (half, last))]
        return [self.group(a, b) for a, b in pairwise(dict.fromkeys(cuts))]

    def group(self, first: int, end: int) -> Group:
        """The tiles first..end-1 of each core, as far as it has them."""
        have = [-(-count // VECTORS) for count in self.counts]
        tiles = [max(0, min(end, count) - first) for count in have]
        tiles += [0] * (3 - len(tiles))
        return Group(first, (tiles[0], tiles[1], tiles[2]))

    # ---- The activation store ----
    @cached_property
    def places(self) -> dict[str, int]:
        """Lines of the tensors within a record, and `size`."""
        h, o = self.sizes.hidden // 8, self.sizes.padded // 8
        at, found = 0, {}
        for name, count in (
            ("obs", o), ("gate", 1), ("c", h), ("inp", h), ("block", 8 * h), ("out", 1),
            ("dout", 1), ("dinp", h),
        ):  # fmt: skip
            found[name] = at
            at += count
        return {**found, "size": at}

    @property
    def lines(self) -> int:
        """Lines of the store in use."""
        h = self.sizes.hidden // 8
        return self.sizes.steps * self.tiles * self.places["size"] + 8 * h + 2 * self.tiles * h

    def tensor(self, name: str, step: int, group: Group) -> Tensor:
        """A tensor of a step; the block of step -1 is one record of zeros for all tiles."""
        size, h = self.places["size"], self.sizes.hidden // 8
        zero = self.sizes.steps * self.tiles * size
        if name in ("dh", "dcom"):
            first = zero + 8 * h + (self.tiles * h if name == "dcom" else 0)
            return Tensor(first + group.first * h, 0, h)
        if step < 0:
            return Tensor(zero, 0, 0)
        line = (step * self.tiles + group.first) * size + self.places[name]
        return Tensor(line, 0, size)

    def part(self, number: int, step: int, group: Group) -> Tensor:
        """A tensor of the LSTM's block."""
        block = self.tensor("block", step, group)
        return Tensor(block.line + number * (self.sizes.hidden // 8), number, block.stride)

    def check(self) -> None:
        """Raises: DoesNotFit."""
        layers(self.sizes, self.geometry)
        if self.lines > self.geometry.a_rows:
            raise DoesNotFit("activation lines", self.lines, self.geometry.a_rows, "SparseARows")
        assert self.chunks
        if self.places["size"] > 0x3FF:
            raise DoesNotFit("lines of a step", self.places["size"], 0x3FF, "SparseDMax")
