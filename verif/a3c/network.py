"""jd_a3c_network under test: ports, loads, random networks and what breaks them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.a3c.network import (
    CONV,
    LANES,
    STRIDES,
    Geometry,
    Layer,
    Network,
    fc,
)
from verif.play import Block, Player

PACKAGE = Path(__file__).resolve().parents[2] / "rtl/a3c/jd_a3c_pkg.sv"
BEATS = 3  # of a descriptor in memory
BEAT_WORDS = 16
LAYERS = 8
LIMIT = 3000  # clocks of a load
# Fields of a layer: word, lowest bit, bits, and values at the edge of what is legal.
FIELDS: tuple[tuple[int, int, int, tuple[int, ...]], ...] = (
    (0, 0, 8, (0, 1, 2, 3, 255)),
    (0, 12, 2, (0, 1, 2, 3)),
    (0, 16, 2, (0, 1, 2, 3)),
    (1, 0, 20, (0, 1, 512, 513, 65536, 65537)),
    (1, 20, 12, (0, 1, 512, 513, 1024, 1025)),
    (2, 0, 16, (0, 1, 128, 129, 256)),
    (2, 16, 16, (0, 1, 64, 65, 66, 128, 129, 384)),
    (3, 0, 8, (0, 1, 16, 17, 32)),
    (3, 8, 8, (0, 1, 2, 3, 4, 5, 8)),
)
# What a read of layers returns, by names of Network.constants.
CONSTANTS = {
    "R": "rows", "C": "columns", "J": "taps", "IPAD": "padded_inputs", "Q": "terms",
    "QP": "padded_terms", "OB": "output_blocks", "XB": "row_blocks", "THETA_OFF": "theta_offset",
    "FM_OFF": "map_offset", "FM_BASE": "buffer_base", "ROWS": "map_rows", "SLOTS": "slots",
}  # fmt: skip


def structure(name: str) -> dict[str, int]:
    """The fields of a packed structure of jd_a3c_pkg and their bits, the highest first."""
    found = re.search(rf"struct packed {{([^{{}}]*)}} {name};", PACKAGE.read_text())
    assert found, name
    fields = re.findall(r"logic\s+(?:\[(\d+):0\]\s+)?(\w+);", found[1])
    return {field: int(high or 0) + 1 for high, field in fields}


LAYER = structure("layer_t")
NETWORK = structure("network_t")


def split(fields: dict[str, int], value: int) -> dict[str, int]:
    """Take a structure's bits apart."""
    out = {}
    for name, bits in reversed(fields.items()):
        out[name] = value & ((1 << bits) - 1)
        value >>= bits
    return out


def number(words: np.ndarray) -> int:
    """Words of a port, the lowest first, as one number."""
    return int.from_bytes(np.atleast_1d(words).astype("<u4").tobytes(), "little")


def parameters(g: Geometry) -> dict[str, int]:
    """Parameters of jd_a3c_network for a build."""
    return {
        "Slots": g.n_net, "Pes": g.n_pe, "Samples": g.nb_max, "MapRows": g.fm_rows,
        "ForwardRows": g.pb_inference, "BackRows": g.pb_training, "GradRows": g.gb_rows,
        "LineRows": g.line_words // BEAT_WORDS,
    }  # fmt: skip


def block(g: Geometry) -> Block:
    """The module's ports in a build."""
    slot = max(1, (g.n_net - 1).bit_length())
    return Block(
        "jackdaw:engine:a3c_network",
        "jd_a3c_network",
        {
            "start_i": 1, "slot_i": slot, "address_i": 40, "cmd_ready_i": 1, "beat_valid_i": 1,
            "beat_data_i": 512, "beat_resp_i": 2, "beat_last_i": 1, "read_valid_i": 1,
            "read_slot_i": slot, "read_layer_i": 3,
        },
        {
            "busy_o": 1, "done_o": 1, "error_o": 8, "info0_o": 32, "info1_o": 32,
            "cmd_valid_o": 1, "cmd_address_o": 40, "cmd_beats_o": 16, "beat_ready_o": 1,
            "networks_o": sum(NETWORK.values()) * g.n_net, "layer_o": sum(LAYER.values()),
        },
    )  # fmt: skip


def layer_fields(network: Network, index: int, g: Geometry) -> dict[str, int]:
    """What a read of a layer must return."""
    layer = network.layers[index]
    constants = network.constants(index, g)
    return {
        "convolves": int(layer.kind == CONV),
        "relu": int(layer.relu),
        "lanes_forward": LANES.index(layer.lanes_forward),
        "lanes_backward": LANES.index(layer.lanes_backward),
        "inputs": layer.inputs,
        "outputs": layer.outputs,
        "height": layer.height,
        "width": layer.width,
        "kernel": layer.kernel,
        "stride": STRIDES.index(layer.stride),
    } | {name: constants[constant] for constant, name in CONSTANTS.items()}


