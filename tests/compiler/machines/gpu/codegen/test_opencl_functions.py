"""Functions of OpenCL C as C, for all pairs of small integers, against Python's numbers."""

from __future__ import annotations

import ctypes
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tandem.compiler.ir.dtypes import DType, Kind, dtype_of
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.machines.gpu.codegen.opencl_functions import Functions

TYPES = "typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint;"
NAMES = ("int2", "int4", "int8", "uint2", "uint4", "uint8")


def computed(
    functions: Functions, name: str, dtype: DType, folder: Path
) -> list[tuple[int, int, int]]:
    """All pairs, and the results of a function."""
    values = range(int(dtype.low), int(dtype.high) + 1)
    given = np.array(list(product(values, values)), np.int32)
    text = [TYPES, *functions.texts.values(), "void all(const int *x, int *y, int n) {"]
    text += [f"for (int i = 0; i < n; i++) y[i] = {name}(x[2 * i], x[2 * i + 1]);", "}"]
    (folder / "f.c").write_text("\n".join(text))
    command = ["cc", "-O1", "-fsigned-char", "-shared", "-fPIC", "-o"]
    subprocess.run([*command, folder / "f.so", folder / "f.c"], check=True)
    found = np.zeros(len(given), np.int32)
    pointers = [each.ctypes.data_as(ctypes.POINTER(ctypes.c_int)) for each in (given, found)]
    ctypes.CDLL(str(folder / "f.so")).all(*pointers, len(given))
    return [(a, b, y) for (a, b), y in zip(given.tolist(), found.tolist(), strict=True)]


def wrapped(value: int, dtype: DType) -> int:
    low = int(dtype.low)
    return (value - low) % (1 << dtype.bits) + low


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("op", [BinaryOp.SHL, BinaryOp.SHR])
def test_shifts(op: BinaryOp, name: str, tmp_path: Path) -> None:
    """Amounts are read without a sign, and are of as many bits as the type."""
    dtype, functions = dtype_of(name), Functions()
    found = computed(functions, functions.shift(op, dtype), dtype, tmp_path)
    assert [*functions.texts] == [f"shifted_{'left' if op is BinaryOp.SHL else 'right'}_{name}"]
    for a, b, result in found:
        amount = b % (1 << dtype.bits)
        wanted = wrapped(a << amount, dtype) if op is BinaryOp.SHL else a >> amount
        assert result == wanted, (a, b)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("op", [BinaryOp.FLOORDIV, BinaryOp.MOD])
def test_quotients(op: BinaryOp, name: str, tmp_path: Path) -> None:
    """Rounded down, 0 by 0, and wrapped: -8 by -1 of four bits."""
    dtype, functions = dtype_of(name), Functions()
    found = computed(functions, functions.division(op, dtype), dtype, tmp_path)
    for a, b, result in found:
        wanted = 0 if b == 0 else a // b if op is BinaryOp.FLOORDIV else a % b
        assert result == wrapped(wanted, dtype), (a, b)


def test_amounts_of_narrow_types_lose_the_bits_beyond() -> None:
    functions = Functions()
    for name, masked in (("int8", False), ("uint16", False), ("int4", True), ("uint2", True)):
        dtype = dtype_of(name)
        assert dtype.kind in (Kind.INT, Kind.UINT)
        text = functions.texts[functions.shift(BinaryOp.SHR, dtype)]
        assert (f" & {(1 << dtype.bits) - 1}" in text) == masked
    assert len(functions.texts) == 4
