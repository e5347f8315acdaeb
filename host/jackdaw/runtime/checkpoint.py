"""Checkpoints: one file from which a run goes on; data alone, no code.

A checkpoint is an npz file: a member `<number>.npy` for each array, and `state.json` with all else.
The file ends in the SHA-256 of what is before, as the archive's comment, so no bit can change.
In the JSON part a dictionary, a tuple, an array and a scalar of NumPy are objects of one key that
names the kind, so that each comes back as the type that it was.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from jackdaw.errors import CheckpointError, CheckpointMismatch

FORMAT = 5  # 5: SHA-256, all parameters of the build; 4: npz; 3 was a pickle
SUM_BYTES = 64  # of the file's end: SHA-256 as hexadecimal digits
PIECE_BYTES = 1 << 20
MEMBER = "state.json"
PLAIN = (str, int, float, bool, type(None))


def save(path: Path, identity: dict[str, Any], state: dict[str, Any]) -> None:
    """Write a checkpoint; the file is replaced as a whole or not at all.

    Args:
        path: of the file; its folder is made.
        identity: what a run must have in common with this one to go on from it.
        state: dictionaries with keys of strings, lists, tuples, strings, numbers, None, arrays.
    Raises: TypeError naming the first part of any other type; OSError; what was there stays then.
    """
    arrays: list[np.ndarray] = []
    content = {"format": FORMAT, "identity": identity, "state": state}
    text = json.dumps(_encode(content, arrays, "checkpoint"))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    try:
        with zipfile.ZipFile(temporary, "w") as file:
            file.comment = b"0" * SUM_BYTES
            # The members have no time: the same state gives the same file.
            file.writestr(zipfile.ZipInfo(MEMBER), text)
            for number, array in enumerate(arrays):
                with file.open(zipfile.ZipInfo(f"{number}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        seal(temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def seal(path: Path) -> None:
    """Write the checksum over the last bytes of a file."""
    with path.open("r+b") as file:
        digest = _sum(file)
        file.seek(-SUM_BYTES, os.SEEK_END)
        file.write(digest)
        file.flush()
        os.fsync(file.fileno())


def _sum(file: IO[bytes]) -> bytes:
    """The checksum of a file without its last bytes."""
    left = file.seek(0, os.SEEK_END) - SUM_BYTES
    file.seek(0)
    digest = hashlib.sha256()
    while left > 0:
        piece = file.read(min(PIECE_BYTES, left))
        digest.update(piece)
        left -= len(piece)
    return digest.hexdigest().encode()


def _whole(file: IO[bytes]) -> bool:
    """Whether a file ends in its checksum."""
    return _sum(file) == file.read()


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
        with path.open("rb") as raw, zipfile.ZipFile(raw) as file:
            encoded = json.loads(file.read(MEMBER))
            found = encoded["dict"].get("format")
            if type(found) is int and found != FORMAT:
                raise CheckpointMismatch(f"{path}: got format {found}, want {FORMAT}")
            if not _whole(raw):
                raise CheckpointError(f"{path}: no whole checkpoint (SHA-256 differs)")
            content = _decode(encoded, file)
            saved, state = dict(content["identity"]), content["state"]
    except (FileNotFoundError, CheckpointError):
        raise
    except (
        zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, TypeError,
        AttributeError, RuntimeError, MemoryError,
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
