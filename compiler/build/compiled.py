"""Kernels for a CPU, compiled once for all artifacts that have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.build.kernels import CpuKernel, cpu_kernel
from compiler.codegen import CpuTarget, emit_object
from compiler.graph.nodes import Function
from compiler.operators.cpu.simd import Simd
from runtime.native import ObjectCode

__all__ = ["Compiled", "CompiledKernels"]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel, scheduled, and its code."""

    plan: CpuKernel
    code: ObjectCode


@dataclass(frozen=True, slots=True)
class CompiledKernels:
    """What was compiled before is not compiled again.

    The artifact of a network for an accelerator, and its fallback for the CPU alone, share all that
    the accelerator never does.
    """

    _known: dict[tuple[CpuTarget, str, bool], Compiled] = field(default_factory=dict, repr=False)

    def of(
        self, kernel: Function, target: CpuTarget, *, pack: bool, tell: Callable[[str], None]
    ) -> Compiled:
        """The kernel's code.

        Parameters
        ----------
        pack
            As in `cpu_kernel`.
        tell
            Is told if there is something to compile.

        Raises
        ------
        CodegenError
            If the target cannot do what the kernel needs.
        """
        key = (target, kernel.digest, pack)
        if key not in self._known:
            tell(f"compiling {kernel.name}")
            plan = cpu_kernel(kernel, Simd.of(target.features), pack=pack)
            self._known[key] = Compiled(plan, emit_object(plan.program, target))
        return self._known[key]
