"""Tensor intrinsics: operands into vectors, the instruction, the sums back."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from compiler.codegen import memory
from compiler.codegen.access import read, write
from compiler.codegen.dot import EMITTERS
from compiler.codegen.expressions import evaluate
from compiler.codegen.frame import Frame
from compiler.codegen.lanes import I32
from compiler.intrinsics.cpu import CPU_INTRINSICS
from compiler.ir.buffer import Buffer
from compiler.ir.operands import kept_axes, parameters
from compiler.ir.stmt import Invoke, Region

__all__ = ["emit_invoke"]


def emit_invoke(frame: Frame, stmt: Invoke) -> None:
    """Write the code of a tensor intrinsic.

    Its operands must be dense; refused if they are not, if the processor lacks the instruction, or
    inside a vectorized loop.
    """
    name = stmt.intrinsic.name
    known = CPU_INTRINSICS.get(name)
    if known is None or known.function != stmt.intrinsic:
        raise frame.error(f"{name} is no tensor intrinsic of a CPU: {', '.join(CPU_INTRINSICS)}")
    missing = sorted(known.features - frame.features)
    if missing:
        raise frame.error(f"{name} needs {', '.join(missing)}, which the target lacks")
    if frame.lanes is not None:
        raise frame.error(f"{name} is a vector of its own and cannot run in lanes")
    operands = {
        each.name: (region.buffer, _dense(frame, name, each, region))
        for each, region in zip(parameters(stmt.intrinsic), stmt.operands, strict=True)
    }
    (lanes,) = stmt.intrinsic.outputs[0].shape
    vector = ir.VectorType(I32, lanes)
    values = []
    for parameter, kind in (("C", vector), ("A", I32), ("B", vector)):
        buffer, pointer = operands[parameter]
        values.append(read(frame, buffer, kind, pointer))
    buffer, pointer = operands["C"]
    write(frame, buffer, EMITTERS[name](frame.builder, *values), pointer)


def _dense(frame: Frame, name: str, parameter: Buffer, region: Region) -> Any:
    """The pointer to an operand's first element."""
    axes = kept_axes(region.shape, parameter.shape)
    if axes is None or region.buffer.dtype != parameter.dtype:
        raise frame.error(
            f"{name}: {parameter.name} is {parameter.dtype} {parameter.shape}, "
            f"not {region.buffer.dtype} {region.shape} of {region.buffer.name}"
        )
    strides = tuple(region.buffer.strides[axis] for axis in axes)
    if strides != parameter.strides:
        raise frame.error(
            f"{name}: {parameter.name} lies in {region.buffer.name} with strides {strides}; "
            f"the instruction takes {parameter.strides}"
        )
    return memory.address(frame, region.buffer, region.lower, lambda expr: evaluate(frame, expr))
