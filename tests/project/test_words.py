"""Phrases that a reader stumbles over, and that a pattern can find: none is in the prose."""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

from flow import ROOT

# What the words were meant to say.
PHRASES = {
    "after, or at": re.compile(r"\bbehind\b(?!:)", re.I),
    "is invalid, or is not one": re.compile(r"(?<!there )\bis none\b"),
    "per clock": re.compile(
        r"\b(?:one|two|three|\d+|word|beat|row|line|node|item|bit|entry|entries|operation|sample"
        r"|[a-z]{3,}s) a clock\b(?! (?:late|early))"
    ),
}
COMMENT = re.compile(r"^\s*//+ ?(.*)|//+ (.*)|\bdesc\s*=\s*\"(.*)")
HERE = Path(__file__).name
SUFFIXES = (".md", ".py", ".sv", ".svh", ".cpp", ".h", ".rdl")
# Written from other files.
MADE = ("models/registers/", "docs/registers/", "docs/synthesis.md")


def prose(path: Path) -> Iterator[str]:
    """The text of a page; comments and docstrings of code, lines that belong together as one."""
    text = path.read_text()
    if path.suffix == ".md":
        yield text
    elif path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or token.string.startswith('"""'):
                yield token.string
    else:
        block: list[str] = []
        for line in [*text.splitlines(), ""]:
            found = COMMENT.search(line)
            whole = found is not None and found[1] is not None
            if not whole and block:
                yield " ".join(block)
                block = []
            if found:
                block.append(found[1] or found[2] or found[3] or "")


def found(text: str) -> list[str]:
    """The phrases in a text, with what to write instead. Names in backticks do not count."""
    plain = re.sub(r"\s+", " ", re.sub(r"`[^`]*`", "", text))
    return [
        f"...{plain[max(0, match.start() - 40) : match.end() + 20]}...: {instead}"
        for instead, phrase in PHRASES.items()
        for match in phrase.finditer(plain)
    ]


def test_no_such_phrase_is_left() -> None:
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    wrong = []
    for name in names:
        path = ROOT / name
        skipped = name.startswith(MADE) or "/generated/" in name or name == "tests/project/" + HERE
        if name.endswith(SUFFIXES) and path.is_file() and not skipped:
            wrong += [f"{name}: {phrase}" for text in prose(path) for phrase in found(text)]
    assert not wrong, "\n".join(wrong)


def test_such_phrases_are_found(tmp_path: Path) -> None:
    module = tmp_path / "jd_x.sv"
    module.write_text(
        "// A buffer behind the port.\n// It takes a word a\n// clock.\n"
        "wire behind;  // a setting is none\n"
    )
    assert [len(found(text)) for text in prose(module)] == [2, 1]
    script = tmp_path / "x.py"
    script.write_text('"""Two rows a clock."""\nbehind = 1  # if there is none, a clock late\n')
    assert [len(found(text)) for text in prose(script)] == [1, 0]
