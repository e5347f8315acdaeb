"""The golden models of a configuration's engines and the streams between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jackdaw.device.config import Config
from models.a3c.engine import A3cEngine
from models.a3c.network import Geometry as A3cGeometry
from models.engine import EngineModel, Link
from models.learner.engine import LearnerEngine
from models.learner.layout import Geometry
from models.learner.timing import Latencies
from models.registers import a3c as a3c_registers
from models.registers import learner as learner_registers
from models.registers import replay as replay_registers
from models.replay.engine import ReplayConfig, ReplayEngine

# Parameter of the top -> field of the golden model's configuration.
REPLAY = {
    "ReplayKLog2": "k_log2",
    "ReplayNLog2": "n_log2",
    "ReplayLeafW": "leaf_w",
    "ReplayBatchLog2": "batch_log2",
    "ReplayLatLut": "lat_lut",
    "ReplayLatBram": "lat_bram",
    "ReplayLatUram": "lat_uram",
    "ReplayLatMul": "lat_mul",
    "ReplaySequential": "sequential",
}
LEARNER = {
    "LearnerDP": "dp",
    "LearnerP": "p",
    "LearnerOB": "ob",
    "LearnerGI": "gi",
    "LearnerLW": "lw",
    "LearnerBMax": "b_max",
    "LearnerDMax": "d_max",
    "LearnerLMax": "l_max",
    "LearnerNetMax": "net_max",
    "LearnerStMax": "st_max",
    "LearnerWRows": "w_rows",
    "LearnerARows": "a_rows",
    "LearnerActorCritic": "actor_critic",
    "LearnerNTU": "ntu",
}
LATENCIES = {
    "LearnerMulLatency": "mul",
    "LearnerAddLatency": "add",
    "LearnerDivLatency": "div",
    "LearnerSqrtLatency": "sqrt",
}
A3C = {
    "A3cNPe": "n_pe",
    "A3cNPair": "n_pair",
    "A3cSingleCu": "single_cu",
    "A3cPortPerCu": "port_per_cu",
    "A3cAltEn": "alt_en",
    "A3cLm": "lm",
    "A3cLa": "la",
    "A3cNRu": "n_ru",
    "A3cNbMax": "nb_max",
    "A3cNNet": "n_net",
    "A3cFmRows": "fm_rows",
    "A3cPbInference": "pb_inference",
    "A3cPbTraining": "pb_training",
    "A3cGbRows": "gb_rows",
}


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


def build_engines(config: Config) -> list[EngineSpec]:
    """Make the golden models of a configuration's engines; replay and learner share SMP and TDE.

    Raises: ValueError if the configuration lacks one of their parameters.
    """
    if config.toplevel == "jd_top_a3c":
        a3c = A3cEngine(A3cGeometry(**_fields(config, A3C)))  # type: ignore[arg-type]
        return [EngineSpec(a3c_registers.ENGINE_ID, a3c_registers.ENGINE_VERSION, a3c, [])]
    smp, tde = Link(), Link()
    replay = ReplayEngine(ReplayConfig(**_fields(config, REPLAY)), smp, tde)
    learner = LearnerEngine(
        Geometry(**_fields(config, LEARNER)), smp, tde, Latencies(**_fields(config, LATENCIES))
    )
    return [
        EngineSpec(replay_registers.ENGINE_ID, replay_registers.ENGINE_VERSION, replay, [smp, tde]),
        EngineSpec(
            learner_registers.ENGINE_ID, learner_registers.ENGINE_VERSION, learner, [smp, tde]
        ),
    ]


def _fields(config: Config, names: Mapping[str, str]) -> dict[str, int]:
    missing = set(names) - set(config.parameters)
    if missing:
        raise ValueError(f"configuration {config.name}: {sorted(missing)} missing")
    return {field: config.parameters[name] for name, field in names.items()}
