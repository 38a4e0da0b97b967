"""A target: everything that the compiler needs of a machine, as a value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from compiler.graph.nodes import Let
from compiler.graph.passes.pipeline import Pass as GraphPass
from compiler.graph.types import Type
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import DType
from compiler.lower.lowering import Pass
from compiler.requantisation import RequantSpec
from compiler.targets.parts import ArtifactParts, Invocation, Progress
from compiler.te.knobs import Setting
from compiler.templates.pattern import Apply, Match
from compiler.templates.schedule_template import ScheduleTemplate
from compiler.templates.space import Choices, Floats
from runtime.artifact import Step

__all__ = ["Backend", "CostModel", "LayoutRewrite", "Layouts", "Memory", "Target", "TemplateCosts"]

M = TypeVar("M", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a machine.

    Attributes
    ----------
    element, dtype
        Shape and type of the values at one address.
    capacity
        Number of elements; None if unlimited.
    written_by, read_by
        Units of the machine that access the memory.
    """

    scope: Scope
    element: tuple[int, ...]
    dtype: DType
    capacity: int | None = None
    written_by: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()


class CostModel(ABC):
    """Estimates the costs of choices on a machine. A frozen value."""

    @abstractmethod
    def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
        """The cost of each choice, the lowest being best; in cycles if the model estimates them."""

    def shortlist(self, template: Any, workload: Any, choices: Choices) -> Choices:
        """The choices that are passed to `costs`; of equal costs the first is chosen."""
        return choices


@dataclass(frozen=True, slots=True)
class TemplateCosts(CostModel):
    """The costs that templates estimate themselves, given `machine`."""

    machine: Any

    def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
        found: Floats = template.estimate(workload, choices, self.machine)
        return found

    def shortlist(self, template: Any, workload: Any, choices: Choices) -> Choices:
        found: Choices = template.shortlist(workload, choices, self.machine)
        return found


@dataclass(frozen=True, slots=True)
class LayoutRewrite:
    """Operators of a match, rewritten as a kernel between tensors in the target's layouts.

    Attributes
    ----------
    operands
        Bring operands into the target's layouts; run by the host.
    kernel
        Become the kernel.
    result
        Bring the result out of its layout; the last value has the match's name. Run by the host.
    """

    operands: tuple[Let, ...]
    kernel: tuple[Let, ...]
    result: tuple[Let, ...]


@dataclass(frozen=True, slots=True)
class Layouts:
    """The layouts of tensors between the kernels of a target: here those of the graph. A frozen
    value.

    Attributes
    ----------
    operators
        Operators that only convert tensors to these layouts and back.
    """

    operators: ClassVar[frozenset[str]] = frozenset()

    def rewrite(
        self,
        template: Any,
        match: Match,
        types: Mapping[str, Type],
        taken: set[str],
        *,
        from_host: bool,
    ) -> LayoutRewrite:
        """The match as a kernel between tensors in these layouts.

        Parameters
        ----------
        taken
            Names that are not free; those of new values are added.
        from_host
            Whether the first operand is computed by the host.
        """
        return LayoutRewrite((), match.lets, ())


class Backend(ABC):
    """Makes steps of artifacts for one target; reuses code that it has compiled before."""

    @abstractmethod
    def passes(self) -> tuple[GraphPass, ...]:
        """The passes that bring operators of a graph to the target."""

    def prepare(self, calls: Sequence[Invocation], progress: Progress) -> None:  # noqa: B027
        """May compile the code of these calls together; `step` compiles the rest."""

    @abstractmethod
    def step(self, call: Invocation, parts: ArtifactParts) -> Step:
        """The step for a call of a kernel or stream; adds its code and constants to `parts`."""


def _every_requantisation(_: RequantSpec) -> bool:
    """True: for machines that compute with 64 bits."""
    return True


@dataclass(frozen=True, slots=True)
class Target(Generic[M]):
    """A machine as a value, which the layers above use without knowing which machine it is.

    Attributes
    ----------
    name
        The `target` of its functions in graphs; empty for the host.
    machine
        The argument of templates and passes.
    templates
        Schedule templates; the first whose pattern matches is used.
    passes
        Lower a schedule's program to the form that the back end takes.
    settings
        Knobs that are restricted to some of their settings, in every template that has them.
    make_backend
        Makes a back end without any code so far.
    is_exact
        Whether the machine computes a requantisation exactly. Quantisation makes no other.
    """

    name: str
    machine: M
    memories: tuple[Memory, ...]
    templates: tuple[ScheduleTemplate[Any, M], ...]
    passes: tuple[Pass, ...]
    cost: CostModel
    make_backend: Callable[[Target[M]], Backend]
    layouts: Layouts = Layouts()
    settings: tuple[tuple[str, tuple[Setting, ...]], ...] = ()
    is_exact: Callable[[RequantSpec], bool] = _every_requantisation

    def patterns(self) -> Iterator[tuple[ScheduleTemplate[Any, M], Apply]]:
        """The patterns of all templates, in the order in which they are tried."""
        return ((template, pattern) for template in self.templates for pattern in template.patterns)
