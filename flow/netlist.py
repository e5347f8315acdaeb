"""Netlist mutants: faults in the elaborated logic of a module, by Yosys' `mutate`.

A module with fixed parameters becomes a netlist in which every mutant is chosen at run time. A
wrapper with the module's own header takes its place: an instance with these parameters is the
netlist, any other stays the original. So benches and environments run unchanged.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flow import BUILD, ROOT
from flow.design import resolve
from flow.mutants import Mutant

TIMEOUT_S = 600.0
# A Yosys error ends its process: it runs in a child.
SCRIPT = r"""
import sys
from pyosys import libyosys as ys
from pathlib import Path
design = ys.Design()
sources, work, top, count, seed, first, inside = sys.argv[1:8]
count = int(count)
def run(command): ys.run_pass(command, design)
run(f"read_slang --top {top} --ignore-assertions --no-implicit-memories {sources}")
for command in ("hierarchy -check", "proc", "flatten", "opt", "memory -nomap", "opt_clean"):
    run(command)
# A list longer than there are places for mutants would never end.
run(f"tee -q -o {work}/cells.txt select -list t:*")
places = 16 * len(Path(work, "cells.txt").read_text().splitlines())
run(f"mutate -list {min(20 * count, max(places, count))} -seed {seed} -o {work}/all.txt")
lines = [l for l in Path(work, "all.txt").read_text().splitlines()
         if l.startswith("mutate") and l.rsplit("-src ", 1)[-1].startswith(inside)
         and "/generated/" not in l.rsplit("-src ", 1)[-1]]
