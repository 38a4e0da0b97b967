"""A `Runner` that compiles each kernel once to native code."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tandem.compiler.graph.evaluate import Array, Computation, Runner
from tandem.compiler.machines.cpu.codegen import CpuTarget, ThreadPool, compile_function
from tandem.compiler.machines.cpu.schedules.generic import cpu_schedule
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.runtime.native import NativeFunction


class NativeRunner(Runner):
    """Executes computations as native code of this machine.

    Parameters
    ----------
    threads
        The number of threads for compilation and execution; results do not depend on it.
    reassociate
        Whether floats may be added in a faster order than the operators define.
    without
        Features of this processor that code may not use.
    """

    def __init__(
        self, threads: int = 1, *, reassociate: bool = True, without: Sequence[str] = ()
    ) -> None:
        self._target = CpuTarget.host(threads=threads).without(*without)
        self._reassociate = reassociate
        self._pool = ThreadPool(threads)
        self._compiled: dict[Hashable, NativeFunction] = {}

    def prepare(self, computations: Iterable[Computation]) -> None:
        """Compiles, in parallel, computations that have not been compiled."""
        new = {each.key: each for each in computations if each.key not in self._compiled}
        if new:
            # LLVM runs without Python's global interpreter lock.
            with ThreadPoolExecutor(self._target.threads) as executor:
                found = executor.map(self._function, new.values())
                self._compiled.update(zip(new, found, strict=True))

    def __call__(self, computation: Computation, arrays: Sequence[Array]) -> Sequence[Array]:
        self.prepare([computation])
        # Native code takes contiguous, row-major arrays; those of files may be in Fortran's order.
        given = [np.require(array, requirements=["C", "A"]) for array in arrays]
        return self._compiled[computation.key](*given)

    def _function(self, computation: Computation) -> NativeFunction:
        outputs, inputs = computation.tensors()
        simd = Simd.of(self._target)
        schedule = cpu_schedule(*outputs, simd=simd, inputs=inputs, reassociate=self._reassociate)
        return compile_function(schedule.program, self._target, self._pool)


def exact_runner() -> NativeRunner:
    """A runner that adds floats in the order that the operators define."""
    return NativeRunner(reassociate=False)
