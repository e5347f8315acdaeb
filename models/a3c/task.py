"""What a task computes, on arrays: forward pass, backward pass, gradients of a batch.

Source: a3c 4, 7.9; FA3C 4.3. models/a3c/engine.py does the same on device memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.a3c import ops
from models.a3c.layout import Parameters
from models.a3c.network import CONV, Network


def forward(network: Network, parameters: Parameters, observed: np.ndarray) -> list[np.ndarray]:
    """Run a network forward.

    Args:
        network: its layers.
        parameters: weight and bias of every layer, float32.
        observed: [N, ...] float32, the input of the first layer.
    Returns: the input of every layer, then the output of the last, each [N, ...] float32; the
        input of a fully connected layer is flat, in the order channel, row, column.
    """
    maps = [np.asarray(observed, np.float32)]
    for index, (layer, (weight, bias)) in enumerate(zip(network.layers, parameters, strict=True)):
        if layer.kind == CONV:
            out = ops.conv_forward(maps[-1], weight, bias, layer.stride)
        else:
            maps[index] = maps[index].reshape(len(maps[index]), -1)
            out = ops.fc_forward(maps[-1], weight, bias)
        maps.append(ops.relu(out) if layer.relu else out)
    return maps


def gradients(
    network: Network, parameters: Parameters, maps: Sequence[np.ndarray], d: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the gradients of every layer's weight and bias, summed over the batch.

    Args:
        network, parameters: as `forward` had them.
        maps: the inputs of the layers, as `forward` returned them.
        d: [N, O] float32, gradient of the objective with respect to the last layer's sums (before
            its ReLU, if it has one).
    Returns: (weight, bias) of every layer, float32.
    """
    out: list[tuple[np.ndarray, np.ndarray]] = []
    for index in reversed(range(len(network.layers))):
        layer, x = network.layers[index], maps[index]
        weight = parameters[index][0]
        if layer.kind == CONV:
            d = d.reshape(len(d), layer.outputs, layer.rows, layer.columns)
            out.append(ops.conv_weight_gradient(x, d, layer.kernel, layer.stride))
        else:
            x = x.reshape(len(x), -1)
            out.append(ops.fc_weight_gradient(x, d))
        if not index:
            break
        if layer.kind == CONV:
            d = ops.conv_input_gradient(d, weight, layer.stride, layer.height, layer.width)
        else:
            d = ops.fc_input_gradient(d, weight)
        if network.layers[index - 1].relu:
            d = ops.relu_gradient(d, x)
    return out[::-1]
