"""Launches with dot products of bytes: of rows of two matrices that a block's threads share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import INT8, INT32, DType
from tandem.compiler.ir.expr import Const, Expr, Var
from tandem.compiler.ir.ops import index, load
from tandem.compiler.ir.stmt import Alloc, For, Invoke, LoopKind, PrimFunc, Region, Seq, Stmt, Store
from tandem.compiler.machines.gpu.intrinsics import DOT_PRODUCTS, DOT_TERMS
from tandem.compiler.machines.gpu.launch import (
    SHARED,
    THREAD,
    WAIT,
    GpuProgram,
    Grid,
    launch_of,
)

THREADS = 8


def dot_program(
    left: DType = INT8,
    right: DType = INT8,
    shift: int = 0,
    *,
    by_rows: bool = True,
    synchronised: bool = True,
) -> GpuProgram:
    """O[t] = S[t] + A[7 - t] . B[7 - t], of which a thread has loaded the rows A[t] and B[t].

    Parameters
    ----------
    shift
        Bytes in shared memory before the first row.
    by_rows
        Whether the bytes of a row are neighbours in shared memory, or those of a column.
    synchronised
        Whether there is a barrier between.
    """
    a, b = Buffer("A", (THREADS, DOT_TERMS), left), Buffer("B", (THREADS, DOT_TERMS), right)
    s, o = Buffer("S", (THREADS,), INT32), Buffer("O", (THREADS,), INT32)
    size = THREADS * DOT_TERMS + shift
    shape = (size,) if by_rows else (DOT_TERMS, THREADS)
    near_a, near_b = Buffer("a", shape, left, SHARED), Buffer("b", shape, right, SHARED)
    total = Buffer("total", (), INT32, Scope.LOCAL)

    def at(row: Expr, term: Expr) -> tuple[Expr, ...]:
        return (row * DOT_TERMS + term + shift,) if by_rows else (term, row)

    def of(near: Buffer) -> Region:
        other = Const(THREADS - 1, THREAD.dtype) - THREAD
        shape = (DOT_TERMS,) if by_rows else (DOT_TERMS, 1)
        return Region(near, at(other, index(0)), shape)

    k = Var("k")
    copies = Seq(
        tuple(
            Store(to, at(THREAD, k), load(by, THREAD, k)) for to, by in ((near_a, a), (near_b, b))
        )
    )
    dot = Invoke(DOT_PRODUCTS[left, right], (Region(total, (), ()), of(near_a), of(near_b)))
    sums = Seq((Store(total, (), load(s, THREAD)), dot, Store(o, (THREAD,), load(total))))
    loads = For(k, index(DOT_TERMS), LoopKind.SERIAL, copies)
    parts: tuple[Stmt, ...] = (loads, *(WAIT,) * synchronised, Alloc(total, sums))
    grid = Grid(1, THREADS, (near_a, near_b), Seq(parts))
    launch: PrimFunc = launch_of("dots", (a, b, s), (o,), grid)
    return GpuProgram("dots", (a, b, s), (o,), (), (launch,))


def dot_arrays(program: GpuProgram) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    """Inputs of a program, with the extremes of their types and sums that wrap; and its output."""
    random = np.random.default_rng(1)
    arrays: list[NDArray[Any]] = []
    for buffer in program.inputs:
        low, high = int(buffer.dtype.low), int(buffer.dtype.high)
        array = random.integers(low, high, buffer.shape, np.int64, endpoint=True)
        array[0], array[1] = low, high
        arrays.append(array.astype(buffer.dtype.numpy))
    a, b, s = (each.astype(np.int64) for each in arrays)
    wanted = s + (a * b).sum(axis=1)[::-1]
    return arrays, wanted.astype(np.int32)