def network_fields(network: Network) -> dict[str, int]:
    """What the module must say of a network."""
    return {
        "valid": 1,
        "layers": len(network.layers),
        "theta_beats": network.parameter_beats,
        "map_rows": network.feature_rows,
        "output_rows": network.regions[-1].rows,
    }


@dataclass(frozen=True)
class Ended:
    """How a load ended."""

    error: int
    info0: int
    info1: int


class Loader:
    """jd_a3c_network in the simulator, and what its slots must hold.

    Args:
        g: the build.
        seed: of the registers and of the pauses.
    """

    def __init__(self, g: Geometry, seed: int) -> None:
        self.g = g
        self.sim = Player(block(g), parameters(g), seed)
        self.rng = np.random.default_rng([seed, 71])
        self.held: list[Network | None] = [None] * g.n_net
        self.loading: int | None = None  # a slot that may change

    def step(self, clocks: int, **inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Run some clocks; meanwhile layers of what stays are read and compared."""
        filled = [n for n, network in enumerate(self.held) if network and n != self.loading]
        if filled and clocks > 2:
            slots = self.rng.choice(filled, clocks)
            counts = [len(self.held[slot].layers) for slot in slots]  # type: ignore[union-attr]
            layers = (self.rng.random(clocks) * counts).astype(np.uint32)
            valid = np.arange(clocks) < clocks - 2
            inputs |= {"read_valid_i": valid, "read_slot_i": slots, "read_layer_i": layers}
        out = self.sim.run(clocks, **inputs)
        if filled and clocks > 2:
            for clock in range(clocks - 2):
                got = split(LAYER, number(out["layer_o"][clock + 2]))
                network = self.held[slots[clock]]
                assert network
                want = layer_fields(network, int(layers[clock]), self.g)
                assert got == want, f"slot {slots[clock]}, layer {layers[clock]}"
        return out

    def load(
        self, words: np.ndarray, slot: int, responses: tuple[int, int, int] = (0, 0, 0)
    ) -> Ended:
        """Load a descriptor.

        Args:
            words: [48] uint32.
            slot: where to.
            responses: of the beats.
        """
        self.loading = slot
        address = int(self.rng.integers(1 << 34)) << 6
        low_high = np.array([[address & 0xFFFF_FFFF, address >> 32]])
        one = np.ones(1)
        out = self.step(1, start_i=one, slot_i=slot * one, address_i=low_high)
        assert not out["busy_o"][0]
        for _ in range(int(self.rng.integers(3))):
            out = self.step(1)
            assert out["cmd_valid_o"][0]
            assert number(out["cmd_address_o"][0]) == address
            assert out["cmd_beats_o"][0] == BEATS
        assert self.step(1, cmd_ready_i=one)["cmd_valid_o"][0]
        beat = clocks = 0
        offers = False  # a beat, which stays until it is taken
        while clocks < LIMIT:
            offers = offers or (beat < BEATS and self.rng.random() < 0.7)
            span = 1 if offers else int(self.rng.integers(1, 40))
            at = min(beat, BEATS - 1)
            out = self.step(
                span,
                beat_valid_i=np.full(span, offers),
                beat_data_i=np.tile(words[BEAT_WORDS * at :][:BEAT_WORDS], (span, 1)),
                beat_resp_i=np.full(span, responses[at]),
                beat_last_i=np.full(span, at == BEATS - 1),
            )
            assert not out["cmd_valid_o"].any(), "a second command"
            taken = bool(offers and out["beat_ready_o"][0])
            beat += taken
            offers = offers and not taken
            done = np.flatnonzero(out["done_o"])
            if done.size:
                assert done.size == 1
                assert beat == BEATS, f"ended after {beat} beats"
                assert out["busy_o"][: done[0] + 1].all()
                assert not out["busy_o"][done[0] + 1 :].any()
                return Ended(*(int(out[n][done[0]]) for n in ("error_o", "info0_o", "info1_o")))
            clocks += span
        raise TimeoutError(f"no end within {LIMIT} clocks")

    def check(self) -> None:
        """Compare everything that is held."""
        self.loading = None
        out = self.step(40)
        value = number(out["networks_o"][-1])
        width = sum(NETWORK.values())
        for slot, network in enumerate(self.held):
            got = split(NETWORK, value >> slot * width & ((1 << width) - 1))
            if network is None:
                assert not got["valid"], f"slot {slot}"
            else:
                assert got == network_fields(network), f"slot {slot}"


def random_network(rng: np.random.Generator, g: Geometry) -> Network:
    """Make a network whose layers follow each other; it may be too large for the build."""
    legal = [lanes for lanes in LANES if lanes <= g.n_pe]
    layers: list[Layer] = []
    shape = (int(rng.integers(1, 20)), int(rng.integers(1, 30)), int(rng.integers(1, 30)))
    filters, sizes = [1, 5, 8, 16, 17], [1, 7, 16, 33]
    if rng.random() < 0.6:
        filters, sizes = [16, 32, 40, 64, 300], [100, 128, 250, 1024]
    elif rng.random() < 0.3:
        shape = (int(rng.choice([1, 8, 64, 512])), 128, int(rng.choice([65, 128])))
    elif rng.random() < 0.4:
        shape = (1, int(rng.integers(1, 4)), int(rng.integers(14, 67)))
    else:
        shape = (min(shape[0], 4), min(shape[1], 9), min(shape[2], 12))
    for _ in range(rng.integers(4)):
        inputs, height, width = shape
        kernel = int(rng.integers(1, min(height, width, 16) + 1))
        stride = int(rng.choice(STRIDES))
        outputs = int(rng.choice(filters))
        layer = Layer(CONV, inputs, outputs, height, width, kernel, stride, bool(rng.integers(2)))
        backward = [lanes for lanes in legal if layer.phases % lanes == 0] or legal
        lanes = int(rng.choice(legal)), int(rng.choice(backward))
        layer = Layer(CONV, inputs, outputs, height, width, kernel, stride, layer.relu, *lanes)
        layers.append(layer)
        shape = (outputs, layer.rows, layer.columns)
    words = int(np.prod(shape)) if layers else int(rng.choice([1, 37, 4096, 65536]))
    for _ in range(rng.integers(1, 6)):
        outputs = int(rng.choice(sizes))
        lanes = int(rng.choice(legal)), g.n_pe
        layers.append(fc(words, outputs, lanes, bool(rng.integers(2))))
        words = outputs
    return Network(tuple(layers))


def twisted(rng: np.random.Generator, words: np.ndarray) -> np.ndarray:
    """Change a field of a descriptor, often to a value at the edge of what is legal."""
    out = words.copy()
    if rng.random() < 0.08:
        count = int(out[0] & 0xFFFF)
        out[0] = rng.choice(
            [out[0] ^ (1 << rng.integers(16, 32)), 0xA3C0_0000, 0xA3C0_0009, 0xA3C0_1001,
             0xA3C0_0000 | max(1, count - 1), 0xA3C0_0000 | min(8, count + 1)]
        )  # fmt: skip
        return out
    layer = int(rng.integers((words.size - 1) // 4))
    at = 1 + 4 * layer
    if rng.random() < 0.15:
        out[at + rng.integers(4)] ^= 1 << rng.integers(32)
        return out
    word, lsb, bits, edges = FIELDS[rng.integers(len(FIELDS))]
    mask = (1 << bits) - 1
    value = int(out[at + word]) >> lsb & mask
    value = int(rng.choice([value + 1, value - 1, *edges])) & mask
    out[at + word] = int(out[at + word]) & ~(mask << lsb) | value << lsb
    return out


def edges(network: Network) -> Iterator[np.ndarray]:
    """Yield a network's descriptor with one field changed to each of its edges, [48] uint32."""
    words = np.zeros(BEATS * BEAT_WORDS, np.uint32)
    words[: 1 + 4 * len(network.layers)] = network.encode()
    for layer in range(len(network.layers)):
        for word, lsb, bits, values in FIELDS:
            at = 1 + 4 * layer + word
            old = int(words[at]) >> lsb & ((1 << bits) - 1)
            for value in {*values, old + 1, old - 1} - {-1, 1 << bits}:
                out = words.copy()
                out[at] ^= (old ^ value) << lsb
                yield out
        for bit in range(128):  # reserved ones among them
            out = words.copy()
            out[1 + 4 * layer + bit // 32] ^= 1 << bit % 32
            yield out


def descriptors(rng: np.random.Generator, g: Geometry, twists: float) -> Iterator[np.ndarray]:
    """Yield random descriptors in memory, [48] uint32; after the last layer is anything."""
    while True:
        words = random_network(rng, g).encode()
        for _ in range(rng.integers(1, 3) if rng.random() < twists else 0):
            words = twisted(rng, words)
        tail = rng.integers(0, 1 << 32, BEATS * BEAT_WORDS - words.size)
        yield np.concatenate([words, tail.astype(np.uint32)])
