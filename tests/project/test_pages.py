"""The project's pages: what they point to is there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import jackdaw
from flow import ROOT

FENCE = re.compile(r"^ *```.*?^ *```", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def pages() -> list[Path]:
    """Every page of the repository, those that are not committed yet, too."""
    out = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return [ROOT / name for name in out.split("\0") if name and (ROOT / name).is_file()]


def text(page: Path) -> str:
    """A page without its code."""
    return FENCE.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """What a link may name after `#`: the headings, as GitHub spells them."""
    headings = re.findall(r"^#+ (.*)$", text(page), re.M)
    plain = (re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def broken(page: Path) -> list[str]:
    """Links of a page whose file or heading does not exist."""
    found = []
    for link in LINK.findall(text(page)):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        missing = not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target)
        )
        if "://" not in link and missing:
            found.append(f"{page.name}: {link}")
    return found


def test_links_lead_somewhere() -> None:
    assert not [link for page in pages() for link in broken(page)]


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One two\n[a](#one-two) [b](page.md#three) [c](none.md) [d](https://x.org/y)\n"
    )
    assert broken(page) == ["page.md: page.md#three", "page.md: none.md"]


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or not page.exists() or page.suffix != ".md":
            continue
        reached.add(page)
        links = (link.partition("#")[0] for link in LINK.findall(text(page)))
        waiting += [(page.parent / link).resolve() for link in links if link]
    assert not set(pages()) - reached


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_the_citation_has_the_version_of_the_package() -> None:
    found = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert found and found[1] == jackdaw.__version__
