"""Native code that is compiled once for each kernel, for as long as its owner lives."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen import CpuTarget, compile_function
from compiler.graph.evaluate import Array
from compiler.ir.printer import text
from compiler.operators.cpu.generic import cpu_schedule
from compiler.operators.cpu.simd import Simd
from compiler.te import Tensor
from compiler.te.build import program_of
from runtime.native import NativeFunction

__all__ = ["NativeRunner"]


class NativeRunner:
    """A `Runner`. Floats are added in an order that is quick."""

    def __init__(self, threads: int = 1) -> None:
        self._target = CpuTarget.host(threads=threads)
        self._compiled: dict[str, NativeFunction] = {}

    def __call__(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], arrays: Sequence[Array]
    ) -> Sequence[Array]:
        key = text(program_of(outputs, inputs))
        if key not in self._compiled:
            simd = Simd.of(self._target.features)
            schedule = cpu_schedule(*outputs, simd=simd, inputs=inputs, reassociate=True)
            self._compiled[key] = compile_function(schedule.program, self._target)
        return self._compiled[key](*arrays)
