"""What `make docs` adds to MkDocs: pages made from the repository, diagrams, addresses.

mkdocs.yml names this module as hook, as fence and as slug.

The pages in docs/ are written for the repository: they link to its files. The site is complete in
itself, so a hook adds what they link to: README, contributing and changelog as pages, every other
file as a listing, and the reference of the Python package, which is read from its docstrings.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from collections.abc import Callable
from importlib.metadata import files as files_of
from pathlib import Path, PurePosixPath
from typing import Any

from flow import ROOT

FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.M | re.S)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
# Pages of the site that stand elsewhere in the repository.
MOVED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
# The reference of the package: title, a sentence, modules; of a package all of them.
REFERENCE = {
    "jackdaw": (
        "Train, load, evaluate",
        "What `import jackdaw` offers.",
        ["jackdaw.api", "jackdaw.runtime.policy", "jackdaw.runtime.callbacks"],
    ),
    "replay_buffer": (
        "Replay buffer",
        "Prioritized replay for other people's training loops.",
        ["jackdaw.replay_buffer"],
    ),
    "device": (
        "Devices",
        "Registers, memory, interrupt and clock of one device, simulated or modelled.",
        ["jackdaw.device"],
    ),
    "drivers": (
        "Drivers",
        "One driver per engine: arrays in, registers and descriptors out.",
        ["jackdaw.drivers"],
    ),
    "search": (
        "Tree search",
        "Search with a tree on a device; games and environments of the package.",
        ["jackdaw.search", "jackdaw.environments"],
    ),
    "agents": (
        "Agents and recipes",
        "Algorithms with their settings and legal ranges.",
        ["jackdaw.agents"],
    ),
    "runtime": (
        "Parts of a training",
        "What programs with their own training loop can use.",
        ["jackdaw.runtime.device_trainer", "jackdaw.runtime.evaluation"],
    ),
    "errors": ("Errors", "Every error by name.", ["jackdaw.errors"]),
}
MERMAID = "mermaidx/assets/mermaid.js"
# mermaid 11.16.0 as its authors published it (dist/mermaid.min.js).
MERMAID_SHA256 = "74d7c46dabca328c2294733910a8aa1ed0c37451776e8d5295da38a2b758fb9b"
LANGUAGES = {
    ".py": "python", ".sv": "systemverilog", ".svh": "systemverilog", ".cpp": "cpp", ".h": "cpp",
    ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".core": "yaml", ".cff": "yaml",
    ".toml": "toml", "Makefile": "make",
}  # fmt: skip


def slug(text: str, separator: str) -> str:
    """A heading's anchor, as GitHub spells it."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


def wavedrom(source: str, language: str, style: str, *_: Any, **__: Any) -> str:
    """A fence of WaveDrom as a picture."""
    import wavedrom as renderer

    name = hashlib.sha256(source.encode()).hexdigest()[:8]
    drawing = renderer.render(source)
    drawing["id"] = f"wave-{name}"
    return f'<div class="drawing waves">{drawing.tostring()}</div>'


def mermaid_fence(source: str, *_: Any, **__: Any) -> str:
    """A fence of Mermaid as what the theme turns into a picture."""
    code = f"<code>{html.escape(source)}</code>"
    return f'<div class="drawing"><pre class="mermaid">{code}</pre></div>'


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Change a page's text, but not its code."""
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join(parts) + change(text[end:])


def as_python_markdown(text: str) -> str:
    """What GitHub reads as it is meant, as Python-Markdown needs it.

    `[s][a]` is no reference; a list or table after a paragraph needs an empty line; what belongs
    to an item of a list is indented by four spaces.
    """
    spans = re.split(r"(`[^`\n]*`)", text)
    text = "".join(s if s.startswith("`") else s.replace("][", "]\\[") for s in spans)
    return loose_lists(text)


def loose_lists(text: str) -> str:
    """Put an empty line before a list or a table after a paragraph, and indent items."""
    lines: list[str] = []
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        starts = re.match(r"([-*]|\d+\.) |\|", line)
        same = re.match(r"([-*]|\d+\.) |\||\s|#|<!--", before)
        if starts and before and not same:
            lines.append("")
        indent = len(line) - len(line.lstrip())
        lines.append(" " * (indent % 4) + line if line.strip() and 2 <= indent < 4 else line)
    return "\n".join(lines)


