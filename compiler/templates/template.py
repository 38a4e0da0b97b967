"""Schedule templates: an operator on a machine, from the pattern in the graph to its schedule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from compiler.graph.constant import Constant
from compiler.graph.nodes import Call, Function, Var
from compiler.graph.types import TensorType
from compiler.te import Schedule
from compiler.te.knobs import Choice
from compiler.templates.pattern import Apply, Match
from compiler.templates.space import Bools, Choices, Space

__all__ = ["Arguments", "KernelMatch", "ScheduleTemplate"]

M = TypeVar("M")
"""A machine, as its templates see it."""
W = TypeVar("W", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a layer gives to the program that it shares with equal ones.

    Attributes
    ----------
    tensors
        Weights and numbers for each channel, by the program's inputs.
    immediates
        Numbers that lie in instructions, likewise.
    """

    tensors: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    immediates: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KernelMatch:
    """A call of a kernel that is an instance of a template's pattern.

    Attributes
    ----------
    match
        In the kernel's body; parameters that are given constants are bound to these.
    """

    call: Call
    match: Match

    @property
    def kernel(self) -> Function:
        """What is called."""
        assert isinstance(self.call.callee, Function), "a kernel"
        return self.call.callee

    def type_of(self, operand: str) -> TensorType:
        """Of an operand as the kernel takes it, packed where it is."""
        bound = self.match.operands[operand]
        if isinstance(bound, Constant):
            return bound.type
        (found,) = (each.type for each in self.kernel.params if each.name == bound.name)
        assert isinstance(found, TensorType), "verified"
        return found

    def shape(self, operand: str) -> tuple[int, ...]:
        """Of such an operand."""
        return self.type_of(operand).static_shape(operand)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Of the result, before it is packed."""
        type_ = self.match.lets[-1].type
        assert isinstance(type_, TensorType), "kernels know the types of their values"
        return type_.static_shape(self.match.name)

    @property
    def tensors(self) -> dict[str, str]:
        """The values that the call gives for computed operands, by the pattern's names."""
        pairs = zip(self.kernel.params, self.call.args, strict=True)
        given = {param.name: arg.name for param, arg in pairs if isinstance(arg, Var)}
        return {each: given[self.match.variable(each)] for each in self.match.computed}


class ScheduleTemplate(ABC, Generic[W, M]):
    """How a machine does an operator. A frozen value without state.

    Attributes
    ----------
    patterns
        The operators of the graph that it implements; the first that matches counts.
    """

    name: ClassVar[str]
    patterns: ClassVar[tuple[Apply, ...]]

    @abstractmethod
    def bind(self, found: KernelMatch, machine: M) -> tuple[W, Arguments]:
        """What has to be scheduled, and what this layer gives to the program that comes of it.

        A workload is shapes, types, strides and the structure of what follows, but no name and no
        number that may differ between layers. Equal workloads share a choice and a schedule.

        Raises
        ------
        Unsupported
            What the machine cannot do, and the limit that it hits.
        """

    @abstractmethod
    def space(self, workload: W, machine: M) -> Space:
        """The knobs, and what they may be set to."""

    @abstractmethod
    def fits(self, workload: W, choices: Choices, machine: M) -> Bools:
        """Which choices can be scheduled, and what they keep on chip placed: exactly those that
        lowering accepts, without lowering any."""

    @abstractmethod
    def schedule(self, workload: W, choice: Choice, machine: M) -> Schedule:
        """The schedule with these settings.

        Raises
        ------
        ScheduleError
            A setting that no primitive takes: `fits` says so before.
        """

    def no_fit_reason(self, workload: W, choices: Choices, machine: M) -> str:
        """Why none of the choices fits."""
        return f"no choice for {self.name} fits"
