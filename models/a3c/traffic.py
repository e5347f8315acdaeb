"""Beats of 64 bytes that a task moves, by what they carry, beside the published traffic.

Rings, network descriptors and the beat of hyper-parameters are not counted.

Source: a3c 8.2; FA3C 3.3, Table 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.a3c.layout import parameter_slot_bytes
from models.a3c.network import BEAT_BYTES, CONV, ROW_WORDS, Network

PAPER_KIB = {  # Table 2: rows of one routine, KiB read and written
    "parameter sync": (2592, 2592),
    "inference parameters": (6 * 2592, 0),
    "inference maps": (6 * 110, 0),
    "training parameters": (2592, 0),
    "training update": (2 * 2592, 2 * 2592),
    "training maps": (5 * 110, 0),
}
PAPER_TOTAL_KIB = (24538, 7776)  # as printed; the rows of the reads sum to 27130


@dataclass(frozen=True)
class Traffic:
    """Beats read and written."""

    reads: int = 0
    writes: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.reads + other.reads, self.writes + other.writes)

    def __mul__(self, times: int) -> Traffic:
        return Traffic(times * self.reads, times * self.writes)

    @property
    def kib(self) -> tuple[float, float]:
        """KiB read and written."""
        return self.reads * BEAT_BYTES / 1024, self.writes * BEAT_BYTES / 1024


def inference(network: Network, samples: int = 1, save: bool = True) -> dict[str, Traffic]:
    """Return the traffic of an inference task: a convolution's parameters come once a sample.

    Args:
        samples: the batch.
        save: every map is written, else the last one alone.
    """
    rows = [region.rows for region in network.regions]
    beats = sum(
        layer.parameter_beats * (samples if layer.kind == CONV else 1) for layer in network.layers
    )
    return {
        "inference parameters": Traffic(reads=beats),
        "inference maps": Traffic(rows[0], sum(rows[1:]) if save else rows[-1]) * samples,
    }


def training(network: Network, samples: int, second: bool = False) -> dict[str, Traffic]:
    """Return the traffic of a training task: BW reads no bias and not the first layer.

    Args:
        samples: the batch.
        second: parameters have a second image, which is written, too.
    """
    weights = [ROW_WORDS * layer.term_blocks * layer.output_blocks for layer in network.layers[1:]]
    return {
        "training parameters": Traffic(reads=sum(weights)),
        "training update": Traffic(network.parameter_beats, network.parameter_beats) * 2,
        **({"training second image": Traffic(writes=network.parameter_beats)} if second else {}),
        "training maps": Traffic(reads=network.feature_rows) * samples,
    }


def sync(network: Network, second: bool = False) -> dict[str, Traffic]:
    """Return the traffic of a parameter copy, with what lies between two images."""
    beats = network.parameter_beats + (parameter_slot_bytes(network) // BEAT_BYTES if second else 0)
    return {"parameter sync": Traffic(beats, beats)}


def routine(network: Network, samples: int, copy: bool) -> dict[str, Traffic]:
    """Return the traffic of one routine of an agent.

    Args:
        samples: inference steps before the training; one more inference bootstraps.
        copy: the parameters are synchronized by a copy, else by a pointer.
    """
    out: dict[str, Traffic] = sync(network) if copy else {}
    for name, traffic in inference(network).items():
        last = inference(network, save=False)[name]
        out[name] = traffic * samples + last
    return out | training(network, samples)


def total(parts: dict[str, Traffic]) -> Traffic:
    """Sum over all kinds."""
    return sum(parts.values(), Traffic())
