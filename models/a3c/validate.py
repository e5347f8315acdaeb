"""The checks of a network descriptor, in order: the first rule that is broken decides.

First the frame, then layer by layer (reserved fields, order, zero, maximum, stride, lanes, shape),
then the network as a whole (order, feature maps, parameters, gradients, line buffers, lanes of
BW). Parameters of more than 2**31 bytes need no rule: no layer may be so large.

Source: a3c 2, 10.3, 10.4.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from models.a3c.network import (
    CHANNELS_MAX,
    COLUMNS_MAX,
    CONV,
    FC,
    FC_INPUTS_MAX,
    FC_OUTPUTS_MAX,
    KERNEL_MAX,
    LAYER_WORDS,
    LAYERS_MAX,
    MAGIC,
    ROW_WORDS,
    SIZE_MAX,
    STRIDES,
    Geometry,
    Layer,
    Network,
)
from models.registers.a3c import Error

DESCRIPTOR_WORDS = 1 + LAYER_WORDS * LAYERS_MAX  # of the longest network descriptor
RESERVED = (0xFFFC_CE00, 0, 0, 0xFFFF_0000)  # bits of a layer's words that must be 0
WHOLE = LAYERS_MAX  # index of an error that is no single layer's


class NetworkError(Exception):
    """A network descriptor that NET_LOAD rejects.

    Attributes:
        code: error code.
        layer: the layer, or WHOLE (ERR_INFO0).
    """

    def __init__(self, code: Error, layer: int) -> None:
        super().__init__(f"{code.name}: {'network' if layer == WHOLE else f'layer {layer}'}")
        self.code = code
        self.layer = layer


def validate(words: np.ndarray, geometry: Geometry) -> Network:
    """Check and decode a network descriptor.

    Args:
        words: uint32, at least as many as the descriptor's number of layers asks for.
        geometry: the build.
    Raises: NetworkError at the first rule that is broken.
    """
    head = int(words[0])
    count = head & 0xFFFF
    if head >> 16 != MAGIC:
        raise NetworkError(Error.E_RESERVED, WHOLE)
    if not count:
        raise NetworkError(Error.E_ZERO, WHOLE)
    if count > LAYERS_MAX:
        raise NetworkError(Error.E_MAX, WHOLE)
    layers: list[Layer] = []
    for index in range(count):
        part = [int(x) for x in words[1 + LAYER_WORDS * index :][:LAYER_WORDS]]
        if part[0] & 0xFF not in (CONV, FC) or any(
            word & mask for word, mask in zip(part, RESERVED, strict=True)
        ):
            raise NetworkError(Error.E_RESERVED, index)
        layer = Layer.decode(np.array(part, np.uint32))
        if code := next(_layer_errors(layer, layers, geometry), None):
            raise NetworkError(code, index)
        layers.append(layer)
    network = Network(tuple(layers))
    if code := next(_network_errors(network, geometry), None):
        raise NetworkError(code, WHOLE)
    return network


def _layer_errors(layer: Layer, before: list[Layer], geometry: Geometry) -> Iterator[Error]:
    """Yield the codes of the rules that a layer breaks, the first one first."""
    last = before[-1] if before else None
    convolves = layer.kind == CONV
    if convolves and last is not None and last.kind == FC:
        yield Error.E_ORDER
    sizes = (layer.inputs, layer.outputs, layer.height, layer.width, layer.kernel, layer.stride)
    if not all(sizes):
        yield Error.E_ZERO
    if convolves:
        if (
            max(layer.inputs, layer.outputs) > CHANNELS_MAX
            or max(layer.height, layer.width) > SIZE_MAX
            or layer.kernel > KERNEL_MAX
        ):
            yield Error.E_MAX
        if layer.stride not in STRIDES or layer.kernel > min(layer.height, layer.width):
            yield Error.E_STRIDE
        if layer.columns > COLUMNS_MAX:
            yield Error.E_MAX
    elif layer.inputs > FC_INPUTS_MAX or layer.outputs > FC_OUTPUTS_MAX:
        yield Error.E_MAX
    if max(layer.lanes_forward, layer.lanes_backward) > geometry.n_pe:
        yield Error.E_LANES
    if convolves:
        output = (last.outputs, last.rows, last.columns) if last else None
        if output and (layer.inputs, layer.height, layer.width) != output:
            yield Error.E_SHAPE
    else:
        words = last.outputs * last.rows * last.columns if last else layer.inputs
        if sizes[2:] != (1, 1, 1, 1) or layer.inputs != words:
            yield Error.E_SHAPE


def _network_errors(network: Network, geometry: Geometry) -> Iterator[Error]:
    """Yield the codes of the rules that a network of good layers breaks, the first one first."""
    convs = [layer for layer in network.layers if layer.kind == CONV]
    fcs = [layer for layer in network.layers if layer.kind == FC]
    if not fcs:
        yield Error.E_ORDER
    if network.buffer_bases(geometry)[-1] > geometry.fm_rows:
        yield Error.E_CAP_FM
    # A conv layer's parameters take half of the ring, an FC layer two blocks of 16 inputs.
    widest = max(layer.output_blocks for layer in fcs)
    if (
        any(2 * (c.terms + 1) * c.output_blocks > geometry.pb_inference for c in convs)
        or (2 * ROW_WORDS + 1) * widest > geometry.pb_inference
    ):
        yield Error.E_CAP_PB
    # BW keeps the conv layers' parameters beside two windows of n_pe inputs of an FC layer.
    resident = sum(layer.terms * layer.output_blocks for layer in convs[1:])
    if resident + 2 * geometry.n_pe * widest > geometry.pb_training:
        yield Error.E_CAP_PB
    gradients = sum((layer.terms + 1) * layer.output_blocks for layer in convs)
    if gradients + 2 * ROW_WORDS * widest > geometry.gb_rows:
        yield Error.E_CAP_GB
    maps = [region for region in network.regions[: len(convs) + 1] if convs]
    rows = geometry.line_words // ROW_WORDS
    if any(region.row_blocks > rows for region in maps[:-1]) or any(
        geometry.nb_max * region.row_blocks > rows for region in maps[-1:]
    ):
        yield Error.E_CAP_LB
    if any(layer.phases % layer.lanes_backward for layer in convs) or any(
        layer.lanes_backward != geometry.n_pe for layer in fcs
    ):
        yield Error.E_LANES