step = max(1, len(lines) // count)
chosen = [f"{l} -ctrl mutsel 16 {int(first) + i}" for i, l in enumerate(lines[::step][:count])]
for line in chosen: run(line)
Path(work, "list.txt").write_text("\n".join(chosen) + "\n")
run("bwmuxmap")
run("opt_clean")
run(f"rename -top {top}__net")
run(f"write_verilog -noattr {work}/net.v")
"""


class NetlistFailed(RuntimeError):
    """Yosys refused the module, or it has no place for a mutant."""


@dataclass(frozen=True)
class Netlist:
    """A module to be mutated, with all below it.

    Attributes:
        core: FuseSoC core that holds it.
        module, file: the module and its file.
        inside: only logic from sources below this folder is changed.
        parameters: of the instance that is replaced.
        tests: pytest files or node IDs with such an instance.
    """

    core: str
    module: str
    file: str
    inside: str
    tests: Sequence[str]
    parameters: Mapping[str, int] = field(default_factory=dict)

    def _header(self, text: str) -> str:
        match = re.search(rf"^module {self.module}\b.*?^\);", text, re.DOTALL | re.MULTILINE)
        if match is None:
            raise NetlistFailed(f"{self.file}: no header of module {self.module}")
        return match[0]

    def mutants(self, count: int, seed: int, first: int) -> tuple[list[Mutant], str]:
        """Make `count` mutants with the numbers `first` and up.

        Returns: the mutants, and the text that takes the file's place.
        Raises: NetlistFailed.
        """
        design = resolve(self.core)
        parameters = [f"-G{k}={v}" for k, v in self.parameters.items()]
        sources = " ".join(
            [*parameters, *(f"-I{i}" for i in design.includes), *(str(s) for s in design.sources)]
        )
        digest = design.digest(
            self.module, self.inside, sorted(self.parameters.items()), count, seed, first, SCRIPT
        )
        work = BUILD / "mutation" / f"net-{self.module}-{digest}"
        if not (work / "net.v").exists():
            work.mkdir(parents=True, exist_ok=True)
            arguments = [
                sources, str(work), self.module, str(count), str(seed), str(first), self.inside,
            ]  # fmt: skip
            with (work / "yosys.log").open("w") as log:
                done = subprocess.run(
                    [sys.executable, "-c", SCRIPT, *arguments], stdout=log, stderr=log, check=False,
                    timeout=TIMEOUT_S,
                )  # fmt: skip
            if done.returncode or not (work / "net.v").exists():
                tail = (work / "yosys.log").read_text()[-2000:]
                raise NetlistFailed(f"{self.module} {dict(self.parameters)}: {tail}")
        return self._listed(work / "list.txt"), self._text((work / "net.v").read_text())

    def _listed(self, path: Path) -> list[Mutant]:
        found = []
        for line in path.read_text().splitlines():
            if not line.startswith("mutate"):
                continue
            options = dict(re.findall(r"-(\w+) (\S+)", line))
            places = re.findall(r"-src (\S+?):(\d+)", line)
            file, number = places[-1] if places else (self.file, "1")
            file = file.removeprefix(f"{ROOT}/")
            wire = f" ({options['wire']}[{options['wirebit']}])" if "wire" in options else ""
            decides = f" by [{options['ctrlbit']}]" if "ctrlbit" in options else ""
            change = (
                f"{options['mode']} {options.get('cell', '')}.{options.get('port', '')}"
                f"[{options.get('portbit', '')}]{wire}{decides}"
            )
            # Cells have numbers; the line's text tells whether it is still the same place.
            text = (ROOT / file).read_text().splitlines()[int(number.split(".")[0]) - 1].strip()
            source = f"{self.module} {json.dumps(dict(self.parameters))}: {text}"
            found.append(Mutant(file, int(number), 0, 0, change, "", source))
        return found

    def _text(self, net: str) -> str:
        original = (ROOT / self.file).read_text()
        header = self._header(original)
        ports = _ports(header)
        links = ", ".join(f".{p.name}({p.name})" for p in ports)
        flat_links = ", ".join(f".{p.name}({p.flat})" for p in ports)
        flattened = [line for p in ports for line in p.flatten()]
        values = re.findall(r"^\s*parameter\s[^=]*?(\w+)\s*=", header, re.MULTILINE)
        same = " && ".join(f"{k} == {v}" for k, v in self.parameters.items()) or "1"
        passed = ", ".join(f".{v}({v})" for v in values)
        passed = f"#({passed}) " if passed else ""
        renamed = re.sub(rf"\b{self.module}\b", f"{self.module}__original", original)
        return "\n".join(
            [
                "/* verilator lint_off DECLFILENAME */",
                renamed,
                net,
                header,
                f"  if ({same}) begin : gen_net",
                *flattened,
                f"    {self.module}__net u_net ({flat_links},",
                "      .mutsel(16'(jd_mutant_pkg::selected)));",
                "  end else begin : gen_original",
                f"    {self.module}__original {passed}u_original ({links});",
                "  end",
                f"endmodule : {self.module}",
                "",
            ]
        )


@dataclass(frozen=True)
class _Port:
    """A port; `count` is the text of its unpacked size, empty if it is packed."""

    name: str
    output: bool
    count: str

    @property
    def flat(self) -> str:
        return f"{self.name}__flat" if self.count else self.name

    def flatten(self) -> list[str]:
        """Declarations between an unpacked port and the netlist's vector, element 0 on top."""
        if not self.count:
            return []
        part = f"{self.flat}[({self.count}-1-i)*$bits({self.name}[0]) +: $bits({self.name}[0])]"
        left, right = (f"{self.name}[i]", part) if self.output else (part, f"{self.name}[i]")
        return [
            f"    wire logic [{self.count}*$bits({self.name}[0])-1:0] {self.flat};",
            f"    for (genvar i = 0; i < {self.count}; i++) begin : gen_{self.name}",
            f"      assign {left} = {right};",
            "    end",
        ]


def _ports(header: str) -> list[_Port]:
    """The ports of an ANSI module header."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", header, flags=re.DOTALL)
    depth, end = 0, text.rindex(")")
    start = end
    for start in range(end, -1, -1):
        depth += {")": 1, "(": -1}.get(text[start], 0)
        if depth == 0:
            break
    found = []
    for direction, name, count in re.findall(
        r"\b(input|output)\b[^,]*?(\w+)\s*(?:\[(\w+)\])?\s*(?=,\s*(?:input|output)\b|$)",
        text[start + 1 : end].strip(),
    ):
        found.append(_Port(name, direction == "output", count))
    return found


def spread(
    netlists: Sequence[Netlist], count: int, seed: int
) -> tuple[list[Mutant], dict[str, str], dict[str, list[str]]]:
    """Share `count` mutants out over netlists.

    Returns: the mutants in the order of their numbers (from 1); the text of each replaced file;
        the tests of each mutant by its key.
    """
    found: list[Mutant] = []
    texts: dict[str, str] = {}
    tests: dict[str, list[str]] = {}
    for i, n in enumerate(netlists):
        share = count // len(netlists) + (i < count % len(netlists))
        if share:
            mutants, texts[n.file] = n.mutants(share, seed, len(found) + 1)
            found += mutants
            tests.update({m.key: list(n.tests) for m in mutants})
    return found, texts, tests
