#!/usr/bin/env python3
"""Returns of ddpg-qat by the precision of its activations: table and plot of finished runs.

    scripts/precision.py runs/qat-1 runs/fixed-1 runs/float-1 ... --plot precision.png --record

A run of scripts/train.py is `QAT` (16 bits after the recipe's delay), `fixed` (32 bits all along:
--set qdelay=...), `half` (16 bits from the first step: --set qdelay=0) or `float` (--device float).
Of the runs of a device the table also says how far the actor and the critic that were learned are
from float64: the same weights, on transitions that were not trained on.

Source: FIXAR VI-B, Figure 7.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from curves import read
from flow import results
from flow.configuration import load_config
from jackdaw.errors import CheckpointError
from jackdaw.runtime import checkpoint
from jackdaw.runtime.environment import Environment
from models.qat import ops
from models.qat.layout import ACTOR, CRITIC, Geometry, plan
from models.qat.records import to_fixed
from models.qat.timestep import Datapath
from models.registers import qat as registers

PRECISIONS = {"float": "float32", "fixed": "32-bit fixed point", "QAT": "QAT: 32, then 16 bits",
              "half": "16 bits from the first step"}  # fmt: skip
LAST = 10  # evaluations whose mean is compared
JUDGED = 1000  # states on which networks are compared with float64
UNSEEN = 1_000_000  # their episodes' seeds begin here


def precision(run: dict[str, Any]) -> str:
    """The key of PRECISIONS that a run is of."""
    if run["device"] == "float":
        return "float"
    delay, steps = run["recipe"]["qdelay"], run["recipe"]["max_steps"]
    return "half" if delay == 0 else "fixed" if delay >= steps else "QAT"


def row(run: dict[str, Any]) -> dict[str, Any]:
    """A run's line of the table; the last evaluation is of more episodes and not in `last_mean`."""
    evaluations = run["history"]["evaluations"]
    last = [e[2] for e in evaluations[:-1][-LAST:]]
    return {
        **{key: run[key] for key in ("environment", "seed", "gradient_steps", "mean_return")},
        "precision": precision(run),
        "device": run["device"],
        "last_mean": float(np.mean(last)) if last else None,
        "shifts": run.get("shifts"),
        "saturated": run.get("saturated"),
        **run["errors"],
    }


