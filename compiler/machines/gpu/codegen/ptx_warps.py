"""Products of matrices by the threads of a warp in PTX: `mma`, on registers of its 32 lanes, which
`ldmatrix` loads.

Which lane has which elements in its registers is PTX's ("Matrix Fragments for mma.m16n8k32"): lane
4 r + c of

- the left operand four bytes from 4 c on, of both parts of both of its own rows;
- the right operand four bytes from 4 c on, of both parts of the column r of eight, which is one of
  those of the lanes of r // 2;
- the sums those of its own rows and columns.

`ldmatrix` loads this for up to four matrices of eight rows of 16 bytes; the address of row l % 8 of
matrix l // 8 is that of lane l.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import FLOAT16, DType, Kind
from tandem.compiler.ir.expr import Expr, Load
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import Invoke, Region, kept_axes, parameters
from tandem.compiler.ir.visit import substitute
from tandem.compiler.machines.cpu.codegen import load_store
from tandem.compiler.machines.cpu.codegen.expressions import evaluate
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.llvm import I32, call_intrinsic, register_type
from tandem.compiler.machines.gpu.intrinsics import is_aligned, is_dense
from tandem.compiler.machines.gpu.launch import THREAD
from tandem.compiler.machines.gpu.warps import FIRST, LANE_COLUMNS, LANE_ROWS, OWN, PART_BYTES, WARP


def emit_warp_product(frame: Frame, invoke: Invoke) -> None:
    """Emit one of `WARP_PRODUCTS`. Raises `CodegenError` if the terms of a row are no neighbours in
    memory, or do not begin at a multiple of their size."""
    sums, left, right = invoke.operands
    c, a, b = parameters(invoke.intrinsic)
    _check_terms(frame, invoke, left, a)
    _check_terms(frame, invoke, right, b)
    value_of = partial(evaluate, frame)
    lane = THREAD % WARP
    row, matrix = lane % LANE_ROWS, lane // LANE_ROWS
    registers = [
        # The matrices of the left operand are its rows, for each part of terms.
        *_loaded(frame, 4, _row(left, a, FIRST + row * LANE_COLUMNS, matrix // OWN, matrix % OWN)),
        *_loaded(frame, 2, _row(right, b, FIRST + row // OWN, matrix % OWN, row % OWN)),
    ]
    if left.buffer.dtype == FLOAT16:
        registers = [frame.builder.bitcast(each, _TWO_HALVES) for each in registers]
    places = [_at(sums, c.shape, (index(i), index(j))) for i in range(OWN) for j in range(OWN)]
    registers += [value_of(Load(sums.buffer, each)) for each in places]
    kind = register_type(sums.buffer.dtype)
    found = _together(frame, _instruction(left, right), [kind] * len(places), registers)
    for place, total in zip(places, found, strict=True):
        load_store.store(frame, sums.buffer, place, total, value_of)


_TWO_HALVES = ir.VectorType(ir.HalfType(), 2)


def _together(frame: Frame, name: str, results: list[Any], arguments: list[Any]) -> list[Any]:
    """The registers, of these types, that an instruction of a warp gives."""
    found = call_intrinsic(frame.builder, name, ir.LiteralStructType(results), arguments)
    found.attributes.add("convergent")  # not to be moved to where only some threads come
    return [frame.builder.extract_value(found, number) for number in range(len(results))]


def _check_terms(frame: Frame, invoke: Invoke, region: Region, parameter: Buffer) -> None:
    if not is_dense(region, parameter.shape):
        raise frame.error(
            f"{invoke.intrinsic.name}: terms of {region.buffer.name} are no neighbours"
        )
    if not is_aligned(region, parameter.shape[-1]):
        raise frame.error(
            f"{invoke.intrinsic.name}: terms of {region.buffer.name} do not begin at a multiple of "
            f"{PART_BYTES} bytes"
        )


def _instruction(left: Region, right: Region) -> str:
    """LLVM's name of the instruction: of bytes with one type if the factors have the same, of
    floats with those of the sums."""
    if left.buffer.dtype == FLOAT16:
        return "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
    signs = dict.fromkeys(_sign(each.buffer.dtype) for each in (left, right))
    return f"llvm.nvvm.mma.m16n8k32.row.col.{'.'.join(signs)}"


def _sign(dtype: DType) -> str:
    return "s8" if dtype.kind is Kind.INT else "u8"


def _row(region: Region, parameter: Buffer, holder: Expr, part: Expr, own: Expr) -> Load:
    """The first element of a part of the terms of one of the two rows, or columns, of a thread."""
    moved = tuple(substitute(each, {THREAD.name: holder}) for each in region.lower)
    at = Region(region.buffer, moved, region.shape)
    return Load(region.buffer, _at(at, parameter.shape, (part, own, index(0))))


def _loaded(frame: Frame, matrices: int, row: Load) -> list[Any]:
    """What a lane has of matrices in registers, of which it gives the address of a row."""
    pointer = load_store.address(frame, row.buffer, row.indices, partial(evaluate, frame))
    name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{matrices}.b16.p3"
    return _together(frame, name, [I32] * matrices, [pointer])


def _at(region: Region, shape: tuple[int, ...], along: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The indices of an element of an operand, by its indices in the parameter."""
    kept = kept_axes(region.shape, shape)
    assert kept is not None, "the verifier has seen that the shapes fit"
    found = [*region.lower]
    for axis, number in zip(kept, along, strict=True):
        found[axis] = found[axis] + number
    return tuple(found)
