"""Manifests say of the engines what RTL and models say; configurations and devices follow."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import lint_rtl
from flow import ROOT, configuration, device
from flow.configuration import ConfigError, load_config, parse
from flow.design import resolve
from flow.manifest import ELSEWHERE, ManifestError, engine, engines, evaluate, load_object, read
from jackdaw.cli import main as jackdaw
from jackdaw.device import open_device
from jackdaw.device.base import DeviceBase
from jackdaw.drivers.base import EngineDriver

ENGINES = list(engines().values())
NAMES = configuration.names()


def header_of(name: str) -> str:
    """The header of an engine's top, without comments."""
    manifest = engine(name)
    text = next(p for p in resolve(manifest.core).sources if p.stem == manifest.top).read_text()
    header = text[text.index(f"module {manifest.top}") : text.index("\n);")]
    return re.sub(r"//.*", "", header)


@pytest.mark.parametrize("name", engines())
def test_parameters_are_those_of_the_rtl(name: str) -> None:
    """Names, order, defaults and kinds; a parameter without a range fits its type only."""
    manifest = engine(name)
    declared = re.findall(
        r"\bparameter\s+(bit|int unsigned)\s+(\w+)\s*=\s*([^,\n]+)", header_of(name)
    )
    found = {parameter: (kind, default.strip()) for kind, parameter, default in declared}
    assert list(found) == list(manifest.parameters)
    values: dict[str, int] = {}
    for parameter in manifest.parameters.values():
        kind, default = found[parameter.name]
        assert (kind == "bit") == parameter.bit, parameter.name
        text = re.sub(r"1'b|_", "", default).replace("/", "//")
        values[parameter.name] = evaluate(parameter.default, values)
        assert evaluate(text, values) == values[parameter.name], parameter.name


@pytest.mark.parametrize("name", engines())
def test_streams_are_those_of_the_rtl(name: str) -> None:
    manifest = engine(name)
    text = header_of(name)
    for stream in manifest.streams.values():
        way, end = ("output", "o") if stream.out else ("input", "i")
        wanted = rf"{way}\s+logic\s+\[{stream.bits - 1}:0\]\s+{stream.name}_data_{end}\b"
        assert re.search(wanted, text), stream
        assert bool(re.search(rf"{way}\s+logic\s+{stream.name}_last_{end}\b", text)) == stream.last
    assert len(re.findall(r"\w+_valid_[io]\b", text)) == len(manifest.streams)


@pytest.mark.parametrize("name", engines())
def test_model_has_what_the_manifest_says(name: str) -> None:
    manifest = engine(name)
    with open_device("model", one(name)) as opened:
        assert isinstance(opened, DeviceBase)
        info = opened.engines()[0]
        assert (info.name, info.instance) == (name, name)
        assert info.descriptor_bytes == manifest.descriptor_bytes
        assert info.unordered == (not manifest.ordered)
        assert opened._pages[0].engine.rings == manifest.rings  # type: ignore[attr-defined]
    if manifest.driver:
        assert issubclass(load_object(manifest.driver), EngineDriver)
    if manifest.page:
        assert (manifest.folder / manifest.page).is_file()


