"""Where parameters lie: geometry of a build, packing of rows, images of networks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from models.learner.tree import padded_length

IMAGE_PAD = 16  # words to which every section of an image is padded (64 bytes)
MAX_LAYERS = 6  # layers that a network record can name


@dataclass(frozen=True)
class Geometry:
    """Parameters of a learner build (capability words CAP0..CAP4).

    Attributes:
        p: lanes, words of a memory row; power of two 8..128.
        ob: words of a bias row.
        gi: samples of an AXPY group.
        lw: words the weight update handles per clock.
        b_max: largest batch.
        d_max: most inputs or outputs of a layer.
        l_max, net_max, st_max: most layers, networks, stages.
        w_rows, a_rows: rows of the weight memory (also of its bias memory), of the frame memory.
        dp: pipelines.
        ntu: tensor units of a pipeline.
        actor_critic: 1 if it runs actor-critic programs, else 0: LOSS_TD, LOSS_PI, tanh, actions
            of float32, column copies, delayed stages, two phases.
    """

    p: int = 16
    ob: int = 4
    gi: int = 8
    lw: int = 4
    b_max: int = 64
    d_max: int = 64
    l_max: int = 4
    net_max: int = 6
    st_max: int = 64
    w_rows: int = 1024
    a_rows: int = 2048
    dp: int = 1
    ntu: int = 1
    actor_critic: int = 0

    def pitch(self, n_in: int) -> int:
        """Return the words between two packed weight rows of n_in inputs."""
        return padded_length(n_in) if n_in <= self.p else -(-n_in // self.p) * self.p

    def weight_rows(self, n_in: int, n_out: int) -> int:
        """Return the memory rows of a layer's weights."""
        return -(-n_out * self.pitch(n_in) // self.p)

    def vector_rows(self, n: int) -> int:
        """Return the frame rows of a vector."""
        return -(-n // self.p)


@dataclass(frozen=True)
class Layer:
    """A fully connected layer."""

    n_in: int
    n_out: int


@dataclass(frozen=True)
class Network:
    """A network record: sizes and where its parameters lie.

    Attributes:
        layers: its layers, first to last.
        has_target: two target banks lie after the online bank.
        row_base, rows: first memory row of the online bank, rows of a bank.
        bias_base, biases: first bias word of the online bank, bias words of a bank.
        column, columns: first of the inputs whose columns of the online first layer are kept a
            second time, as rows; their number, 0 for no copy.
        column_row: first memory row of that copy, which is packed as a layer of n_out inputs and
            `columns` outputs.
    """

    layers: tuple[Layer, ...]
    has_target: bool
    row_base: int
    rows: int
    bias_base: int
    biases: int
    column: int = 0
    columns: int = 0
    column_row: int = 0

    def encode(self) -> np.ndarray:
        """Return the record, [16] uint32."""
        out = np.zeros(16, np.uint32)
        out[0] = len(self.layers) | self.has_target << 8
        out[1] = self.row_base | self.rows << 16
        out[2] = self.bias_base | self.biases << 16
        for index, layer in enumerate(self.layers[:MAX_LAYERS]):
            out[4 + index] = layer.n_in | layer.n_out << 16
        out[10] = self.column | self.columns << 16
        out[11] = self.column_row
        return out

    @classmethod
    def decode(cls, words: np.ndarray) -> Network:
        """Inverse of encode; nothing is checked."""
        w = [int(x) for x in words]
        count = min(w[0] & 0xFF, MAX_LAYERS)
        return cls(
            layers=tuple(Layer(x & 0xFFFF, x >> 16) for x in w[4 : 4 + count]),
            has_target=bool(w[0] >> 8 & 1),
            row_base=w[1] & 0xFFFF,
            rows=w[1] >> 16,
            bias_base=w[2] & 0xFFFF,
            biases=w[2] >> 16,
            column=w[10] & 0xFFFF,
            columns=w[10] >> 16,
            column_row=w[11] & 0xFFFF,
        )


@dataclass(frozen=True)
class Section:
    """A run of words of an image: a layer's weights or biases.

    Attributes:
        bias: biases, else weights.
        image: slice of the image (padding to 64 bytes not included).
        memory: slice of the weight or bias memory, in words, of the online bank.
        valid: [words] bool, the words that are no padding.
    """

    bias: bool
    image: slice
    memory: slice
    valid: np.ndarray


class ImageMap:
    """The parameter image of a network and its places in the pipeline's memories.

    Images hold, layer by layer, n_out packed rows and n_out biases, each padded to 64 bytes.
    """

    def __init__(self, geometry: Geometry, network: Network) -> None:
        self.geometry = geometry
        self.network = network
        self.sections: list[Section] = []
        position, row, bias = 0, network.row_base, network.bias_base
        for layer in network.layers:
            pitch = geometry.pitch(layer.n_in)
            count = layer.n_out * pitch
            valid = np.tile(np.arange(pitch) < layer.n_in, layer.n_out)
            start = row * geometry.p
            self.sections.append(
                Section(
                    False, slice(position, position + count), slice(start, start + count), valid
                )
            )
            position += -(-count // IMAGE_PAD) * IMAGE_PAD
            row += geometry.weight_rows(layer.n_in, layer.n_out)
            valid = np.ones(layer.n_out, bool)
            self.sections.append(
                Section(
                    True, slice(position, position + layer.n_out),
                    slice(bias, bias + layer.n_out), valid,
                )
            )  # fmt: skip
            position += -(-layer.n_out // IMAGE_PAD) * IMAGE_PAD
            bias += -(-layer.n_out // geometry.ob) * geometry.ob
        self.words = position
        self.valid = np.zeros(position, bool)
        for section in self.sections:
            self.valid[section.image] = section.valid

    def scatter(
        self,
        image: np.ndarray,
        weights: np.ndarray,
        biases: np.ndarray,
        row_words: int = 0,
        bias_words: int = 0,
    ) -> None:
        """Write an image into flat memories, offset by row_words and bias_words."""
        for s in self.sections:
            memory, offset = (biases, bias_words) if s.bias else (weights, row_words)
            memory[s.memory.start + offset : s.memory.stop + offset] = image[s.image]

    def scatter_columns(self, image: np.ndarray, weights: np.ndarray) -> None:
        """Write the copy of the first layer's columns, if the network has one.

        Row c of the copy holds W[0..n_out-1][column + c] of the first layer; the padding after it
        is left as it is, and no result depends on it.
        """
        net, geometry = self.network, self.geometry
        if not net.columns:
            return
        layer = net.layers[0]
        first = image[self.sections[0].image].reshape(layer.n_out, -1)
        pitch = geometry.pitch(layer.n_out)
        start = net.column_row * geometry.p
        rows = weights[start : start + net.columns * pitch].reshape(net.columns, pitch)
        rows[:, : layer.n_out] = first[:, net.column : net.column + net.columns].T

    def gather(self, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        """Read an image of the online bank from flat memories; padding is +0."""
        image = np.zeros(self.words, np.float32)
        for s in self.sections:
            memory = biases if s.bias else weights
            image[s.image] = np.where(s.valid, memory[s.memory], np.float32(0))
        return image

    def pack(self, parameters: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Make an image.

        Args:
            parameters: a (weight [n_out, n_in], bias [n_out]) pair a layer, as PyTorch keeps them.
        Returns: [words] float32.
        """
        image = np.zeros(self.words, np.float32)
        flat = [array for pair in parameters for array in pair]
        for s, array in zip(self.sections, flat, strict=True):
            part = np.zeros(s.valid.size, np.float32)
            part[s.valid] = np.asarray(array, np.float32).reshape(-1)
            image[s.image] = part
        return image

    def unpack(self, image: np.ndarray, network: Network) -> list[tuple[np.ndarray, np.ndarray]]:
        """Inverse of pack."""
        arrays = [image[s.image][s.valid] for s in self.sections]
        return [
            (arrays[2 * k].reshape(layer.n_out, layer.n_in).copy(), arrays[2 * k + 1].copy())
            for k, layer in enumerate(network.layers)
        ]


def allocate(
    geometry: Geometry,
    sizes: list[int],
    has_target: bool,
    row_base: int = 0,
    bias_base: int = 0,
    columns: tuple[int, int] = (0, 0),
) -> Network:
    """Place a network of the given layer sizes after what is already allocated.

    Args:
        sizes: node counts, input first: [4, 64, 64, 2] has three layers.
        row_base, bias_base: first free row and bias word (multiple of ob).
        columns: first and number of the inputs whose columns are copied, after all banks.
    """
    layers = tuple(Layer(a, b) for a, b in itertools.pairwise(sizes))
    rows = sum(geometry.weight_rows(x.n_in, x.n_out) for x in layers)
    biases = sum(-(-x.n_out // geometry.ob) * geometry.ob for x in layers)
    column, count = columns
    copy = row_base + (3 if has_target else 1) * rows if count else 0
    return Network(layers, has_target, row_base, rows, bias_base, biases, column, count, copy)


def free_place(geometry: Geometry, network: Network) -> tuple[int, int]:
    """Return the first row and bias word after a network that `allocate` placed."""
    banks = 3 if network.has_target else 1
    row = network.row_base + banks * network.rows
    if network.columns:
        row += geometry.weight_rows(network.layers[0].n_out, network.columns)
    return row, network.bias_base + banks * network.biases
