"""The accelerator as the lockstep loop sees it: replay, learner and transitions on one device.

Two modes with the same bits: `comm_reduction`, where indices and TD errors stream between the
engines and the host only inserts and reads weights; and `default`, where they pass through device
memory and the host (thesis 4.2.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jackdaw.agents.base import Agent, Parameters
from jackdaw.agents.recipes import Recipe
from jackdaw.device.base import Device
from jackdaw.drivers.learner import Learner, Storage
from jackdaw.drivers.replay import Replay, ReplaySettings
from jackdaw.drivers.rings import Job
from jackdaw.errors import ConfigError, DeviceError, JobError
from jackdaw.runtime.figures import Figures
from jackdaw.runtime.lockstep import StepResult
from models.replay.engine import Job as Opcode

MODES = ("comm_reduction", "default")
TIMEOUT_S = 120.0
COUNTED = ("train_cycles", "train_steps", "busy_cycles")  # over all parts of a run
ERROR_TIMEOUT_S, ERROR_CYCLES = 5.0, 10_000  # of the learner's end after that of replay


def store_rows(device: Device, replay: Replay, base: int, rows: np.ndarray) -> None:
    """Reserve, write the records, commit with the highest priority so far.

    The engine reserves at most half of its leaves at a time. More records come where episodes end,
    and are stored in parts.

    Args:
        device: where the records are.
        replay: its leaves are numbers of records.
        base: address of record 0.
        rows: [n, stride] uint8.
    """
    most = max(replay.settings.leaves // 2, 1)
    for part in (rows[first : first + most] for first in range(0, len(rows), most)):
        indices = replay.reserve(len(part))
        breaks = np.flatnonzero(np.diff(indices) != 1) + 1
        for run, at in zip(np.split(part, breaks), np.split(indices, breaks), strict=True):
            device.write(base + int(at[0]) * rows.shape[1], np.ascontiguousarray(run))
        replay.commit(count=len(part))


def open_replay(device: Device, recipe: Recipe, seed: int) -> Replay:
    """The replay engine as a recipe wants it; the seed is of the sampler."""
    return Replay(
        device,
        ReplaySettings(
            leaves=recipe.capacity,
            alpha=recipe.alpha,
            beta=recipe.beta,
            beta_step=(1 - recipe.beta) / recipe.beta_steps,
            epsilon=recipe.epsilon_priority,
            seed=seed,
        ),
    )


class DeviceTrainer:
    """Trains an agent's networks on a device (see `lockstep.Trainer`).

    Args:
        device: an open device with a replay and a learner engine.
        agent: recipe and shapes.
        parameters: the initial weights of each network; the targets become copies.
        seed: seed of the sampler.
        mode: `comm_reduction` or `default`.
    Raises: ConfigError if the build is too small for the recipe.
    """

    def __init__(
        self,
        device: Device,
        agent: Agent,
        parameters: Sequence[Parameters],
        seed: int,
        mode: str = "comm_reduction",
    ) -> None:
        recipe = agent.recipe
        if mode not in MODES:
            raise ConfigError(f"mode: got {mode!r}, want one of {', '.join(MODES)}")
        self.device = device
        self.agent = agent
        self.mode = mode
        self.networks = len(parameters)
        self.stratified = recipe.batch & (recipe.batch - 1) == 0
        self.train_cycles = 0
        self.train_steps = 0
        self.busy_cycles = 0
        self.replay = open_replay(device, recipe, seed)
        with self.replay.opening():
            most = self.replay.max_batch
            if recipe.batch > most:
                raise ConfigError(f"batch: got {recipe.batch}, replay of this build has 1..{most}")
            self.learner = Learner(device)
            with self.learner.opening():
                self._load(parameters)

    def _load(self, parameters: Sequence[Parameters]) -> None:
        """Load the program and the networks, and reserve memory for the records."""
        agent, recipe, learner = self.agent, self.agent.recipe, self.learner
        learner.load_program(agent.program(learner))
        learner.check_batch(recipe.batch)
        for network, initial in enumerate(parameters):
            learner.load(initial, network)
        records = learner.alloc(recipe.capacity * agent.stride)
        self.storage = Storage(records, agent.stride, recipe.capacity)
        self.td_address = learner.alloc(4 * recipe.batch, 64)
        self.figures = Figures(self.device, self.replay, learner)

    def close(self) -> None:
        """Give the engines back."""
        self.learner.close()
        self.replay.close()

    def insert(self, rows: np.ndarray) -> None:
        """See Trainer."""
        with self.figures.working():
            store_rows(self.device, self.replay, self.storage.base, rows)

    def train(self, steps: int) -> StepResult:
        """See Trainer."""
        before, busy = self.learner.steps, self.learner.busy_cycles()
        with self.figures.working():
            if self.mode == "comm_reduction":
                self._train_by_streams(steps)
            else:
                for _ in range(steps):
                    self._train_by_host()
            parameters = self.learner.fetch()
        done = self.learner.steps - before
        self.train_steps += done
        self.busy_cycles += self.learner.busy_cycles() - busy
        return StepResult(done, self.learner.mean_td, parameters)

    def parameters(self) -> Parameters:
        """See Trainer."""
        return self.learner.store()

    def cycles(self) -> int:
        """See Trainer."""
        return self.figures.clocks

    def state(self) -> dict[str, Any]:
        """Everything that a later run needs to go on to the bit."""
        figures = {
            **self.figures.state(),
            **{name: getattr(self, name) for name in COUNTED},
        }
        with self.figures.aside():
            replay = self.replay.state()
            used = replay["CNT"] * self.storage.stride
            return {
                "replay": replay,
                "learner": [self.learner.state(network) for network in range(self.networks)],
                "rows": (
                    self.device.read(self.storage.base, used) if used else np.zeros(0, np.uint8)
                ),
                "figures": figures,
            }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same agent."""
        self.replay.load_state(state["replay"])
        for network, saved in enumerate(state["learner"]):
            self.learner.load_state(saved, network)
        if state["rows"].size:
            self.device.write(self.storage.base, state["rows"])
        self.figures.load_state(state["figures"])
        for name in COUNTED:
            setattr(self, name, state["figures"][name])

    def measurements(self) -> dict[str, Any]:
        """Figures of the run in device clocks, for summary.json; made after the last step.

        They are of all parts of a run that was resumed, of inserting and training alone.
        `cycles_per_engine` is None on a device that does not measure.
        """
        batch = self.agent.recipe.batch
        steps = max(self.train_steps, 1)
        per_step = self.train_cycles / steps
        clocks, per_engine = self.figures.clocks, self.figures.per_engine()
        ideal = self.learner.ideal_cycles(batch)
        sample, update = self._measure_replay(batch)
        return {
            "clock_hz": self.device.clock_hz,
            "cycles_are": "measured" if self.device.measured else "estimated",
            "total_cycles": clocks,
            "cycles_per_engine": per_engine,
            "cycles_per_gradient_step": round(per_step, 1),
            "ideal_cycles_per_gradient_step": ideal,
            "gradient_steps_per_second_at_clock": (
                round(self.device.clock_hz / per_step, 1) if per_step else 0.0
            ),
            "learner_utilization": round(ideal / per_step, 4) if per_step else 0.0,
            "learner_busy_cycles_per_step": round(self.busy_cycles / steps, 1),
            "replay_cycles_per_sample": sample,
            "replay_cycles_per_update": update,
        }

    def _train_by_streams(self, steps: int) -> None:
        batch = self.agent.recipe.batch
        train = self.learner.train(batch, self.storage, steps=steps, td_stream=True, irq=False)
        store = self.learner.queue_store()
        loop = self.replay.train_loop(batch, steps, stratified=self.stratified)
        try:
            loop.wait(TIMEOUT_S)
            store.wait(TIMEOUT_S)
            trained = train.wait(TIMEOUT_S)
        except Exception as error:
            # What the learner says of a bad number is the cause; replay only misses its answer.
            cause = self._error_of(train)
            # The links may hold words of a dropped step; weights and tree stay.
            self.replay.soft_reset()
            self.learner.soft_reset()
            raise cause or error from None
        self.train_cycles += trained.cycles

    @staticmethod
    def _error_of(train: Job) -> Exception | None:
        """What a training that is not waited for ended with, if it has its end."""
        try:
            train.wait(ERROR_TIMEOUT_S, ERROR_CYCLES)
        except JobError as error:
            return error
        except (DeviceError, ValueError):
            pass  # it is still waiting, so it is not the cause
        return None

    def _train_by_host(self) -> None:
        batch = self.agent.recipe.batch
        samples = self.replay.sample(batch, stratified=self.stratified)
        train = self.learner.train(
            batch, self.storage, list_address=samples.address, td_address=self.td_address
        )
        store = self.learner.queue_store()
        self.train_cycles += train.wait(TIMEOUT_S).cycles
        store.wait(TIMEOUT_S)
        errors = self.device.read(self.td_address, 4 * batch).view(np.float32)
        self.replay.update(np.arange(batch), errors, td=True, slots=True)
        self.replay.acknowledge()

    def _measure_replay(self, batch: int) -> tuple[float, float]:
        """Clocks a sample and an update of whole jobs of `batch`; leaves all priorities alone."""
        sampled = self.replay.measure_sample(batch, self.stratified)
        updated = self.replay.measure_host(Opcode.UPDATE, batch)
        return round(sampled / batch, 2), round(updated / batch, 2)
