"""Native code in tests: targets, and comparisons with the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.codegen import CpuTarget, ThreadPool, compile_function
from tandem.compiler.machines.cpu.codegen.machine_code import machine_of, optimise

HOST = CpuTarget.host(threads=1)
EXACT = HOST.without("fma")
"""A target that rounds each operation on floats by itself, as the interpreter does."""


def same(one: NDArray[Any], other: NDArray[Any]) -> None:
    """Assert that two arrays are equal to the last bit, but for the payload of NaNs."""
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)
    if one.dtype.kind == "f":
        numbers = ~np.isnan(one)
        np.testing.assert_array_equal(np.signbit(one)[numbers], np.signbit(other)[numbers])


def assembly(text: str, target: CpuTarget) -> str:
    """The assembly of LLVM IR text for a target."""
    machine = machine_of(target)
    return machine.emit_assembly(optimise(text, machine))


def same_as_interpreter(
    function: PrimFunc,
    arrays: Sequence[NDArray[Any]],
    target: CpuTarget = EXACT,
    pool: ThreadPool | None = None,
) -> tuple[NDArray[Any], ...]:
    """The results of native code, asserted to equal the interpreter's to the last bit."""
    found = compile_function(function, target, pool)(*arrays)
    for one, other in zip(found, interpreter.run(function, arrays), strict=True):
        same(one, other)
    return found


def run_text(
    program: str,
    *arrays: NDArray[Any],
    target: CpuTarget = EXACT,
    pool: ThreadPool | None = None,
) -> tuple[NDArray[Any], ...]:
    """The native results of a program's text, asserted to equal the interpreter's."""
    return same_as_interpreter(parse(program), arrays, target, pool)
