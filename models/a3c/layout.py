"""Where parameters and feature maps lie in device memory, and how PyTorch's tensors get there.

Parameters (theta, g and gradients alike) are kept once, cut into patches of 16 inputs by 16
outputs of 1 KiB, so that forward and backward pass both read them in whole beats. A convolution's
inputs are ordered tap by tap, taps by phase of the stride:

    p = (((jy*J + jx)*S + py)*S + px)*IPAD + i       ky = S*jy + py, kx = S*jx + px
    word = 16*OB + ((p/16)*OB + o/16)*256 + (p%16)*16 + o%16        after the layer's first beat

with the OB beats of biases in front. Feature maps keep every row of pixels at the start of a beat.
All padding is +0.

Source: a3c 5.1, 5.2; FA3C 4.4, Figure 7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from models.a3c.network import CONV, ROW_WORDS, SLOT_BYTES, Layer, Network, Region
from models.a3c.ops import check

PATCH_WORDS = ROW_WORDS * ROW_WORDS

Parameters = Sequence[tuple[np.ndarray, np.ndarray]]


def weight_words(layer: Layer) -> np.ndarray:
    """Return the word of each weight after the layer's first beat.

    Returns: [O, I, K, K] int64 of a convolution, [O, Q] of a fully connected layer.
    """
    if layer.kind == CONV:
        i = np.arange(layer.inputs)[:, None, None]
        ky, kx = np.arange(layer.kernel)[:, None], np.arange(layer.kernel)
        jy, py = np.divmod(ky, layer.stride)
        jx, px = np.divmod(kx, layer.stride)
        phase = ((jy * layer.taps + jx) * layer.stride + py) * layer.stride + px
        position = phase * layer.padded_inputs + i
    else:
        position = np.arange(layer.inputs)
    o = np.arange(layer.outputs).reshape(-1, *[1] * position.ndim)
    blocks = layer.output_blocks
    patch = (position // ROW_WORDS) * blocks + o // ROW_WORDS
    inside = position % ROW_WORDS * ROW_WORDS + o % ROW_WORDS
    return ROW_WORDS * blocks + patch * PATCH_WORDS + inside


class ParameterMap:
    """The image of a network's parameters in memory.

    Attributes:
        words: its words, not rounded up to a slot.
        slot_bytes: bytes of a slot that holds it.
        valid: [words] bool, the words that are no padding.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.words = network.parameter_beats * ROW_WORDS
        self.slot_bytes = parameter_slot_bytes(network)
        # Outputs last, as the memory has them: copies then touch whole beats.
        self._weights: list[np.ndarray] = []
        self._biases: list[slice] = []
        for layer, beat in zip(network.layers, network.parameter_offsets, strict=False):
            words = np.moveaxis(weight_words(layer) + beat * ROW_WORDS, 0, -1)
            self._weights.append(np.ascontiguousarray(words, np.uint32))
            self._biases.append(slice(beat * ROW_WORDS, beat * ROW_WORDS + layer.outputs))
        self.valid = np.zeros(self.words, bool)
        for weights, biases in zip(self._weights, self._biases, strict=True):
            self.valid[weights] = True
            self.valid[biases] = True

    def pack(self, parameters: Parameters) -> np.ndarray:
        """Make an image; padding is +0.

        Args:
            parameters: a layer's weight ([O, I, K, K] or [O, Q]) and bias ([O]), for every layer.
        Returns: [words] float32.
        Raises: ValueError if a shape is not the layer's.
        """
        image = np.zeros(self.words, np.float32)
        for index, (weights, biases, (weight, bias)) in enumerate(
            zip(self._weights, self._biases, parameters, strict=True)
        ):
            shape = (weights.shape[-1], *weights.shape[:-1])
            if weight.shape != shape or bias.shape != shape[:1]:
                raise ValueError(
                    f"layer {index}: got weight {weight.shape} and bias {bias.shape}, "
                    f"want {shape} and {shape[:1]}"
                )
            values = np.ascontiguousarray(np.moveaxis(weight, 0, -1), np.float32)
            _put(image, weights.reshape(-1), values.reshape(-1))
            image[biases] = bias
        return image

    def unpack(self, image: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Inverse of pack; padding is not looked at. The arrays are copies.

        Raises: TypeError if the image is not float32, ValueError if it has not `words` words.
        """
        check("image", image, self.words)
        image = np.ascontiguousarray(image)
        parameters = []
        for weights, biases in zip(self._weights, self._biases, strict=True):
            values = np.empty(weights.shape, np.float32)
            _take(image, weights.reshape(-1), values.reshape(-1))
            parameters.append((np.moveaxis(values, -1, 0), image[biases].copy()))
        return parameters


@njit(cache=True)
def _take(image, words, values):  # type: ignore[no-untyped-def]
    for k in range(len(words)):
        values[k] = image[words[k]]


@njit(cache=True)
def _put(image, words, values):  # type: ignore[no-untyped-def]
    for k in range(len(words)):
        image[words[k]] = values[k]


def pack_map(values: np.ndarray, region: Region) -> np.ndarray:
    """Lay out a feature map or a vector.

    Args:
        values: [channels, height, width] float32, or as many in that order.
        region: where it goes.
    Returns: [rows, 16] float32, padding +0.
    """
    shape = (region.channels, region.height)
    padded = np.zeros((*shape, region.row_blocks * ROW_WORDS), np.float32)
    padded[..., : region.width] = values.reshape(*shape, region.width)
    return padded.reshape(region.rows, ROW_WORDS)


def unpack_map(rows: np.ndarray, region: Region) -> np.ndarray:
    """Inverse of pack_map; returns [channels, height, width] float32, a copy."""
    padded = rows.reshape(region.channels, region.height, region.row_blocks * ROW_WORDS)
    return padded[..., : region.width].copy()


def parameter_slot_bytes(network: Network) -> int:
    """Return the bytes of a slot that holds parameters; a second image begins after it (Alt2)."""
    return -(-network.parameter_bytes // SLOT_BYTES) * SLOT_BYTES


def feature_slot_bytes(network: Network) -> int:
    """Return the bytes of a slot that holds a set of feature maps."""
    return -(-network.feature_bytes // SLOT_BYTES) * SLOT_BYTES
