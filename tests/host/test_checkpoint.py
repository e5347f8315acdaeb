"""Checkpoints: every type comes back as it was, and a file that does not fit has a named error."""

from __future__ import annotations

import io
import json
import resource
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from jackdaw.errors import CheckpointError, CheckpointMismatch
from jackdaw.runtime import checkpoint

IDENTITY = {"loop": "lockstep", "hidden": (64, 64), "huber": None, "seed": 1}


def same(a: Any, b: Any) -> bool:
    """Whether two states are alike in types and bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return repr(a) == repr(b)  # of floats: -0.0, inf and nan too


DTYPES = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?"),
    arrays.complex_number_dtypes(),
    arrays.unicode_string_dtypes(max_len=3),
)
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
ARRAYS = DTYPES.flatmap(lambda dtype: arrays.arrays(dtype, SHAPES))
SCALARS = DTYPES.flatmap(lambda dtype: arrays.arrays(dtype, 1)).map(lambda array: array[0])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), ARRAYS, SCALARS)
STATES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=5), inner, max_size=3),
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


@given(state=STATES)
def test_checkpoint_gives_every_state_back(folder: Path, state: Any) -> None:
    path = folder / "checkpoint.npz"
    checkpoint.save(path, IDENTITY, {"state": state})
    assert same(checkpoint.load(path, IDENTITY), {"state": state})
    assert [p.name for p in folder.iterdir()] == [path.name]  # nothing half written stays


def test_checkpoint_gives_back_what_runs_hold(tmp_path: Path) -> None:
    """Generators of 128 bits, names that look like the format's own, arrays of any order."""
    state = {
        "rng": np.random.default_rng(1).bit_generator.state,
        "mersenne": np.random.RandomState(1).get_state(),
        "dict": {"array": 0, "tuple": [], "dict": {}, "scalar": (1, [2, (3,)])},
        "words": [np.float32(0.1), np.int64(-1), np.uint64(2**64 - 1), np.bool_(True), 2**200],
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "strided": np.arange(10)[::-3],
        "empty": [np.zeros((0, 4), np.uint8), np.zeros(0, "<f2"), [], (), {}, ""],
        "rows": np.zeros(2, [("a", "<u4"), ("b", "<f4", (3,))]),
    }
    path = tmp_path / "deep" / "checkpoint.npz"
    checkpoint.save(path, IDENTITY, state)
    read = checkpoint.load(path)
    assert same(read, state)
    again = np.random.default_rng(2)
    again.bit_generator.state = read["rng"]
    assert again.integers(1 << 62) == np.random.default_rng(1).integers(1 << 62)
    with np.load(path, allow_pickle=False) as arrays_alone:  # an npz file like any other
        assert arrays_alone["0"].shape == (624,)
    first = path.read_bytes()
    checkpoint.save(path, IDENTITY, state)
    assert path.read_bytes() == first
    with zipfile.ZipFile(path) as file:
        assert {member.date_time for member in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}


class Subclass(dict):
    """Not what a checkpoint would give back."""


@pytest.mark.parametrize(
    ("part", "where"),
    [
        ({"a": [1, {2}]}, r"checkpoint\.state\.a\[1\]: got set"),
        ({"a": {1: 2}}, r"checkpoint\.state\.a: got key 1"),
        ({"a": np.array([None])}, r"checkpoint\.state\.a: got an array of object"),
        ({"a": Subclass()}, r"checkpoint\.state\.a: got Subclass"),
        ({"a": np.ma.zeros(3)}, r"checkpoint\.state\.a: got MaskedArray"),
        ({"a": test_checkpoint_gives_back_what_runs_hold}, "got function"),
    ],
)
def test_checkpoint_takes_data_alone(tmp_path: Path, part: Any, where: str) -> None:
    path = tmp_path / "checkpoint.npz"
    checkpoint.save(path, IDENTITY, {"a": 1})
    with pytest.raises(TypeError, match=where):
        checkpoint.save(path, IDENTITY, part)
    assert checkpoint.load(path, IDENTITY) == {"a": 1}