def play(
    environment: Environment, seed: int, act: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """States of episodes without noise, [JUDGED, S] float32."""
    state = environment.reset(seed=seed)[0]
    states: list[np.ndarray] = []
    while len(states) < JUDGED:
        states.append(np.asarray(state, np.float32))
        state, _, terminated, truncated, _ = environment.step(act(states[-1]))
        if terminated or truncated:
            state = environment.reset()[0]
    return np.stack(states)


class Learned:
    """Actor and critic of a run, in the engine's numbers and in float64.

    Args:
        run: what its folder says of it.
        engine: the engine's part of its checkpoint.
        environment: what it learned.
    """

    def __init__(
        self, run: dict[str, Any], engine: dict[str, Any], environment: Environment
    ) -> None:
        geometry = Geometry(**load_config(run["config"]).instance("qat").fields)
        self.environment, self.seed = environment, UNSEEN + run["seed"]
        self.path = path = Datapath(geometry)
        observations, actions = environment.observation_space, environment.action_space
        assert observations.shape is not None and actions.shape is not None
        hidden = tuple(run["recipe"]["hidden"])
        path.table = plan(observations.shape[0], actions.shape[0], hidden, geometry)
        lines = engine["memories"]["w"]
        path.w[: len(lines)] = lines
        path.half = bool(registers.MODE.field("half").get(engine["MODE"]))
        path.shifts = list(engine["SHIFT"])

    def fixed(self, net: int, inputs: np.ndarray) -> np.ndarray:
        """Outputs, [n, P] float64, of [n, words] inputs as the engine computes them."""
        path = self.path
        x = path.store(to_fixed(inputs, ops.ACTIVATION), 0, path.half, watch=False)
        out = path.forward(net, x, path.half, watch=False)[-1]
        return np.ldexp(out.astype(np.float64), -ops.ACTIVATION)

    def exact(self, net: int, inputs: np.ndarray) -> np.ndarray:
        """The same in float64."""
        path, x = self.path, np.asarray(inputs, np.float64)
        for layer in path.layers(net):
            w, b = (
                np.ldexp(part.astype(np.float64), -ops.WEIGHT)
                for part in (path.weights(path.w, layer), path.biases(path.w, layer))
            )
            x = x @ w.T + b
            if layer.act == ops.RELU:
                x = np.maximum(x, 0)
            elif layer.act == ops.TANH:
                x = np.tanh(x)
        return x

    def errors(self) -> dict[str, float]:
        """Mean square errors: of actions; and of q, by the mean square of q."""
        states = play(self.environment, self.seed, lambda state: self.fixed(ACTOR, state[None])[0])
        mu = self.exact(ACTOR, states)
        assert self.path.table is not None
        # X has the actions at its end, after the words that fill the line before them.
        width = self.path.table.inputs(CRITIC, self.path.geometry)
        x = np.zeros((len(states), width))
        x[:, : states.shape[1]], x[:, width - mu.shape[1] :] = states, mu
        q = self.exact(CRITIC, x)
        return {
            "mse_mu": float(np.mean((self.fixed(ACTOR, states) - mu) ** 2)),
            "mse_q": float(np.mean((self.fixed(CRITIC, x) - q) ** 2) / np.mean(q**2)),
        }


def load(folder: Path) -> dict[str, Any]:
    """A run with its history and its networks' errors.

    Raises: FileNotFoundError, CheckpointError; ValueError if it is of another agent.
    """
    run = read(folder)
    if run["agent"] != "ddpg-qat":
        raise ValueError(f"{folder}: got a run of {run['agent']}, want ddpg-qat")
    run["errors"] = {"mse_mu": None, "mse_q": None}
    if run["device"] != "float":
        engine = checkpoint.load(folder / "checkpoint.npz")["trainer"]["qat"]
        environment = Environment(run["environment"])
        try:
            run["errors"] = Learned(run, engine, environment).errors()
        finally:
            environment.close()
    return run


def draw(path: Path, runs: Sequence[dict[str, Any]]) -> None:
    """Evaluations over gradient steps: of each precision the mean of its seeds and their range."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator

    environments = list(dict.fromkeys(run["environment"] for run in runs))
    figure, axes = pyplot.subplots(
        1, len(environments), figsize=(5.2 * len(environments), 3.6), dpi=110,
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for axis, environment in zip(axes.flat, environments, strict=True):
        mine = [run for run in runs if run["environment"] == environment]
        for number, (kind, label) in enumerate(PRECISIONS.items()):
            found = [run["history"]["evaluations"] for run in mine if precision(run) == kind]
            if not found:
                continue
            count = min(map(len, found))
            steps = [e[0] for e in found[0][:count]]
            returns = np.array([[e[2] for e in evaluations[:count]] for evaluations in found])
            seeds = f", {len(found)} seeds" if len(found) > 1 else ""
            axis.plot(steps, returns.mean(0), color=f"C{number}", label=label + seeds)
            if len(found) > 1:
                axis.fill_between(steps, returns.min(0), returns.max(0), color=f"C{number}",
                                  alpha=0.15)  # fmt: skip
        for delay in {run["recipe"]["qdelay"] for run in mine if precision(run) == "QAT"}:
            axis.axvline(delay, color="#666666", linestyle=":", label="switch to 16 bits")
        axis.set(title=environment, xlabel="gradient steps", ylabel="return without noise")
        axis.xaxis.set_major_locator(MaxNLocator(5))
        axis.grid(alpha=0.25)
        axis.legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines of the table: a line for each environment and precision."""
    lines = ["| environment | activations | seeds | gradient steps | mean returns of 100 episodes |"
             f" mean of the {LAST} evaluations before | saturated | MSE of actions | MSE of q |",
             "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for r in rows:
        groups.setdefault((r["environment"], r["precision"]), []).append(r)

    def joined(values: Sequence[object], form: str) -> str:
        return ", ".join("-" if value is None else format(value, form) for value in values)

    for (environment, kind), found in groups.items():
        totals: dict[str, int] = {}
        for r in found:
            for stage, count in (r["saturated"] or {}).items():
                totals[stage] = totals.get(stage, 0) + count
        saturated = ", ".join(f"{stage} {count:,}" for stage, count in totals.items() if count)
        cells = [
            environment, PRECISIONS[kind], joined([r["seed"] for r in found], "d"),
            joined(sorted({r["gradient_steps"] for r in found}), ","),
            joined([r["mean_return"] for r in found], ".0f"),
            joined([r["last_mean"] for r in found], ".0f"), saturated or "-",
            joined([r["mse_mu"] for r in found], ".1e"), joined([r["mse_q"] for r in found], ".1e"),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, help="folders of scripts/train.py")
    parser.add_argument("--plot", type=Path, help="draw the curves into this file")
    parser.add_argument("--record", action="store_true", help="keep the table for the report")
    options = parser.parse_args(argv)
    results.check_record(parser, options.record)
    try:
        runs = [load(folder) for folder in options.runs]
    except (CheckpointError, FileNotFoundError) as error:
        parser.error(f"no finished run of scripts/train.py: {error}")
    except ValueError as error:
        parser.error(str(error))
    order = list(PRECISIONS)
    runs.sort(key=lambda r: (r["environment"], order.index(precision(r)), r["seed"]))
    rows = [row(run) for run in runs]
    print("\n".join(table(rows)))
    if options.plot:
        draw(options.plot, runs)
    if options.record:
        seconds = sum(run["wall_seconds"] for run in runs)
        results.write("precision", rows, seconds=seconds, record=True,
                      tools=["gymnasium", "torch"])  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
