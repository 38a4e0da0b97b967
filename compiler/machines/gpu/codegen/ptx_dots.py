"""Dot products of bytes in PTX: `dp4a`, of two registers of four bytes."""

from __future__ import annotations

from functools import partial
from typing import Any

from tandem.compiler.ir.dtypes import DType, Kind
from tandem.compiler.ir.expr import Load
from tandem.compiler.ir.stmt import Invoke, Region
from tandem.compiler.machines.cpu.codegen import load_store
from tandem.compiler.machines.cpu.codegen.expressions import evaluate
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.llvm import I32, call_intrinsic
from tandem.compiler.machines.gpu.intrinsics import DOT_TERMS, is_aligned, is_dense


def emit_dot(frame: Frame, invoke: Invoke) -> None:
    """Emit one of `DOT_PRODUCTS`. Raises `CodegenError` if the bytes of a factor are no neighbours
    in memory."""
    sums, *factors = invoke.operands
    value_of = partial(evaluate, frame)
    signs = ".".join(_sign(each.buffer.dtype) for each in factors)
    a, b = (_register(frame, invoke, each) for each in factors)
    c = value_of(Load(sums.buffer, sums.lower))
    total = call_intrinsic(frame.builder, f"llvm.nvvm.idp4a.{signs}", I32, [a, b, c])
    load_store.store(frame, sums.buffer, sums.lower, total, value_of)


def _sign(dtype: DType) -> str:
    return "s" if dtype.kind is Kind.INT else "u"


def _register(frame: Frame, invoke: Invoke, region: Region) -> Any:
    """The bytes of a factor in one register."""
    if not is_dense(region, (DOT_TERMS,)):
        raise frame.error(
            f"{invoke.intrinsic.name}: bytes of {region.buffer.name} are no neighbours"
        )
    pointer = load_store.address(frame, region.buffer, region.lower, partial(evaluate, frame))
    align = DOT_TERMS if is_aligned(region, DOT_TERMS) else 1
    return frame.tag(frame.builder.load(pointer, typ=I32, align=align), region.buffer)
