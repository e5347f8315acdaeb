# SPDX-License-Identifier: Apache-2.0
"""scripts/testfloat.py on vectors in testfloat_gen's format, made with MPFR."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import testfloat
from flow.regression import builds
from verif.float import oracle
from verif.float.lanes import FORMATS, Lanes

FLOATS = ("f32", "f16")
INTEGERS = ("i32", "ui32", "i64", "ui64")
BINARY = ("add", "sub", "mul", "div", "eq", "lt", "le")
NAMES = [
    *(f"{f}_{o}" for f in FLOATS for o in (*BINARY, "sqrt")),
    *(f"{i}_to_{f}" for f in FLOATS for i in INTEGERS),
    *(f"{f}_to_{i}" for f in FLOATS for i in INTEGERS),
]
SPECIFIC_NAN = {"f32": 0xFFC12345, "f16": 0xFE01}  # testfloat_gen's NaNs need not be canonical


def vectors(name: str, seed: int) -> list[str]:
    """A few thousand lines for an operation."""
    operation = testfloat.parse_operation(name)
    form, rng = operation.float_format, np.random.default_rng(seed)
    width = 1 + sum(FORMATS[form])
    listed = oracle.interesting(form)
    lines = []
    if operation.kind == "from":
        words = [int(w) >> int(s) for w, s in zip(
            rng.integers(1 << 64, size=1000, dtype=np.uint64), rng.integers(64, size=1000),
            strict=True)]  # fmt: skip
        for word in words:
            word &= (1 << operation.bits) - 1
            value = word - (word >> (operation.bits - 1) << operation.bits) * operation.signed
            lines.append(
                f"{word:0{operation.bits // 4}X} {oracle.from_integer(value, 0, form):X} 00"
            )
        return lines
    for a in [*listed, *(int(x) for x in rng.integers(1 << width, size=1000))]:
        if operation.kind == "to":
            word = oracle.to_integer(a, operation.bits, 0, operation.signed, form)
            exact = float(oracle.to_float(np.array([a]), form)[0])
            fits = exact == exact and abs(exact) != np.inf and abs(exact - word) <= 0.5
            word = word if fits else 0x80000000
            flags = 0x01 if fits else 0x10
            lines.append(f"{a:X} {word & (1 << operation.bits) - 1:X} {flags:02x}")
            continue
        for b in listed[::7] if operation.operands == 2 else [0]:
            x, y = (oracle.value(bits, form) for bits in (a, b))
            compared = {"eq": x == y, "lt": x < y, "le": x <= y}
            if operation.kind in compared:
                result = int(compared[operation.kind])
            else:
                result = oracle.operate(operation.kind, a, b, form)
                result = SPECIFIC_NAN[form] if result == oracle.NAN[form] else result
            operands = f"{a:X} {b:X}" if operation.operands == 2 else f"{a:X}"
            lines.append(f"{operands} {result:X} 01")
    return lines


@pytest.mark.parametrize("name", NAMES)
@builds(lambda name: Lanes(testfloat.parse_operation(name).float_format))
def test_testfloat_accepts(
    name: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("\n".join(vectors(name, seed)) + "\n")
    code = testfloat.main([name, "--vectors", str(path)])
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", ["f32_mul", "f16_lt", "ui64_to_f32", "f32_to_i32"])
@builds(lambda name: Lanes(testfloat.parse_operation(name).float_format))
def test_testfloat_reports_one_wrong_vector(
    name: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = vectors(name, seed)
    index = next(i for i, line in enumerate(lines) if line.split()[-2] not in ("0", "FFC12345")
                 and not line.endswith("10"))  # fmt: skip
    *operands, want, flags = lines[index].split()
    lines[index] = " ".join([*operands, f"{int(want, 16) ^ 1:X}", flags])
    path = tmp_path / "vectors.txt"
    path.write_text("\n".join(lines))
    assert testfloat.main([name, "--vectors", str(path)]) == 1
    assert "1 mismatches" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["3F800000 3F800000", "3F800000 3F800000 zz 00", ""])
def test_testfloat_refuses_bad_vectors(text: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    assert testfloat.main(["f32_add", "--vectors", str(path)]) == (2 if text else 1)


def test_testfloat_refuses_other_operations() -> None:
    assert testfloat.main(["f64_add"]) == 2
