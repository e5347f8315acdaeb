"""The golden engine with the stand-ins of verif/a3c/stub for its units."""

from __future__ import annotations

import numpy as np

from models.a3c import timing, traffic
from models.a3c.descriptor import FLAG_BOOTSTRAP, MAPS_WORD, Task, TaskError
from models.a3c.engine import A3cEngine
from models.a3c.layout import ParameterMap
from models.a3c.network import BEAT_BYTES
from models.a3c.rmsprop import HyperParameters
from models.engine import BusError, Memory
from models.registers.a3c import Error

_THETA, _SOURCE, _TARGET, _OBJECTIVE = 2, 4, 6, 12


class StubEngine(A3cEngine):
    """Inferences write a beat of zeros, trainings add 1 to each layer's first word."""

    def _infer(
        self, task: Task, held: ParameterMap, memory: Memory
    ) -> tuple[timing.Clocks, dict[str, traffic.Traffic]]:
        try:
            memory.read(task.theta, BEAT_BYTES)
            memory.write(task.maps[0], np.zeros(BEAT_BYTES, np.uint8))
        except BusError as error:
            raise _failed(error, _THETA, MAPS_WORD, 0) from error
        self._count("BOOT" if task.flags & FLAG_BOOTSTRAP else "INF", len(task.maps))
        return timing.Clocks(), {}

    def _train(
        self, task: Task, held: ParameterMap, memory: Memory, ticket: int
    ) -> tuple[timing.Clocks, dict[str, traffic.Traffic]]:
        try:
            head = memory.read(task.objective, BEAT_BYTES)
        except BusError as error:
            raise _failed(error, _OBJECTIVE, _OBJECTIVE, ticket) from error
        if not HyperParameters.decode(head.view(np.uint32)).legal:
            raise TaskError(Error.E_HPARAM, _OBJECTIVE, 0, ticket)
        for offset in reversed(held.network.parameter_offsets[:-1]):
            at = BEAT_BYTES * offset
            try:
                words = memory.read(task.source + at, BEAT_BYTES).view(np.uint32)
                words[0] += 1
                memory.write(task.target + at, words.view(np.uint8))
            except BusError as error:
                raise _failed(error, _SOURCE, _TARGET, ticket) from error
        self._count("TRAIN")
        return timing.Clocks(), {}


def _failed(error: BusError, read: int, write: int, ticket: int) -> TaskError:
    code = Error.E_BUS_WR if error.write else Error.E_BUS_RD
    return TaskError(code, write if error.write else read, error.response, ticket)
