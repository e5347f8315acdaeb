"""The golden models of a configuration's engines and the streams between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.engine import EngineModel, Link


@dataclass(frozen=True)
class EngineSpec:
    """An engine of a model device.

    Attributes:
        engine_id, version: words of its header.
        engine: its golden model.
        links: the streams that begin or end in it.
    """

    engine_id: int
    version: int
    engine: EngineModel
    links: Sequence[Link]
