"""Chooses the lanes of a network's layers by the cycle model.

Any legal choice gives the same bits; only clocks and the padding of the parameters differ.

Source: a3c 10.3.
"""

from __future__ import annotations

from dataclasses import replace

from models.a3c.network import CONV, LANES, Geometry, Layer, Network
from models.a3c.timing import BW, FW, GC, stage_clocks


def plan(layers: tuple[Layer, ...], geometry: Geometry, samples: int = 5) -> Network:
    """Choose the lanes of every layer.

    Args:
        layers: their own lanes are not looked at.
        geometry: the build.
        samples: batch of a training, after samples + 1 inferences.
    Returns: the network whose stages take the fewest clocks, of several the one with the fewest
        padded parameters.
    """
    out = list(layers)
    lanes = [count for count in LANES if count <= geometry.n_pe]

    def clocks(index: int, layer: Layer, stage: str, batch: int) -> int:
        network = Network((*out[:index], layer, *out[index + 1 :]))
        return stage_clocks(network, index, stage, batch, geometry).closed

    for index, layer in enumerate(layers):
        forward = min(
            (replace(layer, lanes_forward=count) for count in lanes),
            key=lambda one, k=index: (  # type: ignore[misc]
                (samples + 1) * clocks(k, one, FW, 1) + clocks(k, one, GC, samples),
                one.output_blocks,
            ),
        )
        backward = [geometry.n_pe]
        if layer.kind == CONV:
            backward = [count for count in lanes if layer.phases % count == 0]
        out[index] = min(
            (replace(forward, lanes_backward=count) for count in backward),
            key=lambda one, k=index: (clocks(k, one, BW, samples), -one.lanes_backward),  # type: ignore[misc]
        )
    return Network(tuple(out))