class Links:
    """Turns links between files of the repository into links between pages of the site."""

    def __init__(self) -> None:
        self.sources: dict[str, Path] = {}  # pages of files, by their place in the site

    def place(self, target: Path) -> str:
        """The place in the site of a file or folder of the repository; `sources` learns of it."""
        path = target.relative_to(ROOT).as_posix()
        if path in MOVED:
            return MOVED[path]
        if path.startswith("docs/"):
            page = "/README.md" * target.is_dir() + ".md" * path.endswith(".ipynb")
            return path.removeprefix("docs/") + page
        place = f"source/{path}" if path.endswith(".md") else f"source/{path}.md"
        if target.is_dir():
            place = f"source/{path}/index.md"
        self.sources[place] = target
        return place

    def rewrite(self, text: str, file: Path, page: str) -> str:
        """The text of `file`, with links as the page at `page` needs them."""

        def one(match: re.Match[str]) -> str:
            name, mark, anchor = match[2].partition("#")
            target = (file.parent / name).resolve()
            outside = not name or "://" in name or not target.is_relative_to(ROOT)
            if outside or not target.exists():
                return match[0]  # MkDocs says what is wrong with it
            here = PurePosixPath(page).parent.as_posix()
            return f"{match[1]}{os.path.relpath(self.place(target), here)}{mark}{anchor}{match[3]}"

        return outside_fences(text, lambda part: LINK.sub(one, part))


def listing(path: Path) -> str:
    """A page that shows a file, or the names in a folder."""
    name = path.relative_to(ROOT).as_posix()
    head = f"---\ntitle: {name}\nsearch:\n  exclude: true\n---\n\n# {name}\n\n"
    if path.is_dir():
        names = sorted(p.name + "/" * p.is_dir() for p in path.iterdir() if p.name != "__pycache__")
        return head + "".join(f"- `{n}`\n" for n in names)
    language = LANGUAGES.get(path.suffix or path.name, "text")
    return f'{head}~~~~~~{{.{language} linenums="1"}}\n{path.read_text()}\n~~~~~~\n'


def notebook(path: Path) -> str:
    """A notebook as a page: its text, its code, and what it printed."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                image = "".join(data["image/png"]).replace("\n", "")
                parts.append(f'<img alt="output" src="data:image/png;base64,{image}">')
            elif text := "".join(output.get("text", data.get("text/plain", []))):
                parts.append(f'<pre class="output">{html.escape(text)}</pre>')
    return "\n\n".join(parts) + "\n"


def reference(name: str) -> str:
    """A page of the reference: directives that mkdocstrings replaces."""
    title, sentence, modules = REFERENCE[name]
    named = [part for module in modules for part in parts(module)]
    return f"# {title}\n\n{sentence}\n\n" + "".join(f"::: {m}\n" for m in named)


def parts(module: str) -> list[str]:
    """A module, or a package and its modules."""
    folder = ROOT / "host" / module.replace(".", "/")
    inside = sorted(p.stem for p in folder.glob("*.py") if p.stem != "__init__")
    return [module, *(f"{module}.{name}" for name in inside)]


def mermaid() -> str:
    """The text of mermaid.js. Raises: ValueError if it is not the pinned one."""
    path = next(p for p in files_of("mermaidx") or [] if str(p) == MERMAID)
    text = path.read_text()
    digest = hashlib.sha256(text.encode()).hexdigest()
    if digest != MERMAID_SHA256:
        raise ValueError(f"mermaid.js has SHA-256 {digest}, want {MERMAID_SHA256}")
    return text


def on_files(files: Any, config: Any) -> Any:
    """MkDocs: add the pages that are not in docs/."""
    from mkdocs.structure.files import File

    links = Links()
    pages = {page: ROOT / name for name, page in MOVED.items()}
    pages |= {f.src_uri: Path(f.abs_src_path) for f in files if f.src_uri.endswith(".md")}
    texts = {page: links.rewrite(path.read_text(), path, page) for page, path in pages.items()}
    for file in [f for f in files if f.src_uri.endswith(".ipynb")]:
        page, path = f"{file.src_uri}.md", Path(file.abs_src_path)
        texts[page] = links.rewrite(notebook(path), path, page)
    done: set[str] = set()
    while waiting := set(links.sources) - done:  # a page that is linked to may link to others
        for place in waiting:
            path = links.sources[place]
            page = path.read_text() if path.suffix == ".md" else listing(path)
            texts[place] = links.rewrite(page, path, place) if path.suffix == ".md" else page
        done |= waiting
    texts |= {f"reference/{name}.md": reference(name) for name in REFERENCE}
    for place, text in texts.items():
        if old := files.get_file_from_path(place):
            files.remove(old)
        text = outside_fences(text, as_python_markdown)
        files.append(File.generated(config, place, content=text))
    files.append(File.generated(config, "assets/mermaid.js", content=mermaid()))
    return files
