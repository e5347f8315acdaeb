"""Rows of a record that were measured at several commits."""

from __future__ import annotations

from typing import Any

from flow.synthesis import Variant
from flow.synthesis_page import measured
from flow.synthesis_table import with_recorded


def row(block: str, lut: int, **more: Any) -> dict[str, Any]:
    return {"block": block, "configuration": "default", "lut": lut, **more}


def test_record_of_a_choice_keeps_the_other_rows_and_their_commits() -> None:
    every = [Variant("core", top, "default") for top in ("first", "second", "third", "fourth")]
    old = {"commit": "b", "rows": [row("gone", 1), row("first", 2, commit="a"), row("second", 3),
                                   row("third", 4)]}  # fmt: skip
    rows, missing = with_recorded(old, [row("third", 5)], every)
    assert rows == [
        row("first", 2, commit="a"), row("second", 3, commit="b"), row("third", 5)
    ]  # fmt: skip
    assert missing == [every[3]]
    told = measured({"commit": "c", "rows": [*rows, row("fourth", 6)]})
    assert told == "4 variants, 2 of commit c, 1 of commit a, 1 of commit b"