def test_checkpoint_of_another_run(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    checkpoint.save(path, IDENTITY, {})
    for change, message in (
        ({"seed": 2}, "seed is 1, this run has 2"),
        ({"hidden": (64, 32)}, r"hidden is \(64, 64\), this run has \(64, 32\)"),
        ({"loop": "asynchronous"}, "loop is 'lockstep', this run has 'asynchronous'"),
        ({"tau": 0.1}, "tau is None, this run has 0.1"),
    ):
        with pytest.raises(CheckpointMismatch, match=message):
            checkpoint.load(path, {**IDENTITY, **change})


def test_checkpoint_of_another_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "checkpoint.npz"
    with monkeypatch.context() as older:
        older.setattr(checkpoint, "FORMAT", checkpoint.FORMAT - 1)
        checkpoint.save(path, IDENTITY, {})
    with pytest.raises(CheckpointMismatch, match="got format 4, want 5"):
        checkpoint.load(path, IDENTITY)


def edited(path: Path, member: str, content: bytes | None) -> bytes:
    """A checkpoint's file with a member replaced, or left out, and a checksum that fits."""
    out = path.with_name("edited")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        new.comment = old.comment
        for name in old.namelist():
            if name != member:
                new.writestr(name, old.read(name))
            elif content is not None:
                new.writestr(name, content)
    checkpoint.seal(out)
    return out.read_bytes()


def test_checkpoint_damaged(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    checkpoint.save(path, IDENTITY, {"weights": np.arange(100.0), "step": 3})
    whole = path.read_bytes()
    np.savez(tmp_path / "other.npz", weight=np.zeros(3))
    objects = io.BytesIO()
    np.save(objects, np.array([{}], object), allow_pickle=True)
    files = {
        "another npz": (tmp_path / "other.npz").read_bytes(),
        "text": b"no checkpoint",
        "nothing": b"",
        "no array": edited(path, "0.npy", None),
        "another array": edited(path, "0.npy", b"x"),
        "a pickle": edited(path, "0.npy", objects.getvalue()),
        "no JSON": edited(path, "state.json", b"{"),
        "a list": edited(path, "state.json", b"[]"),
        "a number": edited(path, "state.json", json.dumps({"dict": 4}).encode()),
        "no state": edited(path, "state.json", json.dumps({"dict": {"format": 5}}).encode()),
        "no identity": edited(
            path, "state.json",
            json.dumps({"dict": {"format": 5, "identity": 4, "state": {"dict": {}}}}).encode(),
        ),
        "a kind": edited(
            path, "state.json",
            json.dumps({"dict": {"format": 5, "identity": {"set": []}, "state": 1}}).encode(),
        ),
    }  # fmt: skip
    files |= {f"cut at {n}": whole[:n] for n in range(0, len(whole), 7)}
    for name, content in files.items():
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match="no whole checkpoint") as caught:
            checkpoint.load(path, IDENTITY)
        assert not isinstance(caught.value, CheckpointMismatch), name
    with pytest.raises(FileNotFoundError):
        checkpoint.load(tmp_path / "none.npz", IDENTITY)
    path.write_bytes(whole)
    assert checkpoint.load(path, IDENTITY)["step"] == 3


def test_checkpoint_with_any_bit_flipped(tmp_path: Path) -> None:
    """Also where the archive itself would not notice: in a date, or in the checksum."""
    path = tmp_path / "checkpoint.npz"
    checkpoint.save(path, IDENTITY, {"weights": np.arange(5.0), "step": 3})
    whole = path.read_bytes()
    for place in range(len(whole)):
        bit = 1 << place % 8
        path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        with pytest.raises(CheckpointError):
            checkpoint.load(path, IDENTITY)


def test_checkpoint_that_cannot_be_written_leaves_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    checkpoint.save(path, IDENTITY, {"step": 3})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))  # as a full disk
    try:
        with pytest.raises(OSError, match="large"):
            checkpoint.save(path, IDENTITY, {"weights": np.zeros(10_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert checkpoint.load(path, IDENTITY) == {"step": 3}
