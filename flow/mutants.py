"""Source-level mutants: small faults in SystemVerilog, all of them in one instrumented copy.

Every fault becomes a choice that is made while the simulation runs (mutant schemata, Untch et al.
1993): `a + b` becomes `(jd_mutant_pkg::selected == 7 ? (a - b) : (a + b))`. Hierarchy, names and
parameters stay, so the environments run on the copy as on the original, and one build serves
every mutant; the environment variable JD_MUTANT selects (0 or none: the original).

Only run-time expressions are changed: the right sides of continuous and procedural assignments,
conditions, inputs of instances, and functions that no constant expression calls. Parameters,
ranges, selects, generate conditions, loop headers, assertions and `initial` checks are left alone.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

PACKAGE = """// The mutant that runs: see flow/mutants.py.
package jd_mutant_pkg;
  import "DPI-C" function int jd_mutant_selected();
  int selected = jd_mutant_selected();
endpackage : jd_mutant_pkg
"""
SELECTED = """#include <cstdlib>
extern "C" int jd_mutant_selected() {
    const char* text = std::getenv("JD_MUTANT");
    return text ? std::atoi(text) : 0;
}
"""

# Operator -> what it may become, each as a kind of fault of its own.
BINARY = {
    "AddExpression": ["-"],
    "SubtractExpression": ["+"],
    "MultiplyExpression": ["+"],
    "LessThanExpression": ["<=", ">="],
    "LessThanEqualExpression": ["<", ">"],
    "GreaterThanExpression": [">=", "<="],
    "GreaterThanEqualExpression": [">", "<"],
    "EqualityExpression": ["!="],
    "InequalityExpression": ["=="],
    "LogicalAndExpression": ["||"],
    "LogicalOrExpression": ["&&"],
    "BinaryAndExpression": ["|"],
    "BinaryOrExpression": ["&"],
    "BinaryXorExpression": ["|"],
    "LogicalShiftLeftExpression": [">>"],
    "LogicalShiftRightExpression": ["<<"],
}
UNARY = {"UnaryLogicalNotExpression", "UnaryBitwiseNotExpression"}
# Constant by the language, or so often that a change would not compile.
CONSTANT = {
    "ElementSelect", "ForVariableDeclaration", "DataDeclaration", "ParameterDeclaration",
    "ParameterDeclarationStatement", "EventControlWithExpression", "VariableDimension",
    "ImmediateAssertStatement", "ConcurrentAssertionMember", "AssertPropertyStatement",
    "AssumePropertyStatement", "CoverPropertyStatement", "SystemName", "LocalVariableDeclaration",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One fault.

    Attributes:
        file: path relative to the root.
        line: line number, from 1.
        start, end: character offsets of the changed text.
        change: `text -> text`, for people.
        code: the changed text; for a statement, empty: it is left out.
        source: the line's text, by which a judgement finds the fault again.
        nth: of the faults of this file with the same text and change, from 0.
    """

    file: str
    line: int
    start: int
    end: int
    change: str
    code: str
    source: str
    nth: int = 0

    @property
    def key(self) -> str:
        """What names the fault when lines move."""
        return key(self.file, self.source, self.change, self.nth)


def key(file: str, source: str, change: str, nth: int = 0) -> str:
    """Name of a fault."""
    return f"{file}|{source}|{change}" + (f"|{nth}" if nth else "")


def _children(node: Any) -> Iterator[Any]:
    return (c for c in node if c is not None and not hasattr(c, "rawText"))


def _kind(node: Any) -> str:
    return str(node.kind).removeprefix("SyntaxKind.")


def constant_functions(files: Sequence[Path]) -> set[str]:
    """Names that are called where constants are made, and everything that they call."""
    bodies: dict[str, str] = {}
    called: set[str] = set()
    for file in files:
        text = re.sub(r"//.*", "", file.read_text())
        for name, body in re.findall(
            r"\bfunction\s[^;(]*?(\w+)\s*\((.*?)\bendfunction", text, re.DOTALL
        ):
            bodies[name] = body
        outside = re.sub(r"\bfunction\b.*?\bendfunction", "", text, flags=re.DOTALL)
        for statement in re.findall(
            r"\b(?:parameter|localparam)\b[^;]*|\[[^\]]*\]|\bfor\s*\([^)]*\)|\bif\s*\([^\n]*: gen_"
            r"|\.[A-Z]\w*\s*\([^\n]*|\btypedef\b[^;]*",
            outside,
        ):
            called.update(re.findall(r"\b(\w+)\s*\(", statement))
    pending, result = list(called), set()
    while pending:
        name = pending.pop()
        if name in bodies and name not in result:
            result.add(name)
            pending += re.findall(r"\b(\w+)\s*\(", bodies[name])
    return result


