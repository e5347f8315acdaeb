"""Functional coverage of the learner engine: bins over the jobs that ended."""

from __future__ import annotations

from typing import Any

from models.learner.engine import (
    JOB_APPLY,
    JOB_GRADS,
    JOB_INFER,
    JOB_LOAD,
    JOB_PROGRAM,
    JOB_STORE,
    JOB_TRAIN,
)
from models.learner.program import OP_LOSS_Q, OP_LOSS_TD, OP_TARGET
from models.registers.learner import Error
from verif.coverage import Bins

UNREACHED = ("E_RING",)  # of the shared control; its own tests reach it


def _opcode(job: Any) -> int:
    return int(job.words[0] & 0xFF)


def _flags(job: Any) -> int:
    return int(job.words[0] >> 8 & 0xFF)


def _trained(job: Any) -> bool:
    return _opcode(job) == JOB_TRAIN and job.end.count > 0


def _stages(job: Any, op: int) -> list[Any]:
    return [s for s in job.program.stages if s.op == op] if job.program else []


def _inferred(job: Any) -> bool:
    return _opcode(job) == JOB_INFER and job.end.count > 0


def _grads(job: Any) -> bool:
    return _opcode(job) == JOB_GRADS and job.end.count > 0


def _applied(job: Any) -> bool:
    return _opcode(job) == JOB_APPLY and job.end.count > 0


def _several(job: Any) -> bool:
    return bool(job.words[2] & (job.words[2] - 1))


def _last_stage(job: Any) -> Any:
    stages = job.program.forward_pass(job.words[2])
    return job.program.stages[stages.stop - 1]


