"""Dot products in instructions, against their behaviour in the loop language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.codegen import compile_function
from tandem.compiler.machines.cpu.codegen.compile import emit_assembly
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tests.support.compiler.ir.ir_strategies import INTRINSICS
from tests.support.compiler.machines.cpu.emulated import run_emulated
from tests.support.compiler.machines.cpu.native import EXACT, HOST, same

FUNCTIONS = {name: each.function for name, each in CPU_INTRINSICS.items()}


def program(name: str, kind: str = "", steps: int = 3) -> PrimFunc:
    """Sums of `steps` dot products, which have `kind` as their loop."""
    intrinsic = FUNCTIONS[name]
    lanes, left = intrinsic.outputs[0].size, intrinsic.inputs[1].dtype
    depth = intrinsic.inputs[1].size
    return parse(
        f"""
func f(A: {left}[5, {steps * depth}], B: int8[2, {steps}, {lanes}, {depth}],\
 S: int32[5, 2, {lanes}])\
 -> (C: int32[5, 2, {lanes}]):
  for i in 5:
    alloc acc: int32[2, {lanes}] @ local
    for j in 2 unrolled:
      for l in {lanes} vectorized:
        acc[j, l] = S[i, j, l]
    for k in {steps}{kind}:
      for m in 2 unrolled:
        invoke {name}(acc[m :+ 1, 0 :+ {lanes}], A[i :+ 1, k * {depth} :+ {depth}],\
 B[m :+ 1, k :+ 1, 0 :+ {lanes}, 0 :+ {depth}])
    for n in 2 unrolled:
      for o in {lanes} vectorized:
        C[i, n, o] = acc[n, o]
""",
        FUNCTIONS,
    )


def data(function: PrimFunc, extreme: bool) -> list[NDArray[Any]]:
    rng = np.random.default_rng(8)
    result = []
    for buffer in function.inputs:
        if extreme:  # products and sums as large as they come, and sums that wrap
            ends = np.array([buffer.dtype.low, buffer.dtype.high])
            result.append(rng.choice(ends, buffer.shape).astype(buffer.dtype.numpy))
        else:
            low, high = buffer.dtype.low, buffer.dtype.high
            values = rng.integers(low, high, buffer.shape, endpoint=True)
            result.append(values.astype(buffer.dtype.numpy))
    return result


def windows(name: str) -> PrimFunc:
    """Windows that begin anywhere in a row, to its very end."""
    return parse(
        f"""
func f(A: uint8[3, 100], B: int8[3, 4], S: int32[16]) -> (C: int32[16]):
  for l in 16 vectorized:
    C[l] = S[l]
  for k in 3:
    invoke {name}(C[0 :+ 16], A[k :+ 1, k * 18 :+ 64], B[k :+ 1, 0 :+ 4])
""",
        FUNCTIONS,
    )


@pytest.mark.parametrize("extreme", [False, True], ids=["any", "extreme"])
@pytest.mark.parametrize("name", CPU_INTRINSICS)
def test_dot_products(name: str, extreme: bool) -> None:
    missing = CPU_INTRINSICS[name].features - set(HOST.features)
    if missing:
        pytest.skip(f"this processor lacks {', '.join(sorted(missing))}")
    function = program(name) if CPU_INTRINSICS[name].stride is None else windows(name)
    arrays = data(function, extreme)
    (found,) = compile_function(function, HOST)(*arrays)
    (wanted,) = interpreter.run(function, arrays)
    same(found, wanted)


@pytest.mark.parametrize(("kind", "steps"), [("", 3), (" unrolled", 3), (" unrolled", 8), ("", 4)])
@pytest.mark.parametrize(
    ("name", "processor"),
    [("sdot_s8s8_4x4", "neoverse-n1"), ("smull_s8s8_4x2", "cortex-a72")],
)
def test_dot_products_of_arm(
    tmp_path: Path, name: str, processor: str, kind: str, steps: int
) -> None:
    """Data is a lane of a vector where steps are unrolled and rows are whole vectors, else an
    element that is loaded by itself."""
    function = program(name, kind, steps)
    for extreme in (False, True):
        arrays = data(function, extreme)
        (found,) = run_emulated(function, processor, arrays, tmp_path)
        (wanted,) = interpreter.run(function, arrays)
        same(found, wanted)


@pytest.mark.parametrize(
    ("kind", "steps", "lanes"), [("", 4, 0), (" unrolled", 3, 0), (" unrolled", 4, 4)]
)
def test_data_of_several_steps_is_loaded_once(kind: str, steps: int, lanes: int) -> None:
    code = emit_assembly(program("sdot_s8s8_4x4", kind, steps), PROCESSORS["neoverse-n1"])
    used = {line.rpartition(".4b")[2] for line in code.splitlines() if ".4b[" in line}
    assert len(used) == lanes


@pytest.mark.parametrize("name", ["vnni_u8s8_16x4", "vnni_s8s8_16x4"])
def test_a_target_that_lacks_the_instruction(name: str) -> None:
    with pytest.raises(CodegenError, match=f"{name} needs avx512f, avx512vnni, which the target"):
        compile_function(program(name), EXACT)


def test_no_lanes_of_lanes() -> None:
    with pytest.raises(CodegenError, match="is a vector of its own and cannot run in lanes"):
        compile_function(program("avx2_u8s8_8x4", " vectorized"), HOST)


def test_operands_are_dense() -> None:
    function = parse(
        """
func f(A: uint8[4], B: int8[4, 8], S: int32[8]) -> (S: int32[8]):
  invoke avx2_u8s8_8x4(S[0 :+ 8], A[0 :+ 4], B[0 :+ 4, 0 :+ 8])
""".replace("B: int8[4, 8]", "B: int8[8, 1, 5]").replace(
            "B[0 :+ 4, 0 :+ 8]", "B[0 :+ 8, 0 :+ 1, 0 :+ 4]"
        ),
        FUNCTIONS,
    )
    with pytest.raises(
        CodegenError, match=r"B lies in B with strides \(5, 1\); the instruction takes \(4, 1\)"
    ):
        compile_function(function, HOST)


def test_intrinsics_of_others() -> None:
    function = parse(
        """
func f(x: float32[4]) -> (y: float32[4]):
  invoke copy4(x[0 :+ 4], y[0 :+ 4])
""",
        INTRINSICS,
    )
    with pytest.raises(CodegenError, match="copy4 is no tensor intrinsic of a CPU: vnni"):
        compile_function(function, HOST)
