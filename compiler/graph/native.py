"""Native code as a `Runner`: each operator compiled for this machine, when it is needed."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen import CpuTarget, compile_function
from compiler.graph.evaluate import Array
from compiler.operators.cpu.generic import cpu_schedule
from compiler.operators.cpu.simd import Simd
from compiler.te import Tensor

__all__ = ["run_native"]


def run_native(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], arrays: Sequence[Array]
) -> Sequence[Array]:
    """As `evaluate.interpret`, in milliseconds of compilation and then at full speed.

    Floats are added in the order that the operators say.
    """
    target = CpuTarget.host(threads=1)
    schedule = cpu_schedule(*outputs, simd=Simd.of(target.features), inputs=inputs)
    return compile_function(schedule.program, target)(*arrays)
