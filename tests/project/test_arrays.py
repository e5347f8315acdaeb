"""Memories stand in rtl/lib/mem: no other module writes an array at an address of run time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flow import ROOT

# Arrays that stay registers, and why.
REASONS = {
    "rtl/a3c/jd_a3c_core.sv": {
        "tiles_q": "four tiles, of which four stages read one each in every clock",
    },
    "rtl/learner/jd_learner_job.sv": {
        "scalars_q": "fields are written apart, and one field of all is read at once",
    },
    "rtl/learner/jd_learner_program.sv": {
        "networks_o": "outputs that are read at once; fields are written apart",
        "slots_o": "outputs that are read at once",
        "update_o": "outputs that are read at once",
    },
    "rtl/sparse/jd_sparse_ranges.sv": {
        "share_q": "sums of two passes, which begin at 0 with each plan",
    },
    "rtl/sparse/jd_sparse_plan.sv": {
        "windows_q": "counts of three passes, each written at the end of its first cut",
    },
}
DECLARATION = re.compile(
    r"\s*(?:output\s+)?(?:logic|bit|\w+::\w+_t|\w+_t|\w+_e)\b(?:\s+signed)?\s*(?:\[[^\]]*\]\s*)*(\w.*)$"
)


def arrays(text: str) -> set[str]:
    """Names of the unpacked arrays that a module declares: `type [packed] name [unpacked];`."""
    found = set[str]()
    for line in text.splitlines():
        words = DECLARATION.match(line)
        if words is None or "=" in words[1].split(";")[0]:
            continue
        for part in words[1].split(";")[0].rstrip(", ").split(","):
            name = re.fullmatch(r"\s*(\w+)\s*\[.+\]\s*", part)
            if name is not None:
                found.add(name[1])
    return found


def known(text: str) -> set[str]:
    """Names whose value is known when the module is built: loop variables and parameters."""
    loops = re.findall(r"for\s*\(\s*(?:genvar|int unsigned|int)\s+(\w+)", text)
    return {*loops, *re.findall(r"\b(?:localparam|parameter)\b[^=;]*?(\w+)\s*=", text)}


def written(text: str, name: str) -> list[str]:
    """The index of each assignment to an element of an array in a clocked block."""
    found = []
    for use in re.finditer(rf"(?<![\w.]){name}\s*\[", text):
        depth, end = 1, use.end()
        while depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        if re.match(r"(?:\.\w+|\[[^\]]*\])*\s*<=", text[end:]):
            found.append(text[use.end() : end - 1])
    return found


def memories(text: str) -> set[str]:
    """The arrays of a module that are written at an index that is not known when it is built."""
    text = re.sub(r"//.*", "", text)
    constants = known(text)
    return {
        name
        for name in arrays(text)
        if any(
            set(re.findall(r"(?<!')\b[A-Za-z_]\w*", index)) - constants
            for index in written(text, name)
        )
    }


def modules() -> list[Path]:
    """Hand-written modules outside rtl/lib/mem."""
    return [
        path
        for path in sorted((ROOT / "rtl").rglob("*.sv"))
        if "generated" not in path.parts and path.parent != ROOT / "rtl/lib/mem"
    ]


def test_memories_stand_in_the_library() -> None:
    found = {str(path.relative_to(ROOT)): memories(path.read_text()) for path in modules()}
    found = {path: names for path, names in found.items() if names}
    assert found == {path: set(names) for path, names in REASONS.items()}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("  logic [7:0] mem [Depth];\n  if (w) mem[b_q] <= a;", {"mem"}),
        ("  a_t x_q [2**W], y_q [N];\n  x_q[b[W-1:0]].low <= a;\n  y_q[0] <= a;", {"x_q"}),
        ("  logic u_q [1:N];\n  for (genvar k = 1; k < N; k++) u_q[k+1] <= u_q[k];", set()),
        ("  parameter int N = 2;\n  logic s_q [N];\n  s_q[N-1] <= s_q[0];", set()),
        ("  logic [3:0][7:0] x_q;\n  x_q[b_q] <= a;", set()),
        ("  logic x [N];\n  assign y = x[b_q];", set()),
    ],
)
def test_a_memory_is_found(text: str, want: set[str]) -> None:
    assert memories(text) == want
