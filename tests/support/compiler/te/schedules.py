"""Schedules in tests: random inputs, and comparisons of programs by the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import FLOAT32, Kind
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.te import Tensor, compute, maximum, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule


def random_inputs(program: PrimFunc, seed: int = 0) -> list[npt.NDArray[Any]]:
    """An array for each input. Floats are small integers, whose sums are exact."""
    rng = np.random.default_rng(seed)
    return [_random(each, rng) for each in program.inputs]


def _random(buffer: Buffer, rng: np.random.Generator) -> npt.NDArray[Any]:
    dtype = buffer.dtype
    match dtype.kind:
        case Kind.BOOL:
            return rng.integers(0, 2, buffer.shape).astype(np.bool_)
        case Kind.FLOAT | Kind.FLOAT16 | Kind.BFLOAT16 | Kind.FLOAT4:
            return rng.integers(-8, 9, buffer.shape).astype(dtype.numpy)
        case Kind.INT | Kind.UINT:
            kind = np.int8 if dtype.is_narrow else dtype.numpy
            found = rng.integers(dtype.low, dtype.high, buffer.shape, kind, endpoint=True)
            return found.astype(dtype.numpy)


def agree(
    schedule: Schedule, reference: Schedule, seed: int = 0, target: CpuTarget | None = None
) -> None:
    """Assert that both programs give the same bits; the schedule also after lowering and, with a
    `target`, as native code.
    """
    inputs = random_inputs(reference.program, seed)
    wanted = interpreter.run(reference.program, inputs)
    lowered = lower(schedule.program)
    results = [interpreter.run(program, inputs) for program in (schedule.program, lowered)]
    if target is not None:
        results.append(compile_function(lowered, target)(*inputs))
    for found in results:
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def matmul(m: int = 6, n: int = 8, k: int = 5) -> Tensor:
    """A product of float matrices."""
    a, b = placeholder((m, k), FLOAT32, "A"), placeholder((k, n), FLOAT32, "B")
    r = reduce_axis(k, "k")
    return compute((m, n), lambda i, j: sum(a[i, r] * b[r, j], axis=r), "C")


def blur(height: int = 10, width: int = 12) -> Tensor:
    """Halide's example: a 3x3 box filter in two stages, along x, then along y."""
    image = placeholder((height + 2, width + 2), FLOAT32, "image")
    blurx = compute(
        (height + 2, width), lambda y, x: image[y, x] + image[y, x + 1] + image[y, x + 2], "blurx"
    )
    return compute(
        (height, width), lambda y, x: blurx[y, x] + blurx[y + 1, x] + blurx[y + 2, x], "blury"
    )


def relu_of_sum(n: int = 10) -> Tensor:
    """Element-wise stages in a row."""
    a, b = placeholder((n,), FLOAT32, "a"), placeholder((n,), FLOAT32, "b")
    total = compute((n,), lambda i: a[i] + b[i], "total")
    return compute((n,), lambda i: maximum(total[i], 0.0), "relu")
