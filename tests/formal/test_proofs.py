"""The proofs hold, and their interesting situations are reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import formal
from flow.regression import keep
from verif.formal.proofs import PROOFS


@pytest.mark.parametrize("proof", keep(PROOFS, 5), ids=lambda proof: proof.name)
def test_proof_holds(proof: formal.Proof) -> None:
    row = formal.check(proof)
    assert row["result"] == "proved"
    assert row["cover"] == "reached"
    assert row["properties"] > 0


def test_names_are_unique() -> None:
    names = [proof.name for proof in PROOFS]
    assert len(set(names)) == len(names)


def test_every_harness_is_used() -> None:
    folder = Path(formal.ROOT / "verif/formal")
    used = {f"{proof.harness}.sv" for proof in PROOFS}.union(*(proof.also for proof in PROOFS))
    assert {path.name for path in folder.glob("*.sv")} == used


def test_every_proof_is_documented() -> None:
    page = (formal.ROOT / "docs/proofs.md").read_text()
    for proof in PROOFS:
        assert proof.block in page, proof.name
