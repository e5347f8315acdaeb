"""The qat engine as the timestep loop sees it: replay, networks and transitions on one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jackdaw.agents.base import Parameters, Transition
from jackdaw.agents.qat_ddpg import QatAgent
from jackdaw.device.base import Device
from jackdaw.drivers.qat import Policy, Qat, Source
from jackdaw.drivers.rings import Job
from jackdaw.errors import ConfigError
from jackdaw.runtime.device_trainer import open_replay, store_rows
from jackdaw.runtime.figures import Figures
from models.qat import timing

TIMEOUT_S = 120.0
COUNTED = ("train_cycles", "train_steps")  # over all parts of a run


class QatTrainer:
    """Trains an agent's networks on a device with a replay and a qat engine.

    See `timestep.Trainer`. A batch is drawn by the replay engine; its list goes to the qat engine
    through device memory, and with priorities the TD errors come back the same way. The host
    changes neither.

    Args:
        device: an open device.
        agent: recipe and shapes.
        parameters: the initial weights of actor and critic; the targets become copies.
        sampler, noise: seeds.
    Raises: ConfigError if the build is too small for the recipe.
    """

    def __init__(
        self,
        device: Device,
        agent: QatAgent,
        parameters: Sequence[Parameters],
        sampler: int,
        noise: int,
    ) -> None:
        recipe = agent.recipe
        self.device, self.agent = device, agent
        self.stratified = recipe.batch & (recipe.batch - 1) == 0
        self.train_cycles = 0
        self.train_steps = 0
        self._running: Job | None = None
        self.replay = open_replay(device, recipe, sampler)
        with self.replay.opening():
            self.qat = Qat(device)
            with self.qat.opening():
                self._load(parameters, noise)

    def _load(self, parameters: Sequence[Parameters], noise: int) -> None:
        """Load the networks, and reserve memory for the records."""
        recipe, qat = self.agent.recipe, self.qat
        most = min(self.replay.max_batch, qat.geometry.b_max)
        if recipe.batch > most:
            raise ConfigError(f"batch: got {recipe.batch}, this build has 1..{most}")
        settings = self.agent.settings(noise)
        qat.configure(settings)
        self._sigma = settings.sigma
        actor, critic = parameters
        qat.load_network(actor, critic)
        stride = qat.geometry.stride(self.agent.spec.states)
        self.source = Source(
            qat.alloc(recipe.capacity * stride),
            stride,
            recipe.capacity,
            qat.alloc(Qat.list_room(recipe.batch), 64),
            weighted=recipe.alpha > 0,
        )
        self.figures = Figures(self.device, self.replay, qat)

    def close(self) -> None:
        """See Trainer: give the engines back."""
        self.qat.close()
        self.replay.close()

    def insert(self, transitions: list[Transition]) -> None:
        """See Trainer."""
        self.finish()
        rows = self.agent.pack(transitions, self.qat.geometry)
        with self.figures.working():
            store_rows(self.device, self.replay, self.source.base, rows)

    def _explore(self, sigma: float) -> None:
        """Set the size of the noise, where it is another."""
        if sigma != self._sigma:
            self.finish()
            self.qat.explore(sigma)
            self._sigma = sigma

    def act(self, state: np.ndarray, sigma: float) -> np.ndarray:
        """See Trainer."""
        with self.figures.working():
            self._explore(sigma)
            return self.qat.infer(state, noise=True)

    def train(self, state: np.ndarray, sigma: float) -> np.ndarray:
        """See Trainer.

        If the recipe acts `with` the batch, the timestep still runs: `finish` waits for its end.
        """
        self.finish()
        with self.figures.working():
            self._explore(sigma)
            return self._train(state)

    def _train(self, state: np.ndarray) -> np.ndarray:
        recipe, weighted = self.agent.recipe, self.source.weighted
        self.replay.sample(
            recipe.batch,
            stratified=self.stratified,
            weights=weighted,
            address=self.source.list_address,
        )
        self._running = self.qat.train(
            recipe.batch,
            recipe.learning_rate,
            recipe.critic_learning_rate,
            self.source,
            state=state,
            act=recipe.act,
            actor_scale=recipe.actor_scale,
            critic_scale=recipe.critic_scale,
        )
        if recipe.act == "with":
            self.qat.wait_action(self._running)
        else:
            self._end()
        return self.qat.action()

    def finish(self) -> None:
        """Wait for the timestep that runs, if there is one, and set its priorities."""
        if self._running is not None:
            with self.figures.working():
                self._end()

    def _end(self) -> None:
        job, self._running = self._running, None
        assert job is not None
        batch = self.agent.recipe.batch
        self.train_cycles += job.wait(TIMEOUT_S).cycles
        self.train_steps += 1
        if self.source.weighted:
            self.replay.update_from(self.qat.pairs_address(self.source, batch), batch)
        self.replay.acknowledge()

    def policy(self) -> Policy:
        """See Trainer."""
        self.finish()
        return self.qat.policy()

    def mean_td(self) -> float:
        """See Trainer."""
        self.finish()
        return float(self.qat.statistics()["td_mean"])

    def cycles(self) -> int:
        """See Trainer."""
        return self.figures.clocks

    def networks(self) -> dict[str, np.ndarray]:
        """See Trainer: the engine's memories."""
        self.finish()
        memories: dict[str, np.ndarray] = self.qat.state()["memories"]
        return memories

    def state(self) -> dict[str, Any]:
        """See Trainer."""
        self.finish()
        counted = {name: getattr(self, name) for name in COUNTED}
        figures = {**self.figures.state(), **counted}
        with self.figures.aside():
            replay = self.replay.state()
            used = replay["CNT"] * self.source.stride
            rows = self.device.read(self.source.base, used) if used else np.zeros(0, np.uint8)
            return {"replay": replay, "qat": self.qat.state(), "rows": rows, "figures": figures}

    def load_state(self, state: dict[str, Any]) -> None:
        """See Trainer."""
        self.replay.load_state(state["replay"])
        self.qat.load_state(state["qat"])
        if state["rows"].size:
            self.device.write(self.source.base, state["rows"])
        self.figures.load_state(state["figures"])
        for name in COUNTED:
            setattr(self, name, state["figures"][name])

    def measurements(self) -> dict[str, Any]:
        """Figures of the run for summary.json; an inference of IPS is a trained vector."""
        self.finish()
        batch, steps = self.agent.recipe.batch, max(self.train_steps, 1)
        per_step = self.train_cycles / steps
        found = self.qat.statistics()
        assert self.qat.table is not None
        table, geometry = self.qat.table, self.qat.geometry
        return {
            "clock_hz": self.device.clock_hz,
            "cycles_are": "measured" if self.device.measured else "estimated",
            "total_cycles": self.figures.clocks,
            "cycles_per_engine": self.figures.per_engine(),
            "cycles_per_timestep": round(per_step, 1),
            "ideal_cycles_per_timestep": {
                mode: timing.ideal_clocks(table, geometry, batch, mode == "half")
                for mode in ("full", "half")
            },
            "inferences_per_second_at_clock": (
                round(batch * self.device.clock_hz / per_step, 1) if per_step else 0.0
            ),
            **found,
        }