BINS: dict[str, Bins] = {
    "opcode": {
        "load": lambda j: _opcode(j) == JOB_LOAD and not j.end.error,
        "store": lambda j: _opcode(j) == JOB_STORE and not j.end.error,
        "program": lambda j: _opcode(j) == JOB_PROGRAM and not j.end.error,
        "train": lambda j: _trained(j) and not j.end.error,
        "infer": lambda j: _inferred(j) and not j.end.error,
        "grads": lambda j: _opcode(j) == JOB_GRADS and not j.end.error,
        "apply": lambda j: _opcode(j) == JOB_APPLY and not j.end.error,
    },
    "error": {
        error.name: (lambda j, code=int(error): j.end.error == code)
        for error in Error
        if error.name not in UNREACHED
    },
    "source": {
        "stream": lambda j: _trained(j) and not _flags(j) & 1,
        "list": lambda j: _trained(j) and _flags(j) & 1 != 0,
    },
    "td": {
        "memory": lambda j: _trained(j) and _flags(j) & 2 != 0,
        "stream": lambda j: _trained(j) and _flags(j) & 4 != 0,
        "both": lambda j: _trained(j) and _flags(j) & 6 == 6,
        "neither": lambda j: _trained(j) and _flags(j) & 6 == 0,
    },
    "optimizer": {
        "sgd": lambda j: _trained(j) and j.slot.kind == 0,
        "momentum": lambda j: _trained(j) and j.slot.kind == 1,
        "adam": lambda j: _trained(j) and j.slot.kind == 2,
    },
    "target": {
        "hard": lambda j: _trained(j) and any(not s.polyak for s in _stages(j, OP_TARGET)),
        "every_step": lambda j: _trained(j) and any(s.period == 1 for s in _stages(j, OP_TARGET)),
        "period": lambda j: j.end.count > 2 and any(s.period == 2 for s in _stages(j, OP_TARGET)),
        "polyak": lambda j: _trained(j) and any(s.polyak for s in _stages(j, OP_TARGET)),
    },
    "loss": {
        "max": lambda j: _trained(j) and any(s.mode == 0 for s in _stages(j, OP_LOSS_Q)),
        "double": lambda j: _trained(j) and any(s.mode == 1 for s in _stages(j, OP_LOSS_Q)),
        "critic": lambda j: _trained(j) and any(s.mode == 0 for s in _stages(j, OP_LOSS_TD)),
        "twins": lambda j: _trained(j) and any(s.mode == 2 for s in _stages(j, OP_LOSS_TD)),
    },
    "phases": {
        f"{n}{'_delayed' * late}": (
            lambda j, n=n, late=late: (
                _trained(j) and len(j.program.phases) == n and bool(j.program.delay) == late
            )
        )
        for n in (1, 2)
        for late in (False, True)
    },
    "layers": {
        str(n): (lambda j, n=n: _trained(j) and len(j.program.networks[0].layers) == n)
        for n in (1, 2, 3, 4)
    },
    "batch": {
        "one": lambda j: _trained(j) and j.words[3] == 1,
        "no_power_of_two": lambda j: _trained(j) and j.words[3] & (j.words[3] - 1) != 0,
        "several_beats": lambda j: _trained(j) and j.words[3] > 16,
    },
    "pipelines": {
        "even": lambda j: _trained(j) and j.pipelines > 1 and j.words[3] % j.pipelines == 0,
        "uneven": lambda j: (
            _trained(j) and 1 < j.pipelines < j.words[3] and j.words[3] % j.pipelines != 0
        ),
        "idle": lambda j: _trained(j) and j.words[3] < j.pipelines,
        "actor_critic": lambda j: _trained(j) and j.pipelines > 1 and bool(_stages(j, OP_LOSS_TD)),
    },
    "launch": {
        "step": lambda j: "step" in j.launches and not j.end.error,
        "phase": lambda j: "phase" in j.launches and not j.end.error,
        "early": lambda j: "early" in j.launches,
        "before_error": lambda j: bool(j.launches) and j.end.error != 0,
        "pipelines": lambda j: bool(j.launches) and j.pipelines > 1,
    },
    "infer": {
        "one_vector": lambda j: _inferred(j) and j.words[7] == 1,
        "fewer_than_pipelines": lambda j: _inferred(j) and j.words[7] < j.pipelines,
        "one_full_round": lambda j: _inferred(j) and j.words[7] == j.words[3] > 1,
        "second_parity": lambda j: _inferred(j) and j.end.count == 2 * j.words[3],
        "several_rounds": lambda j: _inferred(j) and j.end.count > 2 * j.words[3],
        "last_round_partial": lambda j: (
            _inferred(j) and j.end.count > j.words[3] and j.end.count % j.words[3] != 0
        ),
        "vectors_apart": lambda j: _inferred(j) and j.words[6] > 64,
        "several_beats": lambda j: _inferred(j) and _last_stage(j).n_out > 16,
        "actor": lambda j: _inferred(j) and _last_stage(j).offset != 0,
        "other_network": lambda j: _inferred(j) and j.words[2] != 0,
        "pipelines": lambda j: _inferred(j) and 1 < j.pipelines < j.words[7],
        "some_before_error": lambda j: _inferred(j) and j.end.error != 0,
        "not_loaded": lambda j: (
            _opcode(j) == JOB_INFER and j.end.error == Error.E_NOWEIGHTS and j.end.info0 == 2
        ),
    },
    "gradients": {
        "stream": lambda j: _grads(j) and not _flags(j) & 1,
        "td_stream": lambda j: _grads(j) and _flags(j) & 4 != 0,
        "td_memory": lambda j: _grads(j) and _flags(j) & 2 != 0,
        "idle_pipelines": lambda j: _grads(j) and j.words[3] < j.pipelines,
        "pipelines": lambda j: _grads(j) and 1 < j.pipelines <= j.words[3],
        "several_networks": lambda j: _grads(j) and _several(j),
        "some_networks": lambda j: _grads(j) and j.words[2] != j.program.trained,
        "delayed": lambda j: _grads(j) and bool(j.program.delay),
        "step_in_error": lambda j: (
            _opcode(j) == JOB_GRADS and j.end.error in (Error.E_INDEX, Error.E_NONFINITE)
        ),
        "two_phases": lambda j: (
            _opcode(j) == JOB_GRADS and j.end.error == Error.E_DIM and len(j.program.phases) > 1
        ),
        "image_error": lambda j: (
            _opcode(j) == JOB_GRADS and j.end.error == Error.E_BUS_WR and j.end.info0 == 14
        ),
    },
    "apply": {
        "optimizer_" + name: (lambda j, kind=kind: _applied(j) and j.slot.kind == kind)
        for kind, name in enumerate(("sgd", "momentum", "adam"))
    }
    | {
        "hard": lambda j: _applied(j) and any(not s.polyak for s in _stages(j, OP_TARGET)),
        "polyak": lambda j: _applied(j) and any(s.polyak for s in _stages(j, OP_TARGET)),
        "pipelines": lambda j: _applied(j) and j.pipelines > 1,
        "some_networks": lambda j: _applied(j) and j.words[2] != j.program.trained,
        "columns": lambda j: _applied(j) and any(n.columns for n in j.program.networks),
        "delayed": lambda j: _applied(j) and bool(j.program.delay),
        "image_error": lambda j: _opcode(j) == JOB_APPLY and j.end.error == Error.E_BUS_RD,
    },
    "steps": {
        "one": lambda j: _trained(j) and j.words[2] == 1,
        "several": lambda j: _trained(j) and j.words[2] > 2,
        "some_before_error": lambda j: _trained(j) and j.end.error != 0,
    },
}
