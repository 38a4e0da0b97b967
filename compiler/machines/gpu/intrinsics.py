"""The tensor intrinsic of GPUs: a sum of four products of bytes, in wrapping int32, in one thread.

    C = C + int32(A[k]) * int32(B[k])       for k in 4

NVIDIA calls it dp4a. A and B lie in shared memory, C is the thread's own. Where a language has no
such instruction, its code is these products.
"""

from __future__ import annotations

from typing import Final

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import INT8, INT32, UINT8, DType
from tandem.compiler.ir.expr import Expr, Var
from tandem.compiler.ir.linear import linear
from tandem.compiler.ir.ops import cast, index, load
from tandem.compiler.ir.stmt import (
    For,
    Invoke,
    LoopKind,
    PrimFunc,
    Region,
    Stmt,
    Store,
    kept_axes,
    parameters,
)
from tandem.compiler.ir.visit import map_accesses_in
from tandem.compiler.machines.gpu.launch import SHARED

DOT_TERMS: Final = 4
"""Products in a sum: the bytes of a register."""


def _dot_product(left: DType, right: DType) -> PrimFunc:
    name = f"dp4a_{left}_{right}"
    c = Buffer("C", (), INT32, Scope.LOCAL)
    a, b = Buffer("A", (DOT_TERMS,), left, SHARED), Buffer("B", (DOT_TERMS,), right, SHARED)
    k = Var(f"{name}.k")
    term = cast(load(a, k), INT32) * cast(load(b, k), INT32)
    body = For(k, index(DOT_TERMS), LoopKind.SERIAL, Store(c, (), load(c) + term))
    return PrimFunc(name, (c, a, b), (c,), body)


DOT_PRODUCTS: Final = {
    (left, right): _dot_product(left, right) for left in (INT8, UINT8) for right in (INT8, UINT8)
}
"""The intrinsics, by the types of their factors."""


def is_dot_product(stmt: Stmt) -> bool:
    """Whether a statement is one of `DOT_PRODUCTS`."""
    return isinstance(stmt, Invoke) and stmt.intrinsic in DOT_PRODUCTS.values()


def behaviour(invoke: Invoke) -> Stmt:
    """What an intrinsic does to its operands, as loops and stores."""
    regions = {
        parameter.name: region
        for parameter, region in zip(parameters(invoke.intrinsic), invoke.operands, strict=True)
    }

    def moved(parameter: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        region = regions[parameter.name]
        kept = kept_axes(region.shape, parameter.shape)
        assert kept is not None, "the verifier has seen that the shapes fit"
        at = [*region.lower]
        for axis, along in zip(kept, indices, strict=True):
            at[axis] = at[axis] + along
        return region.buffer, tuple(at)

    return map_accesses_in(invoke.intrinsic.body, regions.keys(), moved)


def is_dense(region: Region, shape: tuple[int, ...]) -> bool:
    """Whether neighbours along the last axis of a parameter of this shape are neighbours in
    memory."""
    kept = kept_axes(region.shape, shape)
    return kept is not None and region.buffer.strides[kept[-1]] == 1


def is_aligned(region: Region, elements: int) -> bool:
    """Whether an operand provably begins at a multiple of so many elements in memory."""
    for lower, stride in zip(region.lower, region.buffer.strides, strict=True):
        found = linear(lower)
        factors = (found.constant, *(factor for _, factor in found.terms))
        if any(factor * stride % elements for factor in factors):
            return False
    return True
