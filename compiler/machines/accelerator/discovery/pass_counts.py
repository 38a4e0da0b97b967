"""The cycles that the ALU's passes take in a network, by what they are for; and a bound of what
operations could save of those that no candidate is made of.

An operation has two operands, one of which its result replaces. So each pass of a reduction takes
one term, whatever it computes: at most the passes of initial values, and one for each result that
another pass follows, can be saved. Passes that share an operand have destinations of their own,
and an instruction has one. Of a copy that a pass follows, one of the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from typing import TypeAlias

from tandem.compiler.graph.nodes import Call, Function, FunctionKind
from tandem.compiler.graph.passes import transform
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.lower.lowering import lower
from tandem.compiler.machines.accelerator.backend import StreamBackend
from tandem.compiler.machines.accelerator.discovery.loop_passes import (
    LoopPass,
    PassKind,
    loop_passes,
)
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.elementwise import ElementwiseOnAlu
from tandem.compiler.plan.target import Target

Passes: TypeAlias = tuple[LoopPass, ...]


@dataclass(frozen=True, slots=True)
class PassCounts:
    """Cycles of the ALU's passes in a run.

    Attributes
    ----------
    numbers
        Passes with numbers over sums: requantisation.
    residuals
        Sums with a residual, and passes over it before.
    elementwise
        Passes over images, which were no sums.
    terms, starts
        Terms of maxima and sums over windows, and initial values.
    copies
        Copies, and passes over them.
    results
        Vectors of what is reduced, where other passes follow; no passes, and not in `total`.
    """

    numbers: int = 0
    residuals: int = 0
    elementwise: int = 0
    terms: int = 0
    starts: int = 0
    copies: int = 0
    results: int = 0

    def __add__(self, other: PassCounts) -> PassCounts:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return PassCounts(*(one + another for one, another in pairs))

    @property
    def total(self) -> int:
        """The cycles in which the ALU issues."""
        return self.numbers + self.residuals + self.elementwise + self.windows + self.copies

    @property
    def windows(self) -> int:
        """The cycles of reductions."""
        return self.terms + self.starts

    @property
    def saved_of_windows(self) -> int:
        """The most cycles that operations could save of reductions."""
        return self.starts + self.results

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why reductions and copies are no candidates; nothing of what the network has not."""
        found = []
        if self.windows:
            found.append(
                f"counts: reductions take {self.windows:,} cycles, {self.terms:,} of them a term "
                f"each: no more than {self.saved_of_windows:,} can be saved"
            )
        if self.copies:
            found.append(
                f"counts: copies and passes over them take {self.copies:,} cycles: no more than "
                f"{self.copies // 2:,} can be saved"
            )
        return tuple(found)


def network_counts(function: Function, target: Target[AcceleratorTarget]) -> PassCounts:
    """The cycles of the passes of a simplified network.

    Raises
    ------
    CompilerError
        As `build`.
    """
    ports, found = target.machine.config.acc_read_ports, PassCounts()
    for template, passes in _programs(function, target):
        own = counted(passes, ports)
        if template == ElementwiseOnAlu.name:
            own = replace(own, numbers=0, residuals=0, elementwise=own.numbers + own.residuals)
        found += own
    return found


def _programs(
    function: Function, target: Target[AcceleratorTarget]
) -> Iterator[tuple[str, Passes]]:
    """The template of each layer, and the passes in its program before elaboration."""
    backend, machine = StreamBackend(target), target.machine
    function = transform(function, backend.passes())
    # Equal layers share a program, which is kept so that no other has its identity.
    known: dict[int, tuple[PrimFunc, Passes]] = {}
    for one in (function, *function.definitions):
        for let in all_lets(one.body):
            match let.value:
                case Call(callee=Function(kind=FunctionKind.STREAM) as stream):
                    for call in backend.planned_stream(stream).calls:
                        program = backend.planner.schedule(call.plan).program
                        if id(program) not in known:
                            lowered = lower(program, target.passes)
                            known[id(program)] = program, loop_passes(lowered, machine)
                        yield call.plan.template.name, known[id(program)][1]


def counted(passes: Sequence[LoopPass], ports: int) -> PassCounts:
    """The cycles of a program's passes.

    Parameters
    ----------
    ports
        Read ports of ACC: with one, a pass with two operands from there takes two cycles a vector.
    """
    added = {one.source for one in passes if one.kind is PassKind.ELEMENT}
    copied = {one.target for one in passes if one.kind is PassKind.COPY}
    reduced = {one.target for one in passes if one.kind is PassKind.TERM}
    found = PassCounts()
    followed = dict[str, int]()
    for one in passes:
        cycles = one.vectors * (1 + (ports == 1 and one.source is not None))
        if one.target in copied:
            found += PassCounts(copies=cycles)
        elif one.kind is PassKind.TERM:
            found += PassCounts(terms=cycles)
        elif one.kind is PassKind.START:
            found += PassCounts(starts=cycles)
        elif one.kind is PassKind.ELEMENT or one.target in added:
            found += PassCounts(residuals=cycles)
        else:
            found += PassCounts(numbers=cycles)
            if one.target in reduced:
                followed[one.target] = max(one.vectors, followed.get(one.target, 0))
    return found + PassCounts(results=sum(followed.values()))
