"""Plans for kernels: the template that does one, its workload, and the choice for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.errors import ScheduleError, Unsupported
from compiler.graph.constant import Constant
from compiler.graph.infer import infer
from compiler.graph.nodes import Body, Call, Function
from compiler.graph.opspec import OpSpec
from compiler.graph.types import Type
from compiler.targets.target import Target
from compiler.te import Schedule
from compiler.te.knobs import Choice, Setting
from compiler.templates.pattern import Apply, Match, Matcher, Mismatch, inner_patterns
from compiler.templates.space import Choices
from compiler.templates.template import Arguments, KernelMatch, ScheduleTemplate

__all__ = ["Candidate", "Plan", "Planner", "best_choice", "candidates"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Operators of a graph that a template may do."""

    template: ScheduleTemplate[Any, Any]
    match: Match


def candidates(
    target: Target[Any], body: Body, types: Mapping[str, Type]
) -> tuple[tuple[Candidate, ...], dict[str, str]]:
    """What the templates of a target match, no operator twice; and for each other operator why
    none does."""
    matcher = Matcher(body, types)
    roots: dict[str, list[tuple[ScheduleTemplate[Any, Any], Apply]]] = {}
    for template in target.templates:
        for pattern in template.patterns:
            roots.setdefault(pattern.operator, []).append((template, pattern))
    found: dict[str, Candidate] = {}
    taken: set[str] = set()
    reasons: dict[str, str] = {}
    # Backwards: the longer match of two that share an operator ends later.
    for let in reversed(body.lets):
        if let.name in taken or not isinstance(let.value, Call):
            continue
        if not isinstance(let.value.callee, OpSpec):
            continue  # A kernel of another target.
        operator = let.value.callee.name
        refusals: list[Unsupported] = []
        for template, pattern in roots.get(operator, ()):
            try:
                match = matcher.at(pattern, let.name)
            except Unsupported as refusal:
                refusals.append(refusal)
                continue
            found[let.name] = Candidate(template, match)
            taken |= {each.name for each in match.lets}
            break
        else:
            if not refusals:
                refusals = list(_refusals_inside(target, matcher, let.name, operator))
            reasons[let.name] = _joined(refusals) or f"no schedule template for {operator}"
    return tuple(found[let.name] for let in body.lets if let.name in found), reasons


def _refusals_inside(
    target: Target[Any], matcher: Matcher, name: str, operator: str
) -> Iterator[Unsupported]:
    """Why patterns that have an operator inside do not take it."""
    users: list[str] = []
    for root in (pattern for template in target.templates for pattern in template.patterns):
        for inner in inner_patterns(root):
            if inner.operator == operator:
                try:
                    matcher.at(inner, name)
                except Unsupported as refusal:
                    yield refusal
                else:
                    users.append(root.operator)
    if users:
        together = " or ".join(dict.fromkeys(users))
        yield Unsupported(f"{operator} is done together with {together} only")


def _joined(refusals: Sequence[Unsupported]) -> str:
    """All refusals, once; where other patterns come closer, not those of other operators."""
    closer = [str(each) for each in refusals if not isinstance(each, Mismatch)]
    wanted: dict[tuple[str, str], list[str]] = {}
    for each in refusals:
        if isinstance(each, Mismatch):
            wanted.setdefault((each.value, each.found), []).extend(each.wanted)
    others = [str(Mismatch(*key, *dict.fromkeys(names))) for key, names in wanted.items()]
    return "; ".join(dict.fromkeys(closer or others))


def best_choice(
    target: Target[Any],
    template: ScheduleTemplate[Any, Any],
    workload: Any,
    fixed: Mapping[str, Sequence[Setting]] = MappingProxyType({}),
) -> dict[str, Setting]:
    """The choice that the target's cost model finds best.

    Parameters
    ----------
    fixed
        Knobs that are held at some settings, beside the target's own.

    Raises
    ------
    Unsupported
        Nothing fits: says what is lacking.
    ScheduleError
        The template or the cost model gives no number for each choice.
    """
    space = template.space(workload, target.machine)
    held = {name: each for name, each in target.settings if name in space.knobs}
    choices = space.choices({**held, **fixed})
    fits = template.fits(workload, choices, target.machine)
    fitting = choices.where(_column(template, "fits", fits, choices, "b"))
    if not len(fitting):
        raise Unsupported(template.lacking(workload, choices, target.machine))
    worthwhile = target.cost.candidates(template, workload, fitting)
    costs = target.cost.costs(template, workload, worthwhile)
    return worthwhile.choice(int(np.argmin(_column(template, "costs", costs, worthwhile, "fi"))))


