"""Launches with products of a warp: of 16 rows and 8 columns of 32 bytes in shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.ir.dtypes import INT8, DType
from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.gpu.launch import INTRINSICS, GpuProgram
from tandem.compiler.machines.gpu.warps import WARP_PRODUCTS, terms_of

ROW, COLUMN = "gpu.thread // 4 % 8", "gpu.thread % 4"
_NAMES = {**INTRINSICS, **{each.name: each for each in WARP_PRODUCTS.values()}}


def warp_program(
    left: DType = INT8,
    right: DType = INT8,
    threads: int = 32,
    *,
    row: str = ROW,
    column: str = COLUMN,
    around: str = "for once in 1:",
    wait: str = "invoke barrier()",
    by_rows: bool = True,
    shift: int = 0,
) -> GpuProgram:
    """C = S + A B, of which thread 4 r + c has the rows 2 r and 2 r + 1, and two columns.

    Parameters
    ----------
    row, column
        Where a thread's rows and columns are in shared memory.
    around
        What is around the product.
    wait
        What is between the loads and the product.
    by_rows
        Whether the terms of a row of A are neighbours in shared memory.
    shift
        Terms in shared memory before the first row of A.
    """
    found = WARP_PRODUCTS[left, right]
    name, sums, terms = found.name, found.outputs[0].dtype, terms_of(found)
    part = terms // 2
    shape, first = f"2, 2, 8, {part + shift}", f"m % 2, m // 2, gpu.thread % {part} + {shift}"
    region = f"0 :+ 2, 0 :+ 2, {row} :+ 1, {shift} :+ {part}"
    if not by_rows:
        shape, first = f"2, 2, {part}, 8", f"m % 2, gpu.thread % {part}, m // 2"
        region = f"0 :+ 2, 0 :+ 2, 0 :+ {part}, {row} :+ 1"
    inputs = f"A: {left}[16, {terms}], B: {right}[{terms}, 8], S: {sums}[16, 8]"
    right_region = f"0 :+ 2, {column} :+ 1, 0 :+ 2, 0 :+ {part}"
    launch = parse(
        f"""func f({inputs}) -> (C: {sums}[16, 8]):
  for gpu.block in 1 blocks:
    alloc a: {left}[{shape}] @ shared
    alloc b: {right}[2, 4, 2, {part}] @ shared
    for gpu.thread in {threads} threads:
      alloc sums: {sums}[2, 2] @ local
      if gpu.thread < {terms}:
        for m in 16:
          a[gpu.thread // {part}, {first}] = A[m, gpu.thread]
        for n in 8:
          b[gpu.thread // {part}, n // 2, n % 2, gpu.thread % {part}] = B[gpu.thread, n]
      if gpu.thread < 32:
        for i in 2:
          for j in 2:
            sums[i, j] = S[gpu.thread // 4 * 2 + i, gpu.thread % 4 * 2 + j]
      {wait}
      {around}
        invoke {name}(sums[0 :+ 2, 0 :+ 2], a[{region}], b[{right_region}])
      if gpu.thread < 32:
        for i_out in 2:
          for j_out in 2:
            C[gpu.thread // 4 * 2 + i_out, gpu.thread % 4 * 2 + j_out] = sums[i_out, j_out]
""",
        _NAMES,
    )
    return GpuProgram("f", launch.inputs, launch.outputs, (), (launch,))


def warp_arrays(program: GpuProgram) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    """Inputs of a program, with the extremes of integers and sums that wrap, and floats whose sums
    round; and its output."""
    random = np.random.default_rng(1)
    arrays: list[NDArray[Any]] = []
    for buffer in program.inputs:
        if not buffer.dtype.is_integer:
            arrays.append(random.standard_normal(buffer.shape).astype(buffer.dtype.numpy))
            continue
        low, high = int(buffer.dtype.low), int(buffer.dtype.high)
        array = random.integers(low, high, buffer.shape, np.int64, endpoint=True)
        array[0], array[1] = low, high
        arrays.append(array.astype(buffer.dtype.numpy))
    result = program.outputs[0].dtype
    wide: Any = np.int64 if result.is_integer else np.float32
    a, b, sums = (each.astype(wide) for each in arrays)
    for term in range(a.shape[1]):
        sums = sums + a[:, term : term + 1] * b[term : term + 1]
    return arrays, sums.astype(result.numpy)
