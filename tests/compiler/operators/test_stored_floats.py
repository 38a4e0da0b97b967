"""Casts from and to float16 and bfloat16 equal NumPy's."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import IRError, TensorError
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT4, FLOAT16, FLOAT32, UINT4, UINT16, DType
from tandem.compiler.ir.ops import cast, const, load
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.schedules.generic import cpu_schedule
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.operators import stored_floats
from tandem.compiler.operators.elementwise import ELEMENTWISE
from tandem.compiler.te import placeholder, reinterpret
from tests.support.compiler.operators.operators import evaluate, given_as

STORED = (FLOAT16, BFLOAT16)
Array = NDArray[Any]


def native(array: Array, to: DType) -> Array:
    """The cast, as native code."""
    tensor = given_as("X", array)
    target = CpuTarget.host(threads=1)
    result = ELEMENTWISE["cast"](tensor, to=to)
    schedule = cpu_schedule(result, simd=Simd.of(target), inputs=[tensor])
    (found,) = compile_function(schedule.program, target)(array)
    return found


def bits(array: Array) -> Array:
    """The bits of an array's elements; one NaN for all."""
    view = array.view(f"u{array.itemsize}").copy()
    with np.errstate(invalid="ignore"):
        view[np.isnan(array.astype(np.float64))] = 0xFFFF
    return view


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_every_stored_float(dtype: DType) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy)
    wide = native(every, FLOAT32)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(wide, every.astype(np.float32))
    np.testing.assert_array_equal(bits(native(wide, dtype)), bits(every))


@pytest.mark.parametrize("dtype", STORED, ids=str)
@pytest.mark.parametrize("wide", ["float32", "float64"])
def test_rounding(dtype: DType, wide: str) -> None:
    """Of numbers half-way between two, of their neighbours, and of any magnitude."""
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        every = np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy).astype(np.float64)
        every = np.sort(every[np.isfinite(every)])
        middle = ((every[1:] + every[:-1]) / 2).astype(wide)
        around = [middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]
        chance = random.integers(0, 1 << 32, 1 << 14).astype(np.uint32).view(np.float32)
        numbers = np.concatenate([*around, chance.astype(wide)]).astype(wide)
        # NumPy rounds float64 to bfloat16 twice: by way of float32, odd where not exact, once.
        single = numbers.astype(np.float32)
        if wide == "float64" and dtype == BFLOAT16:
            even = single.view(np.uint32) & 1 == 0
            inexact = (single != numbers) & even & ~np.isnan(numbers)
            step = np.where(np.abs(single) < np.abs(numbers), 1, -1)
            single.view(np.uint32)[inexact] += step[inexact].astype(np.uint32)
        wanted = (single if dtype == BFLOAT16 else numbers).astype(dtype.numpy)
    np.testing.assert_array_equal(bits(native(numbers, dtype)), bits(wanted))


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_the_interpreter_agrees(dtype: DType) -> None:
    numbers = np.random.default_rng(1).standard_normal(50).astype(np.float32)
    operator = ELEMENTWISE["cast"]
    narrow = evaluate(operator(given_as("X", numbers), to=dtype), {"X": numbers})
    np.testing.assert_array_equal(bits(narrow), bits(numbers.astype(dtype.numpy)))
    tensor = placeholder(narrow.shape, dtype, "X")
    wide = evaluate(operator(tensor, to=FLOAT32), {"X": narrow})
    np.testing.assert_array_equal(wide, narrow.astype(np.float32))


def test_every_float_of_4_bits() -> None:
    """And what is rounded to each: numbers between two, half-way and beside, beyond 6, and NaN."""
    every = np.arange(16, dtype=np.uint8).view(FLOAT4.numpy)
    wide = native(every, FLOAT32)
    sizes = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert wide.tolist() == [*sizes, *(-each for each in sizes)]
    np.testing.assert_array_equal(native(wide, FLOAT4).view(np.uint8), every.view(np.uint8))
    middle = np.array([(a + b) / 2 for a, b in pairwise(sizes)], np.float32)
    numbers = np.concatenate(
        [middle, np.nextafter(middle, np.float32(9)), np.nextafter(middle, np.float32(0))]
    )
    numbers = np.concatenate([numbers, np.array([5.99, 6.01, 7, 1e9, np.inf], np.float32)])
    numbers = np.concatenate([numbers, -numbers, np.array([np.nan], np.float32)])
    wanted = numbers.astype(FLOAT4.numpy)
    found = native(numbers, FLOAT4)
    np.testing.assert_array_equal(found.view(np.uint8), wanted.view(np.uint8))
    assert found[:7].astype(np.float32).tolist() == [0, 1, 1, 2, 2, 4, 4]  # ties to even
    tensor = given_as("X", numbers)
    by_hand = evaluate(ELEMENTWISE["cast"](tensor, to=FLOAT4), {"X": numbers})
    np.testing.assert_array_equal(by_hand.view(np.uint8), wanted.view(np.uint8))


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16, FLOAT4], ids=str)
def test_what_is_stored(dtype: DType) -> None:
    """What was widened is found again, and nothing else is."""
    value = load(placeholder((3,), dtype, "a"), 1)
    widened = stored_floats.cast(value, FLOAT32)
    assert stored_floats.stored_operand(widened) == value
    assert stored_floats.stored_operand(widened + 1.0) is None
    assert stored_floats.stored_operand(load(placeholder((3,), FLOAT32, "b"), 1)) is None
    assert stored_floats.stored_operand(value) is None


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16, FLOAT4], ids=str)
def test_what_is_rounded(dtype: DType) -> None:
    """What was rounded is found again, if it was rounded before, too, and nothing else is."""
    value = load(placeholder((3,), FLOAT32, "a"), 1)
    once = stored_floats.cast(value, dtype)
    assert stored_floats.rounded_operand(once) == value
    again = stored_floats.cast(once, FLOAT32) * 2.0
    assert stored_floats.rounded_operand(stored_floats.cast(again, dtype)) == again
    assert stored_floats.rounded_operand(load(placeholder((3,), dtype, "b"), 1)) is None
    assert stored_floats.rounded_operand(value) is None


def test_zeros() -> None:
    assert stored_floats.zero(FLOAT32) == const(0.0, FLOAT32)
    assert stored_floats.zero(UINT16) == const(0, UINT16)
    half = stored_floats.zero(FLOAT16)
    assert half == reinterpret(const(0, UINT16), FLOAT16)


def test_refusals() -> None:
    """There is no arithmetic, no constant and no plain cast of floats that are only stored."""
    stored = placeholder((4,), FLOAT16, "X")
    with pytest.raises(TensorError, match="is not of the kind"):
        ELEMENTWISE["add"](stored, stored)
    with pytest.raises(IRError, match="no constants of bfloat16"):
        const(1.0, BFLOAT16)
    with pytest.raises(IRError, match="no cast is defined from float16 to float32"):
        cast(stored[0], FLOAT32)
    with pytest.raises(IRError, match="< is not defined for float16"):
        _ = stored[0] < stored[1]
    with pytest.raises(IRError, match="the bits of float16 are none of float32"):
        reinterpret(stored[0], FLOAT32)
    assert reinterpret(stored[0], UINT16).dtype == UINT16
    assert reinterpret(placeholder((4,), FLOAT4, "Y")[0], UINT4).dtype == UINT4