class _Finder:
    def __init__(self, path: Path, name: str, constant: set[str], includes: Sequence[Path]) -> None:
        import pyslang
        from pyslang.syntax import SyntaxTree

        self.text = path.read_text()
        self.data = self.text.encode()
        self.name = name
        self.constant = constant
        options = pyslang.parsing.PreprocessorOptions()
        options.additionalIncludePaths = [Path(i) for i in includes]
        bag = pyslang.Bag()
        bag.preprocessorOptions = options
        manager = pyslang.SourceManager()
        tree = SyntaxTree.fromFile(str(path), manager, bag)
        self.manager = tree.sourceManager
        self.root = tree.root
        self.tree = tree
        self.buffer = tree.root.sourceRange.start.buffer
        self.mutants: list[Mutant] = []

    def _here(self, node: Any) -> bool:
        """Whether the node is in the file itself, not in a macro or an included file."""
        extent = node.sourceRange
        for place in (extent.start, extent.end):
            if self.manager.isMacroLoc(place) or place.buffer != self.buffer:
                return False
        return True

    def _code(self, node: Any) -> str:
        extent = node.sourceRange
        return self.data[extent.start.offset : extent.end.offset].decode()

    def _add(self, node: Any, change: str, code: str) -> None:
        start, end = node.sourceRange.start.offset, node.sourceRange.end.offset
        line = self.data.count(b"\n", 0, start) + 1
        source = self.text.splitlines()[line - 1].strip()
        change = re.sub(r"\s+", " ", change)
        self.mutants.append(Mutant(self.name, line, start, end, change, code, source))

    def find(self) -> list[Mutant]:
        self._outside(self.root)
        seen: Counter[str] = Counter()
        numbered = []
        for m in sorted(self.mutants, key=lambda m: (m.start, -m.end, m.change)):
            numbered.append(replace(m, nth=seen[m.key]))
            seen[m.key] += 1
        return numbered

    def _outside(self, node: Any) -> None:
        """Look for regions with run-time expressions."""
        kind = _kind(node)
        if kind == "ContinuousAssign":
            for assignment in node.assignments:
                if _kind(assignment) == "AssignmentExpression":
                    self._expression(assignment.right, literals=True)
        elif kind in ("AlwaysFFBlock", "AlwaysCombBlock"):
            self._statement(node.statement, kind == "AlwaysFFBlock")
        elif kind == "NamedPortConnection":
            if node.expr is not None:
                self._expression(node.expr, literals=False)
        elif kind == "FunctionDeclaration":
            if str(node.prototype.name).strip() not in self.constant:
                for item in node.items:
                    if _kind(item) not in CONSTANT:
                        self._statement(item, False)
        elif kind not in ("InitialBlock", "FinalBlock") and kind not in CONSTANT:
            for child in _children(node):
                self._outside(child)

    def _statement(self, node: Any, sequential: bool) -> None:
        kind = _kind(node)
        if kind in CONSTANT:
            return
        if kind == "ForLoopStatement":
            self._statement(node.statement, sequential)
        elif kind == "ConditionalStatement":
            condition = node.predicate
            code = self._code(condition)
            negated = code.startswith("!") and re.fullmatch(r"!\s*[\w.]+", code)
            if self._here(condition):
                self._add(condition, f"if ({code}) -> if (!({code}))", f"!({code})")
            if not negated:  # the same fault again
                self._expression(condition, literals=True)
            self._statement(node.statement, sequential)
            if node.elseClause is not None:
                self._statement(node.elseClause.clause, sequential)
        elif kind in ("CaseStatement", "CaseItem", "StandardCaseItem", "DefaultCaseItem"):
            if kind == "CaseStatement":
                self._expression(node.expr, literals=False)
                for item in node.items:
                    self._statement(item, sequential)
            else:
                self._statement(node.clause, sequential)
        elif kind == "ExpressionStatement":
            expression = node.expr
            if _kind(expression) == "NonblockingAssignmentExpression" and sequential:
                if self._here(node):
                    self._add(node, f"{self._code(node)} -> (nothing)", "")
                self._expression(expression.right, literals=True)
            elif _kind(expression) == "AssignmentExpression":
                self._expression(expression.right, literals=True)
        elif kind == "ReturnStatement":
            if node.returnValue is not None:
                self._expression(node.returnValue, literals=True)
        else:
            for child in _children(node):
                self._statement(child, sequential)

    def _expression(self, node: Any, literals: bool) -> None:
        kind = _kind(node)
        if kind in CONSTANT or kind.endswith("AssignmentPatternExpression"):
            literals = False
        if kind in CONSTANT:
            return
        here = self._here(node)
        if here and kind in BINARY:
            left, right = self._code(node.left), self._code(node.right)
            old = node.operatorToken.rawText
            for new in BINARY[kind]:
                self._add(node, f"{left} {old} {right} -> {new}", f"({left}) {new} ({right})")
        elif here and kind in UNARY:
            operand = self._code(node.operand)
            self._add(node, f"{self._code(node)} -> {operand}", operand)
        elif here and kind == "ConditionalExpression":
            condition, left, right = (
                self._code(n) for n in (node.predicate, node.left, node.right)
            )
            code = self._code(node)
            self._add(node, f"{code} -> branches swapped", f"({condition}) ? ({right}) : ({left})")
        elif here and literals and kind == "IntegerVectorExpression":
            self._literal(node)
        elif here and literals and kind == "UnbasedUnsizedLiteralExpression":
            code = self._code(node)
            if code in ("'0", "'1"):
                other = "'1" if code == "'0" else "'0"
                self._add(node, f"{code} -> {other}", other)
        elif here and literals and kind == "IntegerLiteralExpression":
            code = self._code(node)
            self._add(node, f"{code} -> {int(code) + 1}", str(int(code) + 1))
        if kind == "CastExpression":
            self._expression(node.right, literals=False)
        elif kind == "MultipleConcatenationExpression":
            self._expression(node.concatenation, literals)
        elif kind == "InvocationExpression":
            code = self._code(node)
            if node.arguments is not None and (
                not code.startswith("$") or code.startswith(("$signed", "$unsigned"))
            ):
                self._expression(node.arguments, literals=False)
        else:
            inside = literals and kind not in ("ConcatenationExpression", "StreamingConcatenation")
            for child in _children(node):
                self._expression(child, inside)

    def _literal(self, node: Any) -> None:
        code = self._code(node)
        match = re.fullmatch(r"(\d+)'([bdh])([0-9a-fA-F_]+)", code)
        if match is None:
            return
        size, base = int(match[1]), {"b": 2, "d": 10, "h": 16}[match[2]]
        value = (int(match[3].replace("_", ""), base) + 1) % (1 << size)
        self._add(node, f"{code} -> {size}'d{value}", f"{size}'d{value}")


