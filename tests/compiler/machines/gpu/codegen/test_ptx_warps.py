"""Products of a warp: what its 32 lanes load and multiply, against NumPy's products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32, INT8, INT32, UINT8, DType
from tandem.compiler.ir.expr import Const, Expr, Load, Var
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import Alloc, For, Invoke, LoopKind, Region, Seq, Stmt, Store
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.gpu.codegen.ptx import TRIPLE
from tandem.compiler.machines.gpu.codegen.ptx_module import llvm_text
from tandem.compiler.machines.gpu.launch import (
    SHARED,
    THREAD,
    WAIT,
    GpuProgram,
    Grid,
    launch_of,
)
from tandem.compiler.machines.gpu.warps import WARP_PRODUCTS
from tests.support.compiler.machines.gpu.kernels_on_host import run_on_host

ROW, COLUMN = THREAD // 4, THREAD % 4
NAMES = {
    (INT8, INT8): "m16n8k32.row.col.s8",
    (UINT8, UINT8): "m16n8k32.row.col.u8",
    (INT8, UINT8): "m16n8k32.row.col.s8.u8",
    (UINT8, INT8): "m16n8k32.row.col.u8.s8",
    (FLOAT16, FLOAT16): "m16n8k16.row.col.f32.f32",
}


def loop(name: str, extent: int, body: Any, kind: LoopKind = LoopKind.SERIAL) -> For:
    """A loop whose body is made of its variable."""
    var = Var(name)
    return For(var, index(extent), kind, body(var))


def copied(source: Buffer, near: Buffer, elements: int) -> Stmt:
    """Each thread copies its part of a matrix to shared memory, which has the same order."""
    parts, rows, terms = near.shape

    def element(k: Var) -> Stmt:
        at = THREAD * elements + k
        indices: tuple[Expr, ...] = (at // (rows * terms), at // terms % rows, at % terms)
        return Store(near, indices, Load(source, indices))

    assert parts * rows * terms == 32 * elements
    return loop(f"copy_{near.name}", elements, element)


def program(left: DType, right: DType, steps: int = 1, shift: int = 0) -> GpuProgram:
    """16 x 8 sums by a warp, of which each thread has two neighbouring rows and columns; they are
    added to what is there. `shift` moves the terms of the left operand in shared memory."""
    intrinsic = WARP_PRODUCTS[left, right]
    (terms,) = intrinsic.inputs[1].shape[2:]
    kind = intrinsic.inputs[0].dtype
    a, b = Buffer("a", (2, 16, terms), left), Buffer("b", (2, 8, terms), right)
    out = Buffer("out", (16, 8), kind)
    near_a = Buffer("near_a", (2, 16, terms), left, SHARED)
    near_b = Buffer("near_b", (2, 8, terms), right, SHARED)
    sums = Buffer("sums", (2, 2), kind, Scope.LOCAL)
    invoke = Invoke(
        intrinsic,
        (
            Region(sums, (index(0), index(0)), (2, 2)),
            Region(near_a, (index(0), ROW * 2, index(shift)), (2, 2, terms)),
            Region(near_b, (index(0), COLUMN * 2, index(0)), (2, 2, terms)),
        ),
    )

    def for_sums(body: Any) -> Stmt:
        def row(i: Var) -> Stmt:
            return loop("j", 2, lambda j: body(i, j), LoopKind.UNROLLED)

        return loop("i", 2, row, LoopKind.UNROLLED)

    start = Const(3.0 if kind == FLOAT32 else 3, kind)
    work = Seq(
        (
            copied(a, near_a, terms),
            copied(b, near_b, terms // 2),
            WAIT,
            for_sums(lambda i, j: Store(sums, (i, j), start)),
            *[invoke] * steps,
            for_sums(lambda i, j: Store(out, (ROW * 2 + i, COLUMN * 2 + j), Load(sums, (i, j)))),
        )
    )
    grid = Grid(1, 32, (near_a, near_b), Alloc(sums, work))
    return GpuProgram("f", (a, b), (out,), (), (launch_of("f", (a, b), (out,), grid),))


def operands(left: DType, right: DType) -> list[NDArray[Any]]:
    draw = np.random.default_rng(1)
    found = []
    for dtype, rows in ((left, 16), (right, 8)):
        low, high = (dtype.low, dtype.high + 1) if dtype.is_integer else (-8, 9)
        shape = 2, rows, 16 // dtype.numpy.itemsize
        found.append(draw.integers(low, high, shape).astype(dtype.numpy))
    return found


@pytest.mark.parametrize(("left", "right"), NAMES, ids=str)
def test_products(left: DType, right: DType) -> None:
    """Twice the same, which the sums of the first are passed to."""
    a, b = operands(left, right)
    (found,), _ = run_on_host(program(left, right, steps=2), [a, b])
    wide = [each.astype(np.float64) for each in (a, b)]
    wanted = 2 * np.einsum("hit,hjt->ij", *wide) + 3
    assert found.tolist() == wanted.tolist()
    assert found.dtype == (np.float32 if left == FLOAT16 else np.int32)


@pytest.mark.parametrize(("left", "right"), NAMES, ids=str)
def test_instructions(left: DType, right: DType) -> None:
    text = llvm_text(program(left, right), CpuTarget(TRIPLE, "sm_80", ()))
    calls = [line for line in text.splitlines() if " call " in line and "convergent" in line]
    loads = [f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{many}.b16.p3" for many in (4, 2)]
    names = [*loads, f"llvm.nvvm.mma.{NAMES[left, right]}"]
    assert len(calls) == 3
    for call, name in zip(calls, names, strict=True):
        assert f'@"{name}"(' in call
    assert text.count("bitcast i32") == (6 if left == FLOAT16 else 0)
    # Four sums, that are read and written.
    kind = "float" if left == FLOAT16 else "i32"
    assert f"{{{kind}, {kind}, {kind}, {kind}}} @" in calls[2]
    assert text.count("extractvalue") == 4 + 2 + 4


def refused(number: int, moved: Region) -> str:
    """What is said of a left (1) or right (2) operand elsewhere."""
    sums = Buffer("sums", (2, 2), INT32, Scope.LOCAL)
    buffers = [Buffer(name, (2, 16, 16), INT8, SHARED) for name in ("a", "b")]
    regions = [Region(sums, (index(0), index(0)), (2, 2))]
    regions += [Region(each, (index(0),) * 3, (2, 2, 16)) for each in buffers]
    regions[number] = moved
    invoke = Invoke(WARP_PRODUCTS[INT8, INT8], tuple(regions))
    shared = tuple(each.buffer for each in regions[1:])
    launch = launch_of("f", (), (), Grid(1, 32, shared, Alloc(sums, invoke)))
    with pytest.raises(CodegenError) as caught:
        llvm_text(GpuProgram("f", (), (), (), (launch,)), CpuTarget(TRIPLE, "sm_80", ()))
    return str(caught.value)


@pytest.mark.parametrize("number", [1, 2])
def test_terms_are_neighbours_at_multiples_of_their_size(number: int) -> None:
    zero = index(0)
    apart = Region(Buffer("apart", (2, 2, 16, 4), INT8, SHARED), (zero,) * 4, (2, 2, 16, 1))
    assert "mma_int8_int8: terms of apart are no neighbours" in refused(number, apart)
    longer = Buffer("longer", (2, 2, 24), INT8, SHARED)
    said = refused(number, Region(longer, (zero, zero, index(8)), (2, 2, 16)))
    assert "mma_int8_int8: terms of longer do not begin at a multiple of" in said
