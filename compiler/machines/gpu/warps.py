"""Products of matrices that the threads of a warp compute together: NVIDIA's mma, as what one lane
adds to the sums that it holds.

    C[i, j] = C[i, j] + A[h, i, t] * B[h, j, t]       for i, j, h in 2, for t in 16 bytes of terms

A warp has 8 x 4 lanes. Lane 4 r + c has the rows i that it shares with the other lanes of r, and
the columns j that it shares with those of c: together they multiply 16 rows by 8 columns, of 32
bytes of terms, and each holds 2 x 2 sums. That is where PTX has the sums of `mma.m16n8k32` (of
bytes) and `mma.m16n8k16` (of float16), when the instruction's row r + 8 i is the row i of the lanes
of r, and its column 2 c + j the column j of those of c. In memory rows and columns lie anywhere.

Here terms are added one by one. The instruction wraps integers, which is the same; of floats it
does not say in which order it adds, nor how it rounds.
"""

from __future__ import annotations

from itertools import product
from typing import Final

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32, INT8, INT32, UINT8, DType
from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.ops import index, load
from tandem.compiler.ir.stmt import For, Invoke, LoopKind, PrimFunc, Stmt, Store
from tandem.compiler.machines.gpu.launch import SHARED, THREAD
from tandem.compiler.operators.stored_floats import cast

WARP: Final = 32
"""Threads that run together."""
LANE_ROWS: Final = 8
"""Lanes of a warp that have rows of their own."""
LANE_COLUMNS: Final = 4
"""Lanes of a warp that have columns of their own; their numbers follow each other."""
OWN: Final = 2
"""Rows, columns and parts of the terms of a lane."""
PART_BYTES: Final = 16
"""Bytes of terms that are neighbours in memory."""


def _product(left: DType, right: DType) -> PrimFunc:
    name = f"mma_{left}_{right}"
    terms = PART_BYTES // left.numpy.itemsize
    kind = INT32 if left.is_integer else FLOAT32
    c = Buffer("C", (OWN, OWN), kind, Scope.LOCAL)
    a = Buffer("A", (OWN, OWN, terms), left, SHARED)
    b = Buffer("B", (OWN, OWN, terms), right, SHARED)
    i, j, h, t = (Var(f"{name}.{each}") for each in "ijht")
    term = cast(load(a, h, i, t), kind) * cast(load(b, h, j, t), kind)
    body: Stmt = Store(c, (i, j), load(c, i, j) + term)
    for var, extent in ((t, terms), (h, OWN), (j, OWN), (i, OWN)):
        body = For(var, index(extent), LoopKind.SERIAL, body)
    return PrimFunc(name, (c, a, b), (c,), body)


WARP_PRODUCTS: Final = {
    factors: _product(*factors)
    for factors in (*product((INT8, UINT8), (INT8, UINT8)), (FLOAT16, FLOAT16))
}
"""The intrinsics, by the types of their factors."""


def terms_of(intrinsic: PrimFunc) -> int:
    """The terms that one of `WARP_PRODUCTS` sums up."""
    _, a, _ = intrinsic.inputs
    return OWN * a.shape[-1]


def is_warp_product(stmt: Stmt) -> bool:
    """Whether a statement is one of `WARP_PRODUCTS`."""
    return isinstance(stmt, Invoke) and stmt.intrinsic in WARP_PRODUCTS.values()


FIRST = THREAD // WARP * WARP
"""The first thread of a thread's warp."""
KNOWN: Final = "barriers, dot products and products of a warp"
"""The intrinsics that launches have."""