def find(
    path: Path, name: str, constant: Collection[str] = (), includes: Sequence[Path] = ()
) -> list[Mutant]:
    """All mutants of a file, in the order of the text.

    Args:
        path: SystemVerilog file.
        name: its path relative to the root, for the results.
        constant: functions that must stay constant (`constant_functions`).
        includes: include directories.
    """
    return _Finder(path, name, set(constant), includes).find()


def sample(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """A random sample, in the order of the list; all if there are no more than `count`.

    A mutant's rank is a hash of the seed and its key, so an edit elsewhere leaves the rest of the
    sample as it was.
    """

    def rank(i: int) -> bytes:
        return hashlib.sha256(f"{seed}|{mutants[i].key}".encode()).digest()

    chosen = sorted(range(len(mutants)), key=rank)[:count]
    return [mutants[i] for i in sorted(chosen)]


def instrument(text: str, mutants: Sequence[tuple[int, Mutant]]) -> str:
    """The text with every mutant as a choice.

    Args:
        text: the file.
        mutants: number (1 and up, as JD_MUTANT selects it) and mutant, all of this file.
    """
    data = text.encode()
    opening: dict[int, list[tuple[int, int, str]]] = {}
    closing: dict[int, list[tuple[int, int, str]]] = {}
    for number, m in mutants:
        chosen = f"jd_mutant_pkg::selected == {number}"
        if m.code:
            before, after = f"({chosen} ? ({m.code}) : (", "))"
        else:
            before, after = f"begin if (!({chosen})) begin ", " end end"
        length = m.end - m.start
        opening.setdefault(m.start, []).append((-length, number, before))
        closing.setdefault(m.end, []).append((length, -number, after))
    out, last = [], 0
    for place in sorted({*opening, *closing}):
        out.append(data[last:place].decode())
        out += [t for *_, t in sorted(closing.get(place, []))]
        out += [t for *_, t in sorted(opening.get(place, []))]
        last = place
    out.append(data[last:].decode())
    return "".join(out)
