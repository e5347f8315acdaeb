"""The fields of a row: their types, their layout in device memory, and what `add` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jackdaw.errors import BufferFieldError

ROW_ALIGN = 64  # bytes; the learner gathers rows at multiples of it
OWN_NAMES = ("priorities", "weights", "indexes")
Columns = dict[str, np.ndarray]
"""Field -> [rows, *shape]."""


def field_types(
    env_dict: Mapping[str, Mapping[str, Any]], default_dtype: Any = None
) -> dict[str, np.dtype]:
    """The type of every field, with its shape.

    Args:
        env_dict: field -> {"shape": int or tuple, default 1; "dtype": default `default_dtype`}.
        default_dtype: of fields that name none; None is float32.
    Raises: BufferFieldError.
    """
    if not env_dict:
        raise BufferFieldError("env_dict: got no field, want one or more")
    types = {}
    for name, spec in env_dict.items():
        unknown = set(spec) - {"shape", "dtype"}
        if name in OWN_NAMES or unknown:
            raise BufferFieldError(
                f"field {name!r}: got {sorted(unknown) or 'a name of the buffer itself'}, "
                "want another name with shape and dtype alone"
            )
        shape, dtype = spec.get("shape", 1), np.dtype(spec.get("dtype", default_dtype or "f4"))
        shape = (int(shape),) if np.ndim(shape) == 0 else tuple(int(n) for n in shape)
        if dtype.kind not in "biufc" or any(n < 1 for n in shape):
            raise BufferFieldError(
                f"field {name!r}: got {dtype} of shape {shape}, want numbers, dimensions of 1 up"
            )
        types[name] = np.dtype((dtype, shape))
    return types


def packed(types: Mapping[str, np.dtype]) -> np.dtype:
    """A row with these fields in order, each at its natural alignment, padded to 64 bytes."""
    row = np.dtype([(name, t.base, t.shape) for name, t in types.items()], align=True)
    assert row.names is not None and row.fields is not None
    return np.dtype(
        {
            "names": list(row.names),
            "formats": [row.fields[name][0] for name in row.names],
            "offsets": [row.fields[name][1] for name in row.names],
            "itemsize": -(-row.itemsize // ROW_ALIGN) * ROW_ALIGN,
        }
    )


def row_layout(env_dict: Mapping[str, Mapping[str, Any]], default_dtype: Any = None) -> np.dtype:
    """The layout of a row in device memory, without memory compression: see `field_types`.

    Returns: a structured type, padded to a multiple of 64 bytes. Raises: BufferFieldError.
    """
    return packed(field_types(env_dict, default_dtype))


def names_of(value: Any, types: Mapping[str, np.dtype], what: str) -> list[str]:
    """Names of fields from one name or several. Raises: BufferFieldError for any other."""
    names = [] if value is None else [str(name) for name in np.ravel(value)]
    for name in names:
        if name not in types:
            raise BufferFieldError(f"{what}: got {name!r}, want a field: {', '.join(types)}")
    return names


def columns(types: Mapping[str, np.dtype], fields: Mapping[str, Any]) -> Columns:
    """One value a field, as `add` takes them: of one row, or of rows along a leading axis.

    Returns: arrays of the fields' types. Raises: BufferFieldError.
    """
    if fields.keys() != types.keys():
        raise BufferFieldError(
            f"fields: got {', '.join(sorted(fields)) or 'none'}; want {', '.join(types)}"
        )
    found = {name: column(name, types[name], fields[name]) for name in types}
    counts = {name: len(values) for name, values in found.items()}
    if len(set(counts.values())) > 1:
        raise BufferFieldError(f"rows: got {counts}, want the same number of every field")
    return found


def column(name: str, kind: np.dtype, value: Any) -> np.ndarray:
    """[n, *shape] of one field. Raises: BufferFieldError."""
    dtype, shape = kind.base, kind.shape
    try:
        given = np.asarray(value)
    except ValueError as error:
        raise BufferFieldError(f"field {name!r}: {error}") from None
    if given.dtype.kind not in "biufc" or (given.dtype.kind == "c" and dtype.kind != "c"):
        raise BufferFieldError(f"field {name!r}: got {given.dtype}, want {dtype}")
    single = given.shape == shape or (shape == (1,) and given.ndim == 0)
    scalars = shape == (1,) and given.ndim == 1
    if not (single or scalars or (given.ndim and given.shape[1:] == shape)):
        raise BufferFieldError(
            f"field {name!r}: got shape {given.shape}, want {shape} or (rows, *{shape})"
        )
    if not given.size:
        raise BufferFieldError(f"field {name!r}: got 0 rows, want 1 or more")
    return kept(name, dtype, given).reshape(1 if single else len(given), *shape)


def kept(name: str, dtype: np.dtype, given: np.ndarray) -> np.ndarray:
    """A copy in the field's type. Raises: BufferFieldError if whole numbers or bits are lost."""
    with np.errstate(invalid="ignore", over="ignore"):
        out = given.astype(dtype)
    if dtype.kind in "biu" and given.dtype != dtype and (out != given).any():
        raise BufferFieldError(
            f"field {name!r}: got {given[out != given].flat[0]}, which {dtype} cannot hold"
        )
    return out
