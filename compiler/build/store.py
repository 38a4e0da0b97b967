"""The code and the constants of an artifact under way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from numpy.typing import NDArray

from compiler.build.accelerator.operator import Lowering
from compiler.build.accelerator.steps import stream_step
from compiler.build.compiled import CompiledKernels
from compiler.build.kernels import CpuKernel, weight_of
from compiler.build.program import Invocation, Operand
from compiler.codegen import CpuTarget, ObjectCode, compile_function
from compiler.graph.constant import Constant
from compiler.graph.nodes import Function, FunctionKind
from compiler.ir.stmt import Function as Program
from runtime.artifact import Constant as Held
from runtime.artifact import KernelCall, Step, StreamCode, Tensor
from runtime.memory import aligned_copy

__all__ = ["Report", "Store"]

Report: TypeAlias = Callable[[str], None]
"""Is told what is being done."""


@dataclass
class Store:
    """Code and constants so far: of equal ones one.

    Attributes
    ----------
    types
        Of the tensors that have names already.
    lowering
        For the accelerator, if there is one.
    compiled
        Kernels that other artifacts have as well.
    """

    target: CpuTarget
    types: Mapping[str, object]
    tell: Report
    lowering: Lowering | None = None
    compiled: CompiledKernels = field(default_factory=CompiledKernels)
    kernels: dict[str, ObjectCode] = field(default_factory=dict)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    streams: dict[str, StreamCode] = field(default_factory=dict)
    _plans: dict[tuple[str, bool], tuple[str, CpuKernel]] = field(default_factory=dict)
    _held: dict[tuple[str, str], str] = field(default_factory=dict)
    _packers: dict[Program, Callable[..., tuple[NDArray[Any], ...]]] = field(default_factory=dict)

    def step(self, call: Invocation) -> Step:
        """The call, its code compiled and its constants kept."""
        if call.kernel.kind is FunctionKind.STREAM and self.lowering is not None:
            self.tell(f"compiling {call.kernel.name}")
            step, self.streams[call.kernel.name] = stream_step(call, self.lowering)
            return step
        weight = weight_of(call.kernel)
        pack = weight is not None and isinstance(call.operands[weight], Constant)
        function, plan = self._plan(call.kernel, pack)
        return KernelCall(
            name=call.name,
            function=function,
            inputs=tuple(
                self.tensor_of(call.operands[number], plan.packing.get(number))
                for number in plan.operands
            ),
            outputs=call.outputs,
            operators=plan.operators,
            macs=plan.macs,
        )

    def tensor_of(self, operand: Operand, packing: Program | None = None) -> str:
        """The name of the tensor that holds an operand, packed if the code wants that."""
        if isinstance(operand, str):
            return operand
        key = (operand.digest, "" if packing is None else repr(packing))
        if key not in self._held:
            array = operand.array
            if packing is not None:
                (array,) = self._packer(packing)(array)
            self._held[key] = name = self._fresh(f"constant_{len(self._held)}")
            self.constants[name] = aligned_copy(array)
        return self._held[key]

    def held(self) -> tuple[Tensor, ...]:
        """The constants as tensors."""
        return tuple(
            Tensor(name, array.shape, array.dtype.name, Held())
            for name, array in self.constants.items()
        )

    def _plan(self, kernel: Function, pack: bool) -> tuple[str, CpuKernel]:
        key = (kernel.digest, pack)
        if key not in self._plans:
            name = kernel.name
            if name in self.kernels:  # its weights are known in one place and not in another
                name = f"{name}_{'packed' if pack else 'unpacked'}"
            made = self.compiled.of(kernel, self.target, pack=pack, tell=self.tell)
            self.kernels[name] = made.code
            self._plans[key] = name, made.plan
        return self._plans[key]

    def _packer(self, packing: Program) -> Callable[..., tuple[NDArray[Any], ...]]:
        if packing not in self._packers:
            self._packers[packing] = compile_function(packing, CpuTarget.host(threads=1))
        return self._packers[packing]

    def _fresh(self, name: str) -> str:
        while name in self.types:
            name = f"{name}_"
        return name
