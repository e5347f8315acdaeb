"""Exploration of the mcts engine's builds: the least of all, the estimates, the command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import explore_mcts
from flow.effort import scale
from jackdaw.device import load_config
from models.mcts import dse


def test_the_chosen_build_is_the_least_of_all(seed: int) -> None:
    """By brute force, for random budgets, some of which nothing fits."""
    rng, none = np.random.default_rng(seed), 0
    for d, f in ((4, 2), (8, 6), (16, 9), (32, 6), (32, 18), (64, 5)):
        every = list(dse.every(dse.Task(d, f, congestion=(1.3, 1.05))))
        for _ in range(scale(40, 6)):
            lut = rng.uniform(30_000, 300_000)
            budget = dse.Budget(lut, rng.uniform(0.8, 3) * lut, rng.uniform(50, 900), 1800)
            task = dse.Task(d, f, congestion=(1.3, 1.05))
            fits = [p for p in every if dse.binding(p, budget) is None]
            found = dse.choose(task, budget)
            none += not fits
            if fits:
                assert found is not None and found.order == min(p.order for p in fits)
                assert dse.binding(found, budget) is None
            else:
                assert found is None
    assert none


def test_estimates_are_those_of_the_specification() -> None:
    """Of the published size; within 10 %. Beside it each of 33 units has a copy of all priors."""
    for f, fp, mu, lut, dsp, bram in (
        (6, 6, 6, 150e3, 231, 676 + 33 * 2), (18, 5, 18, 235e3, 627, 1732 + 33 * 5),
    ):  # fmt: skip
        found = dse.point(dse.Task(32, f, 16_384), f, fp, 1, mu, 512)
        assert found.lut == pytest.approx(lut, rel=0.1)
        assert found.dsp == dsp and found.bram36 == pytest.approx(bram, rel=0.01)
        assert found.interval == pytest.approx(2.625)
    networks = {
        d: [
            dse.point(dse.Task(d, 6), 6, 6, xbar, 6, 512).lut
            - dse.point(dse.Task(d, 6), 6, 6, xbar, 6, 512, dse.Costs(crossbar=0, butterfly=0)).lut
            for xbar in (0, 1)
        ]
        for d in (8, 16, 32)
    }
    for d, want in ((8, (7e3, 4e3)), (16, (19e3, 14e3)), (32, (48e3, 58e3))):
        assert networks[d] == pytest.approx(want, rel=0.12)


def test_crossbars_are_chosen_where_the_publication_has_butterflies() -> None:
    for d, f, fr, fp in ((8, 6, 6, 6), (16, 6, 6, 6), (32, 6, 6, 6), (32, 18, 18, 5)):
        task = dse.Task(d, f, share=0.5 if f == 18 else 1.0)
        found, theirs = dse.choose(task), dse.published(task)
        assert found is not None and theirs is not None
        assert (found.fr, found.xbar, theirs.xbar) == (fr, 1, 0)
        assert dse.clocks(f, found.fp) == dse.clocks(f, fp)
        assert found.interval < theirs.interval
    assert dse.published(dse.Task(4, 6)).xbar == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("children", range(2, 33))
def test_selectors_have_balanced_groups(children: int) -> None:
    for factor in range(2, children + 1):
        sizes = dse.groups(children, factor)
        assert max(sizes) <= factor
        assert sum(size - 1 for size in sizes) == children - 1  # each leaves one
        assert dse.clocks(children, factor) == math.ceil(
            round(math.log(children, factor), 9)
        )  # fmt: skip
    assert sum(s * (s - 1) // 2 for s in dse.groups(18, 5)) == 38


def test_the_command_writes_a_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine.json"
    options = ["--depth", "8", "--fanout", "6", "--nodes", "2000", "--out", str(out)]
    assert explore_mcts.main(options) == 0
    text = capsys.readouterr().out
    assert "| chosen | 6 | " in text and "| published method | 6 | 6 | butterflies | 6 |" in text
    config = load_config(str(out)).instance("mcts")
    assert (config.fields["d"], config.fields["f"], config.fields["x"]) == (8, 6, 2000)
    assert json.loads(out.read_text())["engines"]["mcts"]["parameters"]["MctsXbar"] == 1
    assert explore_mcts.main([*options[:6], "--dsp", "60"]) == 0
    assert "refused: dsp " in capsys.readouterr().out
    assert explore_mcts.main(["--lut", "1000"]) == 1
    assert "no build fits: the smallest has lut" in capsys.readouterr().err
    picture = tmp_path / "networks.png"
    assert explore_mcts.main([*options[:6], "--picture", str(picture)]) == 0
    assert picture.stat().st_size > 20_000
    for wrong in (["--depth", "33"], ["--lut", "nan"], ["--out", "/nowhere/x.toml"],
                  ["--picture", str(tmp_path)], ["--picture", str(picture)]):  # fmt: skip
        with pytest.raises(SystemExit):
            explore_mcts.main(wrong)
