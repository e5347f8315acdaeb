"""Functional coverage: named bins with goals, on cocotb-coverage.

    class ReadCoverage(Coverage):
        def __init__(self, name, parent):
            super().__init__(name, parent, "axi.read", {
                "length": {"one": lambda b: b.beats == 1, "full": lambda b: b.beats == 64},
                "error": {"slverr": lambda b: b.response == 2, "decerr": lambda b: b.response == 3},
            })
    monitor.ap.connect(self.coverage.analysis_export)        # or coverage.sample(item)

A bin is a name and a condition on the item; an item may hit several. A bin that was hit fewer than
`goal` times fails the test in check_phase. Where one test alone cannot reach all, make the group
with `enforce=False` and let pytest check the runs together:

    folders = [simulate.run(...), simulate.run(...)]
    require(folders)                                         # raises CoverageMissed

Each run leaves `coverage.yaml` in its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from cocotb_coverage.coverage import CoverPoint, coverage_db, merge_coverage
from pyuvm import uvm_component, uvm_root, uvm_subscriber

from flow import coverage

FILE = "coverage.yaml"
Bins = Mapping[str, Callable[[Any], bool]]


class CoverageMissed(AssertionError):
    """Bins were hit less often than their goal says."""


class Coverage(uvm_subscriber):
    """A group of coverage points that one kind of item is sampled into.

    Args:
        name, parent: as in UVM.
        group: dotted name of the group in the database.
        points: point -> bin -> condition.
        goal: hits that each bin must have, 1 or more.
        enforce: fail this test if a bin misses its goal; False: `require` checks several runs.
    """

    def __init__(
        self,
        name: str,
        parent: uvm_component,
        group: str,
        points: Mapping[str, Bins],
        goal: int = 1,
        enforce: bool = True,
    ) -> None:
        super().__init__(name, parent)
        self.group = group
        self.goal = goal
        self.enforce = enforce
        self.names = [f"{group}.{point}" for point in points]
        self._sample: Callable[[Any], None] = lambda item: None
        for point, bins in points.items():
            # The conditions are the bins, the relation applies them; `inj` off: several may hit.
            self._sample = CoverPoint(
                f"{group}.{point}",
                xf=lambda item: item,
                rel=lambda item, condition: bool(condition(item)),
                bins=list(bins.values()),
                bins_labels=list(bins),
                at_least=goal,
                inj=False,
            )(self._sample)

    def sample(self, item: Any) -> None:
        """Count the bins that the item hits."""
        self._sample(item)

    def write(self, item: Any) -> None:
        """As the subscriber of a monitor."""
        self.sample(item)

    def missed(self) -> list[str]:
        """Bins below their goal, as group.point.bin."""
        return [
            f"{name}.{label} ({hits} of {self.goal})"
            for name in self.names
            for label, hits in coverage_db[name].detailed_coverage.items()
            if hits < self.goal
        ]

    def final_phase(self) -> None:
        """The next test of this process counts from zero."""
        coverage_db.clear()

    def check_phase(self) -> None:
        """Export the database; fail if a goal is missed."""
        save(type(uvm_root().uvm_test_top).__name__)
        if self.enforce and (missed := self.missed()):
            raise CoverageMissed(f"{self.get_full_name()}: missed {', '.join(missed)}")


def save(test: str) -> None:
    """Leave the database in the test's folder: this one, or one of several in it."""
    folder = Path(test)
    coverage_db.export_to_yaml(str(folder / FILE if folder.is_dir() else FILE))


def merge(folders: Iterable[Path], into: Path) -> dict[str, dict[str, Any]]:
    """Add up the coverage of several runs.

    Args:
        folders: what `simulate.run` returned; a run without coverage is left out.
        into: YAML file to write.
    Returns: name -> {at_least, "bins:_hits": {bin: hits}, ...} of all points and groups.
    Raises: CoverageMissed if no run has any.
    """
    import yaml

    files = [str(folder / FILE) for folder in folders if (folder / FILE).exists()]
    if not files:
        raise CoverageMissed("no run left a coverage.yaml")
    into.parent.mkdir(parents=True, exist_ok=True)
    merge_coverage(lambda _: None, str(into), *files)
    return dict(yaml.safe_load(into.read_text()))


def require(folders: Iterable[Path], into: Path | None = None) -> None:
    """Fail if a bin's goal is missed by all runs together. Raises: CoverageMissed."""
    folders = list(folders)
    merged = merge(folders, into or folders[-1] / "merged.yaml")
    missed = [
        f"{name}.{label} ({hits} of {point['at_least']})"
        for name, point in merged.items()
        for label, hits in point.get("bins:_hits", {}).items()
        if hits < point["at_least"]
    ]
    if missed:
        raise CoverageMissed(f"{len(folders)} runs missed {', '.join(missed)}")


class Tally:
    """Named bins of a test that is no UVM component: the same goals, the same file.

    Args:
        group: dotted name of the group.
        points: point -> names of its bins.
        goal: hits that each bin must have, 1 or more.
    """

    def __init__(self, group: str, points: Mapping[str, Iterable[str]], goal: int = 1) -> None:
        self.group, self.goal = group, goal
        self.hits = {point: dict.fromkeys(bins, 0) for point, bins in points.items()}

    def hit(self, point: str, label: str) -> None:
        """Count a bin. Raises: KeyError if there is no such bin."""
        self.hits[point][label] += 1

    def missed(self) -> list[str]:
        """Bins below their goal, as group.point.bin."""
        return [
            f"{self.group}.{point}.{label} ({hits} of {self.goal})"
            for point, bins in self.hits.items()
            for label, hits in bins.items()
            if hits < self.goal
        ]

    def require(self) -> None:
        """Fail if a goal is missed. Raises: CoverageMissed."""
        if missed := self.missed():
            raise CoverageMissed(f"missed {', '.join(missed)}")

    def save(self, core: str, run: str) -> None:
        """Leave the bins for `make coverage`, if this process measures it.

        Args:
            core: whose folder they count for.
            run: a unique name of the run.
        """
        import yaml

        if not coverage.measured(core):
            return
        points = {
            f"{self.group}.{point}": {"at_least": self.goal, "bins:_hits": bins}
            for point, bins in self.hits.items()
        }
        path = coverage.raw_folder() / f"{core.replace(':', '.')}~{run}.yaml"
        path.write_text(yaml.safe_dump(points))
