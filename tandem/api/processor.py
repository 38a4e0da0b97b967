"""Processors to compile for, without an accelerator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tandem.workbench.arguments import at_least, expect, texts, value_errors

if TYPE_CHECKING:
    from tandem.compiler.machines.cpu.codegen import CpuTarget


@dataclass(frozen=True, slots=True)
class Cpu:
    """A processor, as the only device that a network is compiled for.

    >>> tandem.Cpu()                                          # this one
    >>> tandem.Cpu("cortex-a72")                              # one by its name
    >>> tandem.Cpu("aarch64-linux-gnu", cpu="neoverse-n1", features=["dotprod"])

    Parameters
    ----------
    processor
        None for this processor; the name of one, such as `cortex-a72` (`tandem export --help` has
        them all), or LLVM's triple of another.
    cpu, features
        With a triple: LLVM's names of the processor, and of its instruction sets.
    threads
        The threads that schedules are chosen for; None for all cores of this processor, and for
        one of another. A run may have others.
    fpu
        Whether code may use instructions for floats. A Cortex-M4 is made without them, too:
        functions of the C compiler compute floats there.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        `threads` is no whole number above 0; no such processor: says which there are; one that
        always has an FPU.
    """

    processor: str | None = None
    cpu: str = ""
    features: Sequence[str] = ()
    threads: int | None = None
    fpu: bool = True

    def __post_init__(self) -> None:
        if self.threads is not None:
            at_least("threads", self.threads, 1)
        object.__setattr__(self, "features", texts("features", self.features))
        if self.processor is not None and not isinstance(self.processor, str):
            expect("processor", self.processor, "None, a name or a triple")
        if not isinstance(self.cpu, str):
            expect("cpu", self.cpu, "LLVM's name of a processor")
        if self.processor is None and (self.cpu or self.features):
            expect("processor", None, "a triple, with cpu and features of it")
        if self.processor is None and not self.fpu:
            expect("processor", None, "one that is made without an FPU")
        self.other()

    def other(self) -> CpuTarget | None:
        """The compiler's processor; None for this one."""
        if self.processor is None:
            return None
        # Imported here: sessions run artifacts without the compiler.
        from tandem.compiler.errors import CodegenError
        from tandem.compiler.machines.cpu.processors import named_processor, processor_of

        with value_errors(CodegenError):
            if "-" in self.processor and self.processor.count("-") > 1:
                found = processor_of(self.processor, self.cpu, tuple(self.features), self.threads)
                return found if self.fpu else found.without_fpu()
            return named_processor(self.processor, self.threads, fpu=self.fpu)

    def __repr__(self) -> str:
        parts = [] if self.processor is None else [repr(self.processor)]
        parts += [f"cpu={self.cpu!r}"] * bool(self.cpu)
        parts += [f"features={list(self.features)}"] * bool(self.features)
        parts += [f"threads={self.threads}"] if self.threads is not None else []
        parts += ["fpu=False"] * (not self.fpu)
        return f"Cpu({', '.join(parts)})"
