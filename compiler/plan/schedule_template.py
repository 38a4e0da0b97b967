"""The base class of schedule templates, and its arguments and matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call, Function, Let, Var
from tandem.compiler.graph.types import TensorType
from tandem.compiler.layouts.layout import Layout
from tandem.compiler.plan.pattern import Apply, Match
from tandem.compiler.plan.space import Bools, Choices, Space
from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.compiler.te import Schedule
from tandem.compiler.te.knobs import Choice

Shapes: TypeAlias = Callable[[str], tuple[int, ...]]
"""A function from the name of a value to its shape."""
RESULT = "out"
"""The name of a match's result, beside the names of its operands."""
M = TypeVar("M")
"""The type of a machine's description."""
W = TypeVar("W", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Arguments:
    """A layer's arguments of its program, which layers of equal workload share.

    Attributes
    ----------
    tensors
        Weights and per-channel values, by the names of the program's inputs.
    immediates
        Instruction immediates, by the names of the program's inputs.
    forms
        For tensors that the machine stores in a form of its own, that form, by the same names.
    remark
        How the weights are stored, for readers; empty for weights that are int8 in the graph.
    """

    tensors: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    immediates: Mapping[str, int] = field(default_factory=dict)
    forms: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""


@dataclass(frozen=True, slots=True)
class KernelMatch:
    """A call of a kernel that matches a template's pattern.

    Attributes
    ----------
    match
        The match in the kernel's body, with the call's constants in place of parameters.
    """

    call: Call
    match: Match

    @property
    def kernel(self) -> Function:
        """The kernel that is called."""
        assert isinstance(self.call.callee, Function), "a kernel"
        return self.call.callee

    def type_of(self, operand: str) -> TensorType:
        """The type of an operand as it is stored."""
        bound = self.match.operands[operand]
        if isinstance(bound, Constant):
            return bound.type
        (found,) = (param.type for param in self.kernel.params if param.name == bound.name)
        assert isinstance(found, TensorType), "verified"
        return found.stored

    def shape(self, operand: str) -> tuple[int, ...]:
        """The shape of an operand as it is stored."""
        return self.type_of(operand).static_shape(operand)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        type_ = self.match.lets[-1].type
        assert isinstance(type_, TensorType), "kernels know the types of their values"
        return type_.static_shape(self.match.name)

    @property
    def tensors(self) -> dict[str, str]:
        """The call's arguments for computed operands, by the operands' names in the pattern."""
        pairs = zip(self.kernel.params, self.call.args, strict=True)
        given = {param.name: arg.name for param, arg in pairs if isinstance(arg, Var)}
        return {each: given[self.match.variable(each)] for each in self.match.computed}


@dataclass(frozen=True, slots=True)
class HostPacking:
    """The first operand in another form, which the host makes.

    Attributes
    ----------
    suffix
        Suffix of the new tensor's name, after the operand's name.
    operator, attributes
        The operator that makes it from the operand.
    replaced
        Operators of the match in another form, under their names: the one that reads the operand,
        applied to the new tensor under the operand's name, and what that reads.
    """

    suffix: str
    operator: str
    attributes: Attributes
    replaced: tuple[Let, ...]


class ScheduleTemplate(ABC, Generic[W, M]):
    """A stateless template of an operator on a machine: patterns, workload, knobs, schedule.

    Attributes
    ----------
    patterns
        Operator patterns that the template implements; the first matching pattern is used.
    joins
        Whether other templates do its operators, too, one after the other, so that it is used only
        where the cost model finds it clearly better.
    is_fallback
        Whether it is for what no other template takes, and matched after them.
    only_recorded
        Whether it takes only what records have a choice for.
    """

    name: ClassVar[str]
    patterns: ClassVar[tuple[Apply, ...]]
    joins: ClassVar[bool] = False
    is_fallback: ClassVar[bool] = False
    only_recorded: bool = False

    @abstractmethod
    def bind(self, found: KernelMatch, machine: M) -> tuple[W, Arguments]:
        """The workload of a match, and the layer's arguments for the workload's program.

        A workload consists of shapes, types, strides and the following sequence of passes, without
        names and without values that may differ between layers. Equal workloads share a choice and
        a schedule.

        Raises
        ------
        Refusal
            The machine cannot run the operators; the message says which limit is exceeded.
        """

    @abstractmethod
    def space(self, workload: W, machine: M) -> Space:
        """The knobs with their settings."""

    def wide_space(self, workload: W, machine: M) -> Space | None:
        """A larger space with other knobs; None if there is none. `fits`, `schedule` and estimates
        take choices of both spaces, and `wide_choice` searches this one."""
        return None

    def wide_choice(self, workload: W, choice: Choice, cost: Any) -> Choice | None:
        """The best choice of the wide space by estimate, if that is better than a choice of the
        base space; None by default, and if it is not."""
        return None

    @abstractmethod
    def fits(self, workload: W, choices: Choices, machine: M) -> Bools:
        """A mask of the choices that can be scheduled and fit on chip: exactly the choices that
        lowering accepts, computed without lowering."""

    @abstractmethod
    def schedule(self, workload: W, choice: Choice, machine: M) -> Schedule:
        """The schedule of a choice.

        Raises
        ------
        ScheduleError
            A primitive refuses a setting of a choice for which `fits` is false.
        """

    def stored(self, workload: W, machine: M) -> Mapping[str, Any]:
        """The forms in which the machine stores tensors of the program, by name, without a layer's
        numbers: programs take the same time with them (`Arguments.forms`)."""
        return {}

    def layout(self, match: Match, name: str, shapes: Shapes, machine: M) -> Layout | None:
        """How the machine takes an operand, by its name in the pattern, or leaves the result,
        `RESULT`; None for row-major, by default."""
        return None

    def repacked(self, match: Match, shapes: Shapes, machine: M) -> tuple[HostPacking, ...]:
        """Better forms of the first operand for a tensor that the host computes, if any: the first
        is the usual one, others are for where the cost model finds them better."""
        return ()

    def recorded_choice(self, workload: W, machine: M, known: TunedChoices) -> Choice | None:
        """The choice that records have for a workload: by default that of the workload itself."""
        return known.choice(self, workload)

    def shortlist(self, workload: W, choices: Choices, cost: Any) -> Choices:
        """The choices to estimate; by default all."""
        return choices

    def no_fit_reason(self, workload: W, choices: Choices, machine: M) -> str:
        """The error message if no choice fits."""
        return f"no choice for {self.name} fits"
