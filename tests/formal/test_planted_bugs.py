"""Each proof finds its planted bug; the flow says by name what went wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flow import formal
from flow.regression import keep
from verif.formal.proofs import PROOFS


@pytest.mark.parametrize("proof", keep(PROOFS, 5), ids=lambda proof: proof.name)
def test_planted_bug_is_found(proof: formal.Proof) -> None:
    found, trace, names = formal.find_bug(proof)
    assert found, f"{proof.bug.words}: not found in {proof.bug.depth} clocks"
    assert trace.stat().st_size and names != "nothing"


def test_bug_that_fits_nowhere_is_refused() -> None:
    proof = replace(PROOFS[0], name="misfit", bug=replace(PROOFS[0].bug, pattern="no such text"))
    with pytest.raises(formal.FormalError, match="matches 0 times"):
        formal.find_bug(proof)


def test_solver_out_of_time_is_named() -> None:
    proof = replace(PROOFS[0], name="hurried", timeout_s=0.01)
    with pytest.raises(
        formal.SolverTimeout, match=r"hurried: bounded run: no answer within 0\.01 s"
    ):
        formal.check(proof)


def test_source_that_yosys_refuses_is_named() -> None:
    bug = replace(PROOFS[0].bug, replacement="assign in_ready_o = ;")
    with pytest.raises(formal.FormalError, match="Yosys failed"):
        formal.find_bug(replace(PROOFS[0], name="garbled", bug=bug))


def test_unreached_cover_is_reported() -> None:
    row = formal.check(replace(PROOFS[0], name="short", cover_depth=1))
    assert row["cover"] == "not reached in 1 clocks"
