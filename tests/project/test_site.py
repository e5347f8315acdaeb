"""The documentation site: it builds without a warning, and a reader's browser fetches nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jackdaw
from flow import ROOT, site

FETCHED = re.compile(r'<(script|img|iframe)[^>]*\ssrc="(https?:)?//|<link[^>]*stylesheet[^>]*//')


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site. MkDocs is strict: a link, an anchor or a docstring that it warns of fails."""
    folder = tmp_path_factory.mktemp("site")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-4000:]
    return folder


def test_every_page_is_there(built: Path) -> None:
    for page in [*ROOT.glob("docs/**/*.md"), *(Path(f"reference/{n}.md") for n in site.REFERENCE)]:
        place = page.relative_to(ROOT / "docs") if page.is_absolute() else page
        name = "index" if place.stem == "README" else place.stem
        assert (built / place.with_name(f"{name}.html")).is_file(), place


def test_no_page_fetches_from_the_network(built: Path) -> None:
    pages = list(built.rglob("*.html"))
    assert len(pages) > 40
    assert not [page.name for page in pages if FETCHED.search(page.read_text())]
    assert FETCHED.search('<script defer src="https://unpkg.com/x">')
    assert (built / "assets" / "mermaid.js").stat().st_size > 1_000_000


def test_drawings_are_drawn(built: Path) -> None:
    assert "<svg" in (built / "shell.html").read_text().split('class="drawing waves"')[1][:2000]
    assert '<pre class="mermaid">' in (built / "host.html").read_text()
    for page in ROOT.glob("docs/**/*.md"):
        for chart in re.findall(r"```mermaid\n(sequence.*?)```", page.read_text(), re.S):
            assert ";" not in chart, f"{page.name}: Mermaid ends a statement at a semicolon"


def test_the_reference_has_docstrings(built: Path) -> None:
    text = (built / "reference" / "drivers.html").read_text()
    assert "<strong>Raises:</strong>" in text, "a short section is a paragraph"
    assert re.search(r"<code>batch</code>.*?samples of a batch", text, re.S)


def test_every_public_module_is_in_the_reference() -> None:
    """Drivers, agents, and what README, guides and examples import."""
    listed = {
        part
        for _, _, modules in site.REFERENCE.values()
        for module in modules
        for part in site.parts(module)
    }
    public = {*site.parts("jackdaw.drivers"), *site.parts("jackdaw.agents"), "jackdaw.errors"}
    texts = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.ipynb"),
             *ROOT.glob("examples/**/*.py")]  # fmt: skip
    for path in texts:
        public |= set(re.findall(r"\b(?:from|import) (jackdaw(?:\.\w+)*)", path.read_text()))
    assert {"jackdaw", "jackdaw.search", "jackdaw.drivers.mcts"} <= public
    public = public - {"jackdaw"} | {getattr(jackdaw, n).__module__ for n in jackdaw.__all__}
    assert not {m for m in public if m not in listed}
    menu = (ROOT / "mkdocs.yml").read_text()
    assert not [name for name in site.REFERENCE if f"reference/{name}.md" not in menu]


def test_links_of_the_repository_become_links_of_the_site(tmp_path: Path) -> None:
    links = site.Links()
    page = ROOT / "docs" / "host.md"
    text = "[a](../README.md#start) [b](qat.md) [c](../rtl/lib) [d](../Makefile) [e](https://x.y/z)"
    assert links.rewrite(text, page, "host.md") == (
        "[a](index.md#start) [b](qat.md) [c](source/rtl/lib/index.md) [d](source/Makefile.md) "
        "[e](https://x.y/z)"
    )
    assert set(links.sources) == {"source/rtl/lib/index.md", "source/Makefile.md"}
    assert links.rewrite("[a](none.md)", page, "host.md") == "[a](none.md)"  # MkDocs refuses it
    assert links.rewrite("```\n[b](../qat.md)\n```", page, "host.md") == "```\n[b](../qat.md)\n```"


def test_lists_and_tables_of_github() -> None:
    assert site.as_python_markdown("Why:\n- a\n- b\n  more") == "Why:\n\n- a\n- b\n    more"
    assert site.as_python_markdown("So:\n| a |\n|---|") == "So:\n\n| a |\n|---|"
    assert site.as_python_markdown("[s][a] `[s][a]`") == "[s]\\[a] `[s][a]`"