def one(name: str, **parameters: int) -> configuration.Config:
    """A device of one engine."""
    manifest = engine(name)
    ports = manifest.ports(manifest.values(parameters, name))
    return parse(
        "one",
        {
            "ClockHz": 1, "MemSizeLog2": 20, "MemPorts": ports,
            "engines": {name: {"parameters": parameters}},
        },
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_configuration_returns_from_its_data(name: str) -> None:
    config = load_config(name)
    again = parse(name, json.loads(json.dumps(config.data())))
    assert again == config and again.build_hash == config.build_hash


def test_every_number_is_in_the_hash() -> None:
    config = load_config("all")
    hashes, alone = {config.build_hash}, set(config.parameters)
    for key, value in config.parameters.items():
        for other in {value + 1, value - 1, value * 2, value // 2, 1 - value} - {value}:
            with suppress(ConfigError):
                hashes.add(config.changed({key: other}).build_hash)
                alone.discard(key)
                break
    assert alone == {"learner.P", "learner.OB", "learner.NTU", "a3c.SingleCu"}
    assert len(hashes) == 1 + len(config.parameters) - len(alone)


def test_ports_are_given_anew_when_they_change() -> None:
    config = load_config("a3c")
    assert config.instance("a3c").ports == (0,)
    wide = config.changed({"a3c.NPair": 2, "a3c.PortPerCu": 1, "MemPorts": 4})
    assert wide.instance("a3c").ports == (0, 1, 2, 3)
    assert load_config("learners").changed({"ClockHz": 5}).instance("second").ports == (1,)


WRONG = [
    ({"engines": {"nothing": {}}}, "no engine 'nothing'; there are"),
    ({"engines": {"replay": {"parameters": {"Depth": 2}}}}, "replay has no parameter Depth"),
    ({"engines": {"replay": {"parameters": {"KLog2": 7}}}}, r"replay: KLog2 is 7, want 1\.\.6"),
    ({"engines": {"replay": {"parameters": {"KLog2": "7"}}}}, r"KLog2 is '7', want 1\.\.6"),
    ({"engines": {"learner": {"parameters": {"P": 12}}}}, "P is 12, want one of"),
    ({"engines": {"learner": {"parameters": {"OB": 8}}}}, "P=16, OB=8: want OB = P / 4"),
    ({"engines": {"learner": {"parameters": {"NTU": 4, "ActorCritic": 1}}}}, "want no ActorCritic"),
    ({"engines": {"Replay": {}}}, "want a name of lower-case"),
    ({"engines": {"replay_smp": {"engine": "replay"}}}, "replay_smp: want a name of lower-case"),
    ({"engines": {"axi": {"engine": "replay"}}}, "axi: want a name of .* none of address, axi"),
    ({"engines": ["replay"]}, r"engines: got \['replay'\], want an object"),
    ({"engines": {"replay": 1}}, "replay: got 1, want an object"),
    ({"engines": {"replay": {"engine": ["replay"]}}}, r"engine: got \['replay'\], want a text"),
    ({"engines": {"replay": {"parameters": [1]}}}, r"parameters: got \[1\], want an object"),
    ({"engines": {"replay": {"ports": 0}}}, "ports: got 0, want a list"),
    ({"engines": {"replay": {"ports": [False]}}}, r"ports \[False\], want 1 of 0\.\.0"),
    ({"links": "replay.smp > replay.tde"}, "links: got 'replay.smp .*, want a list"),
    ({"links": [1]}, "link: got 1, want a text"),
    ({"engines": {"replay": {"ports": [0, 0]}}}, r"ports \[0, 0\], want 1 of 0\.\.0"),
    ({"engines": {"replay": {"ports": [1]}}}, r"ports \[1\], want 1 of 0\.\.0"),
    ({"engines": {"replay": {"port": 0}}}, "unknown: port"),
    ({"MemPorts": 2}, r"memory ports \[1\] have no engine"),
    ({"MemPorts": 17}, r"MemPorts is 17, want 1\.\.16"),
    ({"MemSizeLog2": 33}, r"MemSizeLog2 is 33, want 12\.\.32"),
    ({"ClockHz": True}, "ClockHz is True"),
    ({"Clock": 1}, "unknown: Clock"),
    ({"links": ["replay.smp"]}, "want 'engine.stream > engine.stream'"),
    ({"links": ["replay.smp > replay.tde"]}, "are not alike"),
    ({"links": ["replay.tde > replay.tde"]}, "no stream replay.tde begins here"),
    ({"links": ["learner.tde > replay.tde"]}, "no stream learner.tde begins here"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[m for _, m in WRONG])
def test_a_wrong_configuration_is_named(changes: dict, message: str) -> None:
    right = {"ClockHz": 1, "MemSizeLog2": 20, "MemPorts": 1, "engines": {"replay": {}}}
    assert parse("right", right)
    with pytest.raises(ConfigError, match=message):
        parse("wrong", {**right, **changes})


def test_a_wrong_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    for text, message in (
        ('{"engines": {"replay": {}, "replay": {}}}', "'replay' is there twice"),
        ("{", "wrong.json: Expecting"),
        ("[]", r"got \[\], want an object"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            load_config(path)
    for text in ("a", "a=", "a=b", "a=1.5", "=1", "a=\u00b2"):
        with pytest.raises(ConfigError, match="want NAME=NUMBER"):
            configuration.numbers([text])
    assert configuration.numbers(["replay.KLog2=3", "b=-1"]) == {"replay.KLog2": 3, "b": -1}


def test_a_stream_has_one_link() -> None:
    data = load_config("learners").data()
    data["links"].append("replay.smp > second.smp")
    with pytest.raises(ConfigError, match=r"replay\.smp has a link"):
        parse("wrong", data)


def test_an_engine_without_rtl_is_for_the_model_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jackdaw.device.planned", lambda: {"replay": engine("replay")})
    with pytest.raises(ConfigError, match="replay: got sim, want model: no RTL yet"):
        open_device("sim", "small")
    open_device("model", "small").close()


def test_changed_names_what_is_unknown() -> None:
    with pytest.raises(ConfigError, match=r"has no replay\.K; it has"):
        load_config("small").changed({"replay.K": 1})
    with pytest.raises(ConfigError, match="has no second"):
        load_config("small").instance("second")


@pytest.mark.parametrize("name", NAMES)
def test_top_is_the_same_each_time(name: str) -> None:
    config = load_config(name)
    text = device.top(config)
    assert text == device.top(parse(name, config.data()))
    assert all(f"u_{instance.name} (" in text for instance in config.instances)
    assert f"32'h{config.build_hash:08x}" in text


def test_the_script_writes_a_core(tmp_path: Path) -> None:
    command = [sys.executable, "scripts/device.py", "small", "--set", "replay.KLog2=1",
               "--out", str(tmp_path)]  # fmt: skip
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert ".KLog2(1)" in (tmp_path / "jd_top.sv").read_text()
    assert "name: jackdaw:device:small:" in (tmp_path / "device.core").read_text()
    done = subprocess.run(
        [*command[:3], "--set", "replay.KLog2=x"], cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "want NAME=NUMBER" in done.stderr


def test_a_wrong_manifest_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = (engine("replay").folder / "engine.yaml").read_text()
    wrongs = {
        "missing: top": right.replace("top: jd_replay_top\n", ""),
        "unknown: tops": right + "tops: 1\n",
        "want out or in": right.replace("direction: in", "direction: up"),
        "want a range": right.replace("range: [1, 6], field: k_log2", "field: k_log2"),
        "want a mapping": "- 1\n",
        "want lower-case letters": right.replace("engine: replay", "engine: Re_play"),
        "invalid syntax": right.replace("memory_ports: 1", "memory_ports: 1 +"),
        "memory_ports is 17, want 1": right.replace("memory_ports: 1", "memory_ports: 17"),
        "name 'Depth' is not defined": right.replace("memory_ports: 1", "memory_ports: Depth"),
        "want a list of test files": right + "verifies: {rtl/lib/x.sv: [tests/nothing.py]}\n",
        "has no attribute 'items'": right + "verifies: [rtl/lib/x.sv]\n",
        "modulo by zero": right.replace("memory_ports: 1", "memory_ports: 1 // 0"),
    }
    for number, (message, text) in enumerate(wrongs.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "engine.yaml").write_text(text)
        with pytest.raises(ManifestError, match=message):
            read(folder)
    twice = tmp_path / "twice"
    twice.mkdir()
    (twice / "engine.yaml").write_text(right)
    monkeypatch.setenv(ELSEWHERE, str(twice))
    with pytest.raises(ManifestError, match="is the engine of"):
        engines()
    monkeypatch.setenv(ELSEWHERE, str(tmp_path))
    with pytest.raises(ManifestError, match=r"has no engine\.yaml"):
        engines()


def test_a_parameter_is_written_once() -> None:
    """A manifest and the engine's top name it; no core file, configuration class or table does."""
    for path in (ROOT / "rtl").rglob("*.core"):
        assert "vlogparam" not in path.read_text(), path
    for manifest in ENGINES:
        fields = [p.field for p in manifest.parameters.values() if p.field]
        assert len(set(fields)) == len(fields)
    assert {f.name for f in dataclasses.fields(configuration.Config)} == {
        "name", "clock_hz", "memory_size_log2", "memory_ports", "instances", "links",
    }  # fmt: skip


EXAMPLE = ROOT / "examples/engine_scale"


def test_the_example_is_in_its_folder_alone() -> None:
    """Outside, its page, records and this test alone name it: not the command that copies it."""
    listed = subprocess.run(
        ["git", "grep", "-lE", "engine_scale|jd_scale|ScaleEngine|SCAL\\b|example:scale"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    made = ("examples/engine_scale/", "docs/report/", "docs/synthesis.md")  # or written by flows
    outside = {name for name in listed if not name.startswith(made)}
    assert outside <= {"docs/new-engine.md", "tests/project/test_configuration.py"}
    assert "scale" in engines()


@pytest.mark.unplanned("the engine is copied by the test")
def test_an_engine_out_of_the_tree(tmp_path: Path) -> None:
    """The example under another name, elsewhere: registers, lint, its tests, CHANGED, benchmark."""
    folder = tmp_path / "engine_other"
    assert jackdaw(["new-engine", "other", "--id", "OTHR", "--out", str(folder)]) == 0
    assert jackdaw(["new-engine", "other", "--out", str(folder)]) == 2  # it is there
    env = os.environ | {ELSEWHERE: str(folder), "JD_OPTIMIZE": "-Og", "JD_EFFORT": "0.1"}

    def call(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True,
            check=False, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    copied = "jackdaw:example:other"
    assert (folder / "generated/jd_other_regs.sv").is_file()
    call("scripts/registers.py", "--check")
    assert "1 of 1 cores clean" in call("scripts/lint_rtl.py", copied)
    assert "engine_other/tests" in call("-m", "flow.manifest", "tests")
    told = call(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tier", "test",
        "tests/project/test_cache.py", str(folder / "tests"), "-k", "words or watchdog",
    )  # fmt: skip
    assert "3 passed" in told
    inputs = "from flow import changed; print(changed.inputs('engine_other', 1))"
    before = call("-c", inputs)
    work = folder / "jd_other_work.sv"
    work.write_text(work.read_text() + "// end\n")
    assert call("-c", inputs) != before
    assert "65536 words" in call("scripts/bench.py", "other", "--memory", "I")
    names = "from flow.synthesis import variants; print({v.top for v in variants()})"
    assert "jd_other_work" in call("-c", names)


def test_a_file_is_written_whole_by_many_processes(tmp_path: Path) -> None:
    """Workers write the same devices at once: none sees half a file or takes one away."""
    code = (
        "import sys; from pathlib import Path; from flow import write_whole\n"
        "path, text = Path(sys.argv[1]), sys.argv[2] * 100_000\n"
        "for _ in range(200):\n"
        "    write_whole(path, text)\n"
        "    assert len(path.read_text()) == 100_000\n"
    )
    path = tmp_path / "jd_top.sv"
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(path), letter], cwd=ROOT)
        for letter in "abcd"
    ]
    assert [run.wait(timeout=60) for run in runs] == [0] * 4
    assert list(tmp_path.iterdir()) == [path]


def rtl_of(core: str) -> set[Path]:
    """The hand-written RTL of a core."""
    return {path for path in resolve(core, "lint").sources if ROOT / "rtl" in path.parents}


def test_a_quick_lint_leaves_out_what_is_named():
    every, quick = lint_rtl.cores(), lint_rtl.cores(lint_rtl.LARGE)
    assert len(every) - len(quick) == len(lint_rtl.LARGE) and {*quick} < {*every}
    small = load_config("sparse").core()
    assert small in quick
    left_out = {path for name in {*every} - {*quick} for path in rtl_of(name)}
    assert left_out <= rtl_of(small)
    with pytest.raises(ValueError, match="no core or configuration sparse_huge"):
        lint_rtl.cores(("sparse_huge",))
