"""Functional coverage of the a3c engine: bins over the tasks that ended."""

from __future__ import annotations

from typing import Any

from models.a3c.descriptor import (
    FLAG_BOOTSTRAP,
    FLAG_ORDERED,
    FLAG_SAVE_MAPS,
    INF,
    NET_LOAD,
    SYNC,
    TRAIN,
)
from models.registers.a3c import Error
from verif.coverage import Bins

# Of the shared control, or of the watchdog; and NET_LOAD's, which have tests of their own.
UNREACHED = ("E_RING", "E_TIMEOUT", "E_CAP_GB", "E_CAP_LB")
OPCODES = {"inference": INF, "training": TRAIN, "copy": SYNC, "network": NET_LOAD}


def _good(e: Any, opcode: int) -> bool:
    return not e.end.error and e.task.opcode == opcode


BINS: dict[str, Bins] = {
    "opcode": {
        name: (lambda e, opcode=opcode: _good(e, opcode)) for name, opcode in OPCODES.items()
    },
    "error": {
        error.name: (lambda e, code=int(error): e.end.error == code)
        for error in Error
        if error.name not in UNREACHED
    },
    "samples": {
        f"{kind} {n}": (lambda e, opcode=opcode, n=n: _good(e, opcode) and len(e.task.maps) == n)
        for kind, opcode in (("inference", INF), ("training", TRAIN))
        for n in range(1, 9)
    },
    "slot": {f"{n}": (lambda e, n=n: _good(e, INF) and e.task.network == n) for n in range(2)},
    "maps": {
        "kept": lambda e: _good(e, INF) and e.task.flags & FLAG_SAVE_MAPS != 0,
        "output alone": lambda e: _good(e, INF) and not e.task.flags & FLAG_SAVE_MAPS,
        "bootstrap": lambda e: _good(e, INF) and e.task.flags & FLAG_BOOTSTRAP != 0,
    },
    "update": {
        "in place": lambda e: _good(e, TRAIN) and e.task.source == e.task.target,
        "elsewhere": lambda e: _good(e, TRAIN) and e.task.source != e.task.target,
        "waits": lambda e: _good(e, TRAIN) and e.waited,
        "follows by rows": lambda e: _good(e, TRAIN) and e.followed,
    },
    "copy": {
        "ordered": lambda e: _good(e, SYNC) and e.task.flags & FLAG_ORDERED != 0,
        "at once": lambda e: _good(e, SYNC) and not e.task.flags & FLAG_ORDERED,
    },
    "unit": {
        f"{kind} {unit}": (
            lambda e, opcode=opcode, unit=unit: _good(e, opcode) and e.unit == unit
        )
        for kind, opcode, units in (
            ("inference", INF, (0, 2)), ("training", TRAIN, (1, 3)), ("copy", SYNC, (1, 3)),
        )
        for unit in units
    },
    "order": {"ends late": lambda e: e.late},
    "bus": {
        f"{kind} {what} {name}": (
            lambda e, opcode=opcode, code=code, response=response: e.end.error == code
            and e.task.opcode == opcode
            and e.end.info1 & 3 == response
        )
        for kind, opcode in OPCODES.items()
        for what, code in (("read", Error.E_BUS_RD), ("write", Error.E_BUS_WR))
        if (kind, what) != ("network", "write")
        for name, response in (("slverr", 2), ("decerr", 3))
    },
}  # fmt: skip
