"""Networks and builds: the network descriptor and all constants that follow from it.

A network is convolutions, then at least one fully connected layer. Its descriptor says only the
layers' shapes and lanes; where parameters and feature maps lie follows from that by the formulas
here, which the engine computes, too.

Source: a3c 2 (maxima), 5 (layouts), 10.3 (descriptor); FA3C 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.a3c.ops import output_size

CONV, FC = 1, 2
MAGIC = 0xA3C0
LAYER_WORDS = 4
ROW_WORDS = 16  # words of a row, a beat of 64 bytes
BEAT_BYTES = 64
SLOT_BYTES = 4096  # to which a slot of parameters or feature maps is rounded up
LANES = (16, 32, 64, 128)
STRIDES = (1, 2, 4)
LAYERS_MAX = 8
SIZE_MAX = 128  # rows or columns of a map
KERNEL_MAX = 16
COLUMNS_MAX = 64  # output columns of a convolution
CHANNELS_MAX = 512
FC_INPUTS_MAX = 65536
FC_OUTPUTS_MAX = 1024


@dataclass(frozen=True)
class Geometry:
    """Parameters of a build (capability words).

    Attributes:
        n_pe: processing elements of a compute unit: 16, 32, 64 or 128.
        n_pair: pairs of compute units.
        single_cu: a pair is one unit with both roles.
        port_per_cu: a memory port for each unit, else for each pair.
        alt_en: the published alternatives of the layout are present.
        lm, la: latency of multiplier and adder, clocks; la 2..8.
        n_ru: RMSProp units of a training unit.
        nb_max: largest batch.
        n_net: network slots.
        fm_rows: feature-map buffer, rows of 16 words.
        pb_inference, pb_training: parameter ring of each kind of unit, rows of 16 words.
        gb_rows: gradient buffer, rows of 16 words.
        line_words: words of a line buffer's half.
        contexts: accumulation contexts of a half.
        lane_entries: entries of the lane buffer.
    """

    n_pe: int = 64
    n_pair: int = 2
    single_cu: bool = False
    port_per_cu: bool = True
    alt_en: bool = False
    lm: int = 3
    la: int = 4
    n_ru: int = 8
    nb_max: int = 8
    n_net: int = 4
    fm_rows: int = 8192
    pb_inference: int = 32768
    pb_training: int = 4096
    gb_rows: int = 16384
    line_words: int = 256
    contexts: int = 32
    lane_entries: int = 64

    @property
    def cus(self) -> int:
        """Compute units."""
        return self.n_pair if self.single_cu else 2 * self.n_pair

    def groups(self, lanes: int) -> int:
        """Groups of `lanes` processing elements in a unit."""
        return self.n_pe // lanes


FULL = Geometry()
PAPER = Geometry(
    port_per_cu=False, alt_en=False, n_ru=4, pb_inference=4096, gb_rows=4096
)  # as many memories as the paper's
SMALL = Geometry(
    n_pe=16, n_pair=1, port_per_cu=False, alt_en=False, n_ru=4,
    fm_rows=1024, pb_inference=2048, pb_training=1024, gb_rows=1024,
)  # fmt: skip
TINY = Geometry(
    n_pe=16, n_pair=1, port_per_cu=False, alt_en=False, n_ru=4,
    fm_rows=512, pb_inference=512, pb_training=512, gb_rows=512,
)  # fmt: skip


@dataclass(frozen=True)
class Layer:
    """A layer as its descriptor says it.

    Attributes:
        kind: CONV or FC.
        inputs: input channels I, or inputs Q of a fully connected layer.
        outputs: output channels or outputs O.
        height, width: H, W of the input map; 1 for FC.
        kernel, stride: K, S; 1 for FC.
        relu: a ReLU follows.
        lanes_forward, lanes_backward: lanes in FW and GC, and in BW: 16, 32, 64 or 128.
    """

    kind: int
    inputs: int
    outputs: int
    height: int = 1
    width: int = 1
    kernel: int = 1
    stride: int = 1
    relu: bool = True
    lanes_forward: int = 16
    lanes_backward: int = 16

    @property
    def rows(self) -> int:
        """R, rows of the output map."""
        return output_size(self.height, self.kernel, self.stride)

    @property
    def columns(self) -> int:
        """C, columns of the output map."""
        return output_size(self.width, self.kernel, self.stride)

    @property
    def taps(self) -> int:
        """J, taps along an axis of the convolution of stride 1 that this one is."""
        return -(-self.kernel // self.stride)

    @property
    def padded_inputs(self) -> int:
        """IPAD, channels of a tap and phase: S*S*IPAD is a multiple of 16."""
        steps = (1, 2, 4, 8, *range(ROW_WORDS, max(self.inputs, 1) + ROW_WORDS, ROW_WORDS))
        area = self.stride * self.stride
        return next(p for p in steps if p >= self.inputs and area * p % ROW_WORDS == 0)

    @property
    def phases(self) -> int:
        """S*S*IPAD, channels of that convolution."""
        return self.stride * self.stride * self.padded_inputs

    @property
    def terms(self) -> int:
        """Q, positions along the input side of the parameters (dead taps included)."""
        return self.taps * self.taps * self.phases if self.kind == CONV else self.inputs

    @property
    def term_blocks(self) -> int:
        """QP/16, patches along the input side."""
        return -(-self.terms // ROW_WORDS)

    @property
    def output_blocks(self) -> int:
        """OB, patches along the output side: OPAD/16, OPAD a multiple of the forward lanes."""
        return -(-self.outputs // self.lanes_forward) * self.lanes_forward // ROW_WORDS

    @property
    def parameter_beats(self) -> int:
        """Beats of the layer's biases and weights in memory."""
        return self.output_blocks * (1 + ROW_WORDS * self.term_blocks)

    @property
    def macs(self) -> int:
        """Multiplications of a sample's forward pass, biases not counted."""
        area = self.rows * self.columns * self.kernel**2
        return area * self.inputs * self.outputs

    def encode(self) -> np.ndarray:
        """Return the descriptor's words, [4] uint32."""
        codes = [LANES.index(lanes) for lanes in (self.lanes_forward, self.lanes_backward)]
        words = [
            self.kind | self.relu << 8 | codes[0] << 12 | codes[1] << 16,
            self.inputs | self.outputs << 20,
            self.height | self.width << 16,
            self.kernel | self.stride << 8,
        ]
        return np.array(words, np.uint32)

    @classmethod
    def decode(cls, words: np.ndarray) -> Layer:
        """Inverse of encode; nothing is checked."""
        w = [int(x) for x in words]
        return cls(
            kind=w[0] & 0xFF,
            inputs=w[1] & 0xF_FFFF,
            outputs=w[1] >> 20,
            height=w[2] & 0xFFFF,
            width=w[2] >> 16,
            kernel=w[3] & 0xFF,
            stride=w[3] >> 8 & 0xFF,
            relu=bool(w[0] >> 8 & 1),
            lanes_forward=LANES[w[0] >> 12 & 3],
            lanes_backward=LANES[w[0] >> 16 & 3],
        )


