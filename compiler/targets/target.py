"""A target: everything that the compiler asks of a machine, as a value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from compiler.graph.nodes import Let
from compiler.graph.passes.base import Pass as GraphPass
from compiler.graph.types import Type
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import DType
from compiler.lower.pipeline import Pass
from compiler.requantisation import RequantSpec
from compiler.targets.parts import Invocation, Parts, Report
from compiler.te.knobs import Setting
from compiler.templates.pattern import Match
from compiler.templates.space import Choices, Floats
from compiler.templates.template import ScheduleTemplate
from runtime.artifact import Step

__all__ = ["Backend", "CostModel", "Layouts", "Memory", "Rewritten", "Target"]

M = TypeVar("M", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a machine.

    Attributes
    ----------
    element, dtype
        What lies at one of its addresses: the shape and type of values.
    capacity
        Elements; None where nobody counts them.
    written_by, read_by
        The units of the machine that do.
    """

    scope: Scope
    element: tuple[int, ...]
    dtype: DType
    capacity: int | None = None
    written_by: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()


class CostModel(ABC):
    """What choices cost on a machine. A frozen value."""

    @abstractmethod
    def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
        """For each choice a number, of which the least is best; cycles where the model knows."""

    def candidates(self, template: Any, workload: Any, choices: Choices) -> Choices:
        """The choices that are worth asking `costs` about, in the order in which equal ones win."""
        return choices


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Operators of a match as a kernel between tensors in the target's layouts.

    Attributes
    ----------
    before
        Brings operands into the target's layouts.
    inside
        Becomes the kernel.
    after
        Brings the result out of its layout; the last value has the name that the match had.
    """

    before: tuple[Let, ...]
    inside: tuple[Let, ...]
    after: tuple[Let, ...]

    @property
    def outside(self) -> tuple[Let, ...]:
        """What the host does."""
        return (*self.before, *self.after)

    @property
    def lets(self) -> tuple[Let, ...]:
        """All, in order."""
        return (*self.before, *self.inside, *self.after)


@dataclass(frozen=True, slots=True)
class Layouts:
    """How tensors lie between the kernels of a target: here as they lie in the graph. A frozen
    value.

    Attributes
    ----------
    operators
        Those that only bring tensors into these layouts and out of them.
    """

    operators: ClassVar[frozenset[str]] = frozenset()

    def rewritten(
        self,
        template: Any,
        match: Match,
        types: Mapping[str, Type],
        taken: set[str],
        *,
        from_host: bool,
    ) -> Rewritten:
        """The match between tensors in these layouts.

        Parameters
        ----------
        taken
            Names that are not free.
        from_host
            Its first operand is not computed by the target.
        """
        return Rewritten((), match.lets, ())


class Backend(ABC):
    """Makes steps of artifacts for one target, and keeps what it has compiled for the next."""

    @abstractmethod
    def passes(self) -> tuple[GraphPass, ...]:
        """What brings operators of a graph to the target."""

    def prepare(self, calls: Sequence[Invocation], tell: Report) -> None:  # noqa: B027
        """May compile the code of these calls together; `step` compiles what is missing."""

    @abstractmethod
    def step(self, call: Invocation, parts: Parts) -> Step:
        """The step that a call of a kernel or stream becomes; its code and constants are added to
        `parts`."""


def _every_requantisation(_: RequantSpec) -> bool:
    """True: for machines that compute with 64 bits."""
    return True


@dataclass(frozen=True, slots=True)
class Target(Generic[M]):
    """A machine, as the compiler sees it. No layer above asks which one it has.

    Attributes
    ----------
    name
        As functions of graphs that are for it say it; empty for the host.
    machine
        What its templates and passes are given.
    templates
        How it does operators; the first whose pattern matches is asked.
    passes
        From a schedule's program to what its back end takes.
    settings
        Knobs that are held at some of their settings, in every template that has them.
    make_backend
        A back end of its own for whoever builds artifacts.
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
