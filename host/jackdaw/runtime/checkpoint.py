"""Checkpoints: one file from which a run goes on; data alone, no code.

A checkpoint is an npz file: a member `<number>.npy` for each array, and `state.json` with all else.
In the JSON part a dictionary, a tuple, an array and a scalar of NumPy are objects of one key that
names the kind, so that each comes back as the type that it was.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from jackdaw.errors import CheckpointError, CheckpointMismatch

FORMAT = 4  # 4: npz; 3 was a pickle
MEMBER = "state.json"
PLAIN = (str, int, float, bool, type(None))


def save(path: Path, identity: dict[str, Any], state: dict[str, Any]) -> None:
    """Write a checkpoint; the file is replaced as a whole or not at all.

    Args:
        path: of the file; its folder is made.
        identity: what a run must have in common with this one to go on from it.
        state: dictionaries with keys of strings, lists, tuples, strings, numbers, None, arrays.
    Raises: TypeError naming the first part of any other type; then nothing is written.
    """
    arrays: list[np.ndarray] = []
    content = {"format": FORMAT, "identity": identity, "state": state}
    text = json.dumps(_encode(content, arrays, "checkpoint"))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    with zipfile.ZipFile(temporary, "w") as file:
        # The members have no time: the same state gives the same file.
        file.writestr(zipfile.ZipInfo(MEMBER), text)
        for number, array in enumerate(arrays):
            with file.open(zipfile.ZipInfo(f"{number}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    os.replace(temporary, path)


def load(path: Path, identity: dict[str, Any] | None = None) -> dict[str, Any]:
    """Read the state of a checkpoint.

    Args:
        path: of the file.
        identity: of the run that goes on; None to read any run's.
    Raises: FileNotFoundError; CheckpointError if the file is no checkpoint or is damaged;
        CheckpointMismatch if it has another format or is of another run, naming the first
        difference.
    """
    try:
        with zipfile.ZipFile(path) as file:
            encoded = json.loads(file.read(MEMBER))
            found = encoded["dict"].get("format")
            if found != FORMAT:
                raise CheckpointMismatch(f"{path}: got format {found!r}, want {FORMAT}")
            content = _decode(encoded, file)
            saved, state = dict(content["identity"]), content["state"]
    except (FileNotFoundError, CheckpointMismatch):
        raise
    except (
        zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, TypeError,
        AttributeError, RuntimeError,
    ) as error:  # fmt: skip
        raise CheckpointError(f"{path}: no whole checkpoint ({error})") from None
    if identity is not None:
        for key in sorted(saved.keys() | identity.keys()):
            if saved.get(key) != identity.get(key):
                raise CheckpointMismatch(
                    f"{path}: {key} is {saved.get(key)!r}, this run has {identity.get(key)!r}"
                )
    return state


def _encode(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    """The JSON form of a value; its arrays are appended. Types are exact: no subclass is lost."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is dict:
        for key in value:
            if type(key) is not str:
                raise TypeError(f"{where}: got key {key!r}, want strings")
        return {"dict": {k: _encode(v, arrays, f"{where}.{k}") for k, v in value.items()}}
    if kind in (list, tuple):
        items = [_encode(v, arrays, f"{where}[{i}]") for i, v in enumerate(value)]
        return items if kind is list else {"tuple": items}
    if kind is np.ndarray or isinstance(value, np.generic):
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise TypeError(f"{where}: got an array of {array.dtype}, want numbers")
        arrays.append(array)
        return {"array" if kind is np.ndarray else "scalar": len(arrays) - 1}
    raise TypeError(f"{where}: got {kind.__name__}, want data")


def _decode(value: Any, file: zipfile.ZipFile) -> Any:
    """Inverse of _encode."""
    if isinstance(value, list):
        return [_decode(v, file) for v in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "dict":
        return {k: _decode(v, file) for k, v in inner.items()}
    if kind == "tuple":
        return tuple(_decode(v, file) for v in inner)
    if kind not in ("array", "scalar"):
        raise ValueError(f"a part of kind {kind}")
    data = io.BytesIO(file.read(f"{inner}.npy"))  # whole, so that its sum is checked first
    array = np.lib.format.read_array(data, allow_pickle=False)
    return array if kind == "array" else array[()]
