"""Conversions of float16 by instructions: in PTX, and what they give on this processor."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.gpu.codegen.ptx import ptx_text
from tandem.compiler.machines.gpu.launch import GpuProgram
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.generic import gpu_schedule
from tandem.compiler.operators.stored_floats import cast
from tandem.compiler.te import Tensor, compute, maximum, placeholder
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.machines.gpu.kernels_on_host import run_on_host

EVERY_HALF = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)


def launches(expression: Tensor) -> GpuProgram:
    """The launches of an expression."""
    return gpu_program(gpu_schedule(expression, machine=GpuMachine()).program, GpuMachine())


def rounded(dtype: DType = FLOAT16, size: int = 64) -> Tensor:
    """max(3 a, 0), each operation rounded, of a float16 or bfloat16."""
    a = placeholder((size,), dtype, "a")

    def element(i: Expr) -> Expr:
        product = cast(cast(a[i], FLOAT32) * 3.0, dtype)
        return cast(maximum(cast(product, FLOAT32), 0.0), dtype)

    return compute((size,), element, "c")


def test_instructions() -> None:
    """An operation whose result is rounded is one of float16, in registers of 16 bits; several that
    are rounded at the end are in float32. Other types have formulas."""
    text = ptx_text(launches(rounded()))
    assert "mul.rn.f16" in text
    assert not re.findall(r"\.f32|\bshl\.b32", text)
    a = placeholder((64,), FLOAT16, "a")
    text = ptx_text(
        launches(compute((64,), lambda i: cast(cast(a[i], FLOAT32) * 3.0 + 1.0, FLOAT16), "c"))
    )
    assert re.findall(r"cvt\S*", text) == ["cvt.f32.f16", "cvt.rn.f16.f32"]
    assert "mul.rn.f32" in text
    assert "f16" not in ptx_text(launches(rounded(BFLOAT16)))


def test_every_float16() -> None:
    program = launches(rounded(size=len(EVERY_HALF)))
    finite = ~np.isnan(EVERY_HALF)
    array = np.where(finite, EVERY_HALF, np.float16(1))
    small = rounded(size=1024)
    (found,) = run_on_host(program, [array])[0]
    with np.errstate(over="ignore"):
        product = (array.astype(np.float32) * np.float32(3)).astype(np.float16)
    wanted = np.maximum(product.astype(np.float32), np.float32(0)).astype(np.float16)
    np.testing.assert_array_equal(found.view(np.uint16), wanted.view(np.uint16))
    some = array[::64]
    (by_formulas,) = interpreter.run(Schedule.of(small).program, [some])
    np.testing.assert_array_equal(found[::64].view(np.uint16), by_formulas.view(np.uint16))


@pytest.mark.parametrize("bits", [0, 1, 0x0FFF, 0x1000, 0x1001])
def test_rounding(bits: int) -> None:
    """Floats at, and beside, the middle of two float16, and those that are too large or small."""
    a = placeholder((4096,), FLOAT32, "a")
    program = launches(compute((4096,), lambda i: cast(a[i], FLOAT16), "c"))
    high = np.arange(4096, dtype=np.uint32) * 0x000FE000 % 0x7F800000
    array = (high | bits).astype(np.uint32).view(np.float32)
    (found,) = run_on_host(program, [array])[0]
    with np.errstate(over="ignore"):
        wanted = array.astype(np.float16)
    np.testing.assert_array_equal(found.view(np.uint16), wanted.view(np.uint16))


def test_processors_have_formulas() -> None:
    """Native code is the same on all processors, whatever instructions they have."""
    array = EVERY_HALF[:64].copy()
    program = Schedule.of(rounded()).program
    (found,) = compile_function(program, CpuTarget.host(1))(array)
    (wanted,) = interpreter.run(program, [array])
    np.testing.assert_array_equal(found.view(np.uint16), wanted.view(np.uint16))
