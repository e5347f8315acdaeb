"""The a3c engine's tasks on its golden model: arrays in, descriptors out.

    engine = A3cModel(NET_S, SMALL, slots=24, sets=96)
    engine.write_parameters(0, parameters)                       # (weight, bias) a layer
    outputs = engine.infer(0, 5, observed)                       # parameters 0, feature maps 5
    engine.train(0, 0, 1, [5], gradients, HyperParameters.make(7e-4))

Everything goes through device memory and descriptors as on the hardware; the engine has no RTL yet,
so there is no register page behind these calls.
Source: a3c 13.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jackdaw.errors import error_class
from models.a3c.descriptor import (
    FLAG_BOOTSTRAP,
    FLAG_SAVE_MAPS,
    INF,
    NET_LOAD,
    RING_ADM,
    RING_INF,
    RING_TRN,
    SYNC,
    TRAIN,
    Task,
)
from models.a3c.engine import A3cEngine
from models.a3c.layout import ParameterMap, Parameters, feature_slot_bytes, pack_map, unpack_map
from models.a3c.network import BEAT_BYTES, SLOT_BYTES, Geometry, Network
from models.a3c.rmsprop import HyperParameters
from models.engine import JobEnd
from models.registers import a3c as registers


class FlatMemory:
    """Device memory of the golden engine.

    Attributes:
        data: [bytes] uint8.
    """

    def __init__(self, nbytes: int) -> None:
        self.data = np.zeros(nbytes, np.uint8)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Return bytes, a copy."""
        return self.data[address : address + nbytes].copy()

    def write(self, address: int, data: np.ndarray) -> None:
        """Store an array's bytes."""
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self.data[address : address + raw.size] = raw


class A3cModel:
    """A network on the golden engine, with slots for parameters and feature maps.

    Attributes:
        network: what runs.
        engine: the golden model.
        cycles: clocks of all tasks by the cycle model.
    """

    def __init__(self, network: Network, geometry: Geometry, slots: int, sets: int) -> None:
        """Lay out the memory and load the network.

        Args:
            network, geometry: what runs where.
            slots: slots of parameters.
            sets: sets of feature maps.
        Raises: the engine's named JobError if the network does not fit.
        """
        self.network = network
        self.engine = A3cEngine(geometry)
        self.cycles = 0
        self._map = ParameterMap(network)
        self._theta = SLOT_BYTES
        self._g = self._theta + slots * self._map.slot_bytes
        self._sets = self._g + self._map.slot_bytes
        self._objective = self._sets + sets * feature_slot_bytes(network)
        records = BEAT_BYTES * (1 + geometry.nb_max * network.regions[-1].rows)
        limit = self._objective + -(-records // SLOT_BYTES) * SLOT_BYTES
        self.memory = FlatMemory(limit)
        self.engine.write_register(registers.MEM_BASE_LO.offset, SLOT_BYTES, True)
        self.engine.write_register(registers.MEM_LIMIT_LO.offset, limit & 0xFFFF_FFFF, True)
        self.engine.write_register(registers.MEM_LIMIT_HI.offset, limit >> 32, True)
        self.memory.write(self._objective, network.encode())
        self._run(RING_ADM, Task(NET_LOAD, theta=self._objective))

    def write_parameters(self, slot: int, parameters: Parameters) -> None:
        """Write (weight, bias) of every layer, PyTorch's layout, float32."""
        self.memory.write(self._parameters(slot), self._map.pack(parameters))

    def read_parameters(self, slot: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Inverse of write_parameters."""
        image = self.memory.read(self._parameters(slot), 4 * self._map.words)
        return self._map.unpack(image.view(np.float32))

    def infer(
        self, slot: int, maps: int, observed: np.ndarray, *, bootstrap: bool = False
    ) -> np.ndarray:
        """Run the network on one observation.

        Args:
            slot: its parameters.
            maps: the set of feature maps that keeps what a training needs.
            observed: [I, H, W] or [Q] float32.
            bootstrap: keep no feature maps and count the task apart.
        Returns: [O] float32.
        """
        address = self._maps(maps)
        self.memory.write(address, pack_map(observed, self.network.regions[0]))
        flags = FLAG_BOOTSTRAP if bootstrap else FLAG_SAVE_MAPS
        theta = self._parameters(slot)
        self._run(RING_INF, Task(INF, flags=flags, theta=theta, maps=(address,)))
        last = self.network.regions[-1]
        rows = self.memory.read(address + BEAT_BYTES * last.offset, BEAT_BYTES * last.rows)
        return unpack_map(rows.view(np.float32), last).reshape(-1)

    def train(
        self,
        local: int,
        source: int,
        target: int,
        maps: Sequence[int],
        gradients: np.ndarray,
        settings: HyperParameters,
    ) -> int:
        """Compute the gradients of a batch and update the parameters.

        Args:
            local: slot of the parameters with which the maps were made.
            source, target: slots before and behind the update; may be the same.
            maps: sets of feature maps, in the order of time.
            gradients: [N, O] float32, of the objective by the network's outputs.
            settings: RMSProp's.
        Returns: the update's ticket.
        """
        last = self.network.regions[-1]
        self.memory.write(self._objective, settings.encode())
        records = np.stack([pack_map(d, last) for d in np.asarray(gradients, np.float32)])
        self.memory.write(self._objective + BEAT_BYTES, records)
        task = Task(
            TRAIN,
            theta=self._parameters(local),
            source=self._parameters(source),
            target=self._parameters(target),
            g_source=self._g,
            g_target=self._g,
            objective=self._objective,
            maps=tuple(self._maps(one) for one in maps),
        )
        return self._run(RING_TRN, task).count

    def sync(self, source: int, target: int) -> None:
        """Copy parameters from slot to slot."""
        one, other = self._parameters(source), self._parameters(target)
        self._run(RING_ADM, Task(SYNC, source=one, target=other))

    def _parameters(self, slot: int) -> int:
        return self._theta + slot * self._map.slot_bytes

    def _maps(self, index: int) -> int:
        return self._sets + index * feature_slot_bytes(self.network)

    def _run(self, ring: int, task: Task) -> JobEnd:
        job = self.engine.job(ring, task.encode(), self.memory)
        try:
            next(job)
        except StopIteration as stop:
            end: JobEnd = stop.value
        else:
            raise RuntimeError("a task waits, but the engine has no stream")
        if end.error:
            failed = error_class("a3c", end.error)
            raise failed(0, ring, opcode=task.opcode, info=(end.info0, end.info1))
        self.cycles += end.cycles
        return end