def _column(
    template: ScheduleTemplate[Any, Any], what: str, found: Any, choices: Choices, kinds: str
) -> NDArray[Any]:
    """A number for each choice, of NumPy's `kinds` of types and none of them NaN: who takes another
    column for one, chooses at random."""
    column = np.asarray(found)
    wrong = column.shape != (len(choices),) or column.dtype.kind not in kinds
    if wrong or np.isnan(column).any():
        shown = f"{column.dtype}{list(column.shape)}" if wrong else "NaN"
        raise ScheduleError(template.name, f"{what} of {len(choices):,} choices are {shown}")
    return column


@dataclass(frozen=True, slots=True)
class Plan:
    """How a target does a kernel: a choice for its workload, and its own arguments."""

    template: ScheduleTemplate[Any, Any]
    found: KernelMatch
    workload: Any
    arguments: Arguments
    choice: Choice


@dataclass(frozen=True)
class Planner:
    """Plans kernels of one target. Workloads that are equal have one choice and one schedule."""

    target: Target[Any]
    _plans: dict[tuple[str | None, ...], Plan] = field(default_factory=dict, repr=False)
    _choices: dict[Any, Choice | Unsupported] = field(default_factory=dict, repr=False)
    _schedules: dict[Any, Schedule] = field(default_factory=dict, repr=False)

    def plan(self, call: Call) -> Plan:
        """The plan for a call of a kernel.

        Raises
        ------
        Unsupported
            No template takes it, or the machine lacks something: says what.
        """
        kernel = call.callee
        assert isinstance(kernel, Function), "a kernel"
        key = (
            kernel.digest,
            *(each.digest if isinstance(each, Constant) else None for each in call.args),
        )
        if key not in self._plans:
            self._plans[key] = self._planned(kernel, call)
        plan = self._plans[key]
        return replace(plan, found=KernelMatch(call, plan.found.match))

    def schedule(self, plan: Plan) -> Schedule:
        """The schedule of a plan's workload, made once."""
        key = plan.template, plan.workload
        if key not in self._schedules:
            self._schedules[key] = plan.template.schedule(
                plan.workload, plan.choice, self.target.machine
            )
        return self._schedules[key]

    def _planned(self, kernel: Function, call: Call) -> Plan:
        template, found = self._found(kernel, call)
        workload, arguments = template.bind(found, self.target.machine)
        return Plan(template, found, workload, arguments, self._choice(template, workload))

    def _found(
        self, kernel: Function, call: Call
    ) -> tuple[ScheduleTemplate[Any, Any], KernelMatch]:
        """The first template whose pattern is all that the kernel computes."""
        refusals: list[Unsupported] = []
        layouts = self.target.layouts.operators
        known = {
            param.name: arg
            for param, arg in zip(kernel.params, call.args, strict=True)
            if isinstance(arg, Constant)
        }
        matcher = Matcher(kernel.body, infer(kernel), layouts, known)
        core = [
            let
            for let in kernel.body.lets
            if isinstance(let.value, Call) and let.value.callee.name not in layouts
        ]
        for template in self.target.templates:
            for pattern in template.patterns:
                try:
                    match = matcher.at(pattern, core[-1].name)
                except Unsupported as refusal:
                    refusals.append(refusal)
                    continue
                if len(match.lets) == len(core):
                    return template, KernelMatch(call, match)
                refusals.append(Unsupported(f"it computes more than {template.name}"))
        raise Unsupported(f"kernel {kernel.name}: {_joined(refusals)}")

    def _choice(self, template: ScheduleTemplate[Any, Any], workload: Any) -> Choice:
        key = template, workload
        if key not in self._choices:
            try:
                self._choices[key] = best_choice(self.target, template, workload)
            except Unsupported as refusal:
                self._choices[key] = refusal
        found = self._choices[key]
        if isinstance(found, Unsupported):
            raise found
        return found
