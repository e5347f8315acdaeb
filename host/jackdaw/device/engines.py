"""The golden models of a configuration's engines and the streams between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flow.configuration import Config
from flow.manifest import load_object
from jackdaw.device.base import DESCRIPTOR_BYTES
from models.engine import EngineModel, Link


@dataclass(frozen=True)
class EngineSpec:
    """An engine of a model device.

    Attributes:
        engine_id, version: words of its header.
        engine: its golden model.
        links: the streams that begin or end in it.
        descriptor_bytes: of a job.
    """

    engine_id: int
    version: int
    engine: EngineModel
    links: Sequence[Link]
    descriptor_bytes: int = DESCRIPTOR_BYTES


def build_engines(config: Config) -> list[EngineSpec]:
    """Make the golden models of a configuration's engines, by page.

    A stream without a link gets one that has no other end.
    """
    streams: dict[tuple[str, str], Link] = {}
    for link in config.links:
        between = Link()
        streams[link.source, link.out.name] = streams[link.sink, link.into.name] = between
    specs = []
    for instance in config.instances:
        manifest = instance.engine
        mine = {name: streams.get((instance.name, name), Link()) for name in manifest.streams}
        made = load_object(manifest.model).from_fields(instance.fields, mine)
        registers = manifest.module()
        specs.append(
            EngineSpec(
                registers.ENGINE_ID,
                registers.ENGINE_VERSION,
                made,
                list(mine.values()),
                manifest.descriptor_bytes,
            )
        )
    return specs
