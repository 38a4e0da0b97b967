"""Targets: what the compiler needs to know about a machine, as a value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from tandem.compiler.graph.evaluate import Interpreter, Runner
from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.passes.pipeline import GraphPass
from tandem.compiler.graph.types import Type
from tandem.compiler.lower.lowering import LoopPass
from tandem.compiler.plan.parts import ArtifactParts, Invocation, Progress
from tandem.compiler.plan.pattern import Apply
from tandem.compiler.plan.schedule_template import ScheduleTemplate
from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.compiler.requantisation import ANY_FACTORS, RequantSpec, ShortFactors
from tandem.compiler.te.knobs import Choice, Setting
from tandem.runtime.artifact import Code, Manifest, Step

M = TypeVar("M", bound=Hashable)


class CostModel(ABC):
    """A model that estimates the costs of choices on a machine. A frozen value."""

    @abstractmethod
    def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
        """The cost of each choice, lower is better; in cycles if the model estimates cycles."""

    def shortlist(self, template: Any, workload: Any, choices: Choices) -> Choices:
        """The choices to pass to `costs`; among choices of equal cost the first is taken."""
        return choices

    def wide_choice(self, template: Any, workload: Any, choice: Choice) -> Choice | None:
        """A choice of the template's wide space to take instead of a choice of its base space, if
        it is expected to cost less; None by default."""
        return None

    def bounds(self, template: Any, workload: Any, choices: Choices) -> Floats:
        """Costs that the choices cannot go below, in the unit that is measured; 0 if unknown."""
        return np.zeros(len(choices))

    def features(self, template: Any, workload: Any, choices: Choices) -> Floats:
        """Numbers that describe each choice to a learned model, [choices, features]; by default
        the settings of its knobs."""
        return np.stack([column.astype(np.float64) for column in choices.columns.values()], axis=1)


@dataclass(frozen=True, slots=True)
class TemplateCosts(CostModel):
    """A cost model that calls each template's own `estimate`, `shortlist` and `wide_choice` with
    `machine`."""

    machine: Any

    def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
        return template.estimate(workload, choices, self.machine)

    def shortlist(self, template: Any, workload: Any, choices: Choices) -> Choices:
        return template.shortlist(workload, choices, self.machine)

    def wide_choice(self, template: Any, workload: Any, choice: Choice) -> Choice | None:
        return template.wide_choice(workload, choice, self.machine)


class Backend(ABC):
    """Compiles calls of kernels or streams to artifact steps for one target; caches code."""

    @abstractmethod
    def passes(self) -> tuple[GraphPass, ...]:
        """The graph passes that form kernels or streams for the target."""

    def prepare(self, calls: Sequence[Invocation], progress: Progress) -> None:  # noqa: B027
        """Optionally compiles these calls in advance, together; `step` compiles all other calls."""

    @abstractmethod
    def step(self, call: Invocation, parts: ArtifactParts) -> Step:
        """The step for a call of a kernel or stream; adds code and constants to `parts`."""

    def whole(self, manifest: Manifest, code: Mapping[str, Code]) -> Mapping[str, Code]:
        """Further code of an artifact that is otherwise complete, by name, for the host: such as
        one function for all steps. Nothing by default.

        Parameters
        ----------
        code
            That of the steps, by name.
        """
        return {}


def _every_requantisation(_: RequantSpec) -> bool:
    """True: the default `Target.is_exact`, for machines that requantise in 64 bits."""
    return True


def _no_compressed(_: Call, _result: Type) -> bool:
    """False: the default `Target.takes_compressed`."""
    return False


def _no_limit(_: Call) -> str | None:
    """None: the default `Target.limit_of`."""
    return None


@dataclass(frozen=True, slots=True)
class Target(Generic[M]):
    """A machine as a value: all that the target-independent compiler knows about it.

    Attributes
    ----------
    name
        The `target` attribute of graph functions for this machine; empty for the host.
    machine
        The machine's description, passed to templates and passes.
    templates
        Schedule templates; the first whose pattern matches is used.
    passes
        Lowering passes from a schedule's program to the back end's input.
    settings
        Restrictions of knobs by name, for all templates: the allowed settings.
    make_backend
        Returns a new back end, with an empty code cache.
    is_exact
        Whether the machine computes a requantisation exactly; quantisation emits no other.
    short_factors
        What it asks of the integers of requantisations, to be fast.
    tuned
        Choices to prefer over those of the cost model, if there are any.
    make_runner
        Returns a runner of computations that are known while compiling, on the processor that
        compiles; asked of the host's target.
    limit_of
        Why the machine does not do an operator that no template has; None to say only that.
    keeps
        Whether the device has memory of its own, in which values stay from one of its steps to the
        next; by default steps find them in the host's memory.
    takes_compressed
        Whether the machine computes an operator, with a result of a type, from compressed weights
        as they are stored; by default none, so that their int8 values are made when the network is
        compiled.
    """

    name: str
    machine: M
    templates: tuple[ScheduleTemplate[Any, M], ...]
    passes: tuple[LoopPass, ...]
    cost: CostModel
    make_backend: Callable[[Target[M]], Backend]
    settings: tuple[tuple[str, tuple[Setting, ...]], ...] = ()
    is_exact: Callable[[RequantSpec], bool] = _every_requantisation
    short_factors: ShortFactors = ANY_FACTORS
    tuned: TunedChoices | None = None
    make_runner: Callable[[], Runner] = Interpreter
    limit_of: Callable[[Call], str | None] = _no_limit
    keeps: bool = False
    takes_compressed: Callable[[Call, Type], bool] = _no_compressed

    def patterns(self) -> Iterator[tuple[ScheduleTemplate[Any, M], Apply]]:
        """Pairs of a template and one of its patterns, in matching order."""
        return ((template, pattern) for template in self.templates for pattern in template.patterns)
