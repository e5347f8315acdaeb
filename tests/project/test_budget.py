"""`make test` stays short, and builds before its tests: the run's own record says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import budget, changed, record, regression


def check(folder: Path) -> None:
    """Fail if an engine took more than its share of a session."""
    slower = budget.slower(folder)
    table = regression.phases(folder)
    took = {name: table[name]["sum"] / slower for name in changed.ENGINES if name in table}
    print({name: round(value) for name, value in took.items()}, "of", budget.ENGINE_S)
    for name, value in took.items():
        assert value <= budget.TOLERANCE * budget.ENGINE_S, (
            f"{name}: {value:.0f} s of an ordinary core (this one is {slower:.1f} times slower), "
            f"want at most {budget.ENGINE_S:.0f}: {table[name]}"
        )


@pytest.mark.last
def test_engines_are_within_their_budget(
    session_record: Path, request: pytest.FixtureRequest
) -> None:
    """Builds, simulations and Python of each engine; a part of the tests can only be less."""
    if request.config.getoption("--tier") == "test":
        check(session_record)


def test_a_dear_engine_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a build, nor a simulation, nor Python goes unseen."""
    monkeypatch.setenv("JD_SESSION", str(tmp_path))
    record.add("speed", slower=2.0)
    record.built("jd_x", "jackdaw:engine:replay", 1.0, {"verilator": 30.0, "compiler": 50.0})
    record.add("runs", what="jd_x", core="jackdaw:engine:replay", tests=["A"], cpu=100.0)
    record.add("tests", test="tests/replay/test_x.py::test_a", outcome="passed", cpu=219.0)
    check(tmp_path)
    record.add("tests", test="tests/replay/test_x.py::test_b", outcome="passed", cpu=50.0)
    with pytest.raises(AssertionError, match=r"replay: 17. s of an ordinary core"):
        check(tmp_path)


@pytest.mark.last
def test_simulators_are_built_first(session_record: Path) -> None:
    """No test opens a simulator that is not planned: tests would build one after the other."""
    assert not regression.unplanned(session_record), "want a mark `builds` or `unplanned`"