def conv(
    inputs: int, outputs: int, size: int | tuple[int, int], kernel: int, stride: int,
    lanes: tuple[int, int] = (16, 16), relu: bool = True,
) -> Layer:  # fmt: skip
    """Make a convolution of a map of size x size, or height x width."""
    height, width = (size, size) if isinstance(size, int) else size
    return Layer(CONV, inputs, outputs, height, width, kernel, stride, relu, *lanes)


def fc(inputs: int, outputs: int, lanes: tuple[int, int] = (16, 16), relu: bool = True) -> Layer:
    """Make a fully connected layer."""
    return Layer(FC, inputs, outputs, relu=relu, lanes_forward=lanes[0], lanes_backward=lanes[1])


@dataclass(frozen=True)
class Region:
    """A feature map as it lies in memory: rows of 16 words.

    Attributes:
        channels, height, width: of a map; a vector has one channel of height 1.
        offset: its first row in a set of feature maps.
    """

    channels: int
    height: int
    width: int
    offset: int

    @property
    def row_blocks(self) -> int:
        """XB, rows of 16 words that a row of pixels takes."""
        return -(-self.width // ROW_WORDS)

    @property
    def rows(self) -> int:
        """Rows of 16 words."""
        return self.channels * self.height * self.row_blocks

    @property
    def words(self) -> int:
        """Values, padding not counted."""
        return self.channels * self.height * self.width


@dataclass(frozen=True)
class Network:
    """Layers, first to last, and where their data lie.

    Nothing is checked here: models/a3c/validate.py does.
    """

    layers: tuple[Layer, ...]

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The input of every layer, then the output of the last: a set of feature maps."""
        out: list[Region] = []
        offset = 0
        shape = (0, 0, 0)  # of the last convolution's output
        for layer in self.layers:
            if layer.kind == CONV:
                region = Region(layer.inputs, layer.height, layer.width, offset)
                shape = (layer.outputs, layer.rows, layer.columns)
            elif shape[0]:
                region = Region(*shape, offset)
                shape = (0, 0, 0)
            else:
                region = Region(1, 1, layer.inputs, offset)
            out.append(region)
            offset += region.rows
        return (*out, Region(1, 1, self.layers[-1].outputs, offset))

    @property
    def feature_rows(self) -> int:
        """Rows of a set of feature maps."""
        return self.regions[-1].offset + self.regions[-1].rows

    @property
    def feature_bytes(self) -> int:
        """Bytes of a set of feature maps."""
        return BEAT_BYTES * self.feature_rows

    @cached_property
    def parameter_offsets(self) -> tuple[int, ...]:
        """First beat of each layer's parameters, then the beats of all."""
        out = [0]
        for layer in self.layers:
            out.append(out[-1] + layer.parameter_beats)
        return tuple(out)

    @property
    def parameter_beats(self) -> int:
        """Beats of all parameters."""
        return self.parameter_offsets[-1]

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all parameters, not rounded up to a slot."""
        return BEAT_BYTES * self.parameter_beats

    @property
    def parameters(self) -> int:
        """Weights and biases, padding not counted."""
        return sum(layer.outputs * (layer.inputs * layer.kernel**2 + 1) for layer in self.layers)

    def slots(self, index: int, geometry: Geometry) -> int:
        """Samples whose map `index` (a layer's input, or the output) the buffer holds at once."""
        convolved = index < len(self.layers) and self.layers[index].kind == CONV
        return 2 if convolved else geometry.nb_max

    def buffer_bases(self, geometry: Geometry) -> tuple[int, ...]:
        """First row of each region in the feature-map buffer, then the rows of all."""
        out = [0]
        for index, region in enumerate(self.regions):
            out.append(out[-1] + self.slots(index, geometry) * region.rows)
        return tuple(out)

    def constants(self, index: int, geometry: Geometry) -> dict[str, int]:
        """Return a layer's derived constants, by the names of NET_DATA, in its order."""
        layer, region = self.layers[index], self.regions[index]
        return {
            "R": layer.rows,
            "C": layer.columns,
            "J": layer.taps,
            "IPAD": layer.padded_inputs if layer.kind == CONV else 1,
            "Q": layer.terms,
            "QP": ROW_WORDS * layer.term_blocks,
            "OB": layer.output_blocks,
            "XB": region.row_blocks,
            "THETA_OFF": self.parameter_offsets[index],
            "FM_OFF": region.offset,
            "FM_BASE": self.buffer_bases(geometry)[index],
            "ROWS": region.rows,
            "SLOTS": self.slots(index, geometry),
        }

    def encode(self) -> np.ndarray:
        """Return the network descriptor, [1 + 4*layers] uint32."""
        head = np.array([len(self.layers) | MAGIC << 16], np.uint32)
        return np.concatenate([head, *(layer.encode() for layer in self.layers)])


NET_A = Network(
    (
        conv(4, 16, 84, 8, 4, (16, 64)),
        conv(16, 32, 20, 4, 2, (32, 64)),
        fc(2592, 256, (64, 64)),
        fc(256, 32, (32, 64), relu=False),
    )
)  # the paper's
NET_S = Network(
    (
        conv(2, 16, 12, 4, 2),
        conv(16, 32, 5, 3, 2),
        fc(128, 64),
        fc(64, 16, relu=False),
    )
)  # quick to learn with
NET_T = Network(
    (
        conv(2, 5, 9, 3, 2),
        conv(5, 17, 4, 2, 1),
        fc(153, 20),
        fc(20, 7, relu=False),
    )
)  # every kind of padding
