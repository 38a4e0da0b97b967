"""Plans for kernels: a schedule template, its workload, and the best choice of knob settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import Refusal, ScheduleError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Call, Function, Let, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.reasons import Reason
from tandem.compiler.graph.types import Type
from tandem.compiler.graph.visit import atoms
from tandem.compiler.plan.pattern import (
    Apply,
    Incomplete,
    Match,
    Matcher,
    Mismatch,
    OtherType,
    inner_patterns,
)
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch, ScheduleTemplate
from tandem.compiler.plan.space import Choices, Space
from tandem.compiler.plan.target import Target
from tandem.compiler.te import Schedule
from tandem.compiler.te.knobs import Choice, Setting

_CONSEQUENCES = Incomplete, OtherType
"""What an operator lacks that quantisation left in real numbers."""


_CONVERSIONS = frozenset({"convert"})
"""Operators of kernels that only change layouts."""
_QUANTISED = "quantisation, by --quantize multiplier or pow2, would help"


@dataclass(frozen=True, slots=True)
class Candidate:
    """Operators of a graph that match a template."""

    template: ScheduleTemplate[Any, Any]
    match: Match


def candidates(
    target: Target[Any],
    body: Body,
    types: Mapping[str, Type],
    apart: Collection[str] | None = None,
) -> tuple[tuple[Candidate, ...], dict[str, Reason]]:
    """The matches of a target's templates, without overlaps; and for each unmatched operator, the
    reason by the operator's name in the body. Operators that quantisation left in real numbers,
    for reasons of its own, have no other reason.

    Parameters
    ----------
    apart
        The values that no template ends with that joins operators of others; None for all.
    """
    matcher = Matcher(body, types)
    roots: dict[str, list[tuple[ScheduleTemplate[Any, Any], Apply]]] = {}
    for template, pattern in target.patterns():
        roots.setdefault(pattern.operator, []).append((template, pattern))
    found: dict[str, Candidate] = {}
    taken: set[str] = set()
    reasons: dict[str, Reason] = {}
    # Backwards: of two matches that share an operator, the longer one ends later.
    for let in reversed(body.lets):
        if let.name in taken or not isinstance(let.value, Call):
            continue
        if not isinstance(let.value.callee, OpSpec):
            continue  # A kernel of another target.
        operator = let.value.callee.name
        refusals: list[Refusal] = []
        for template, pattern in roots.get(operator, ()):
            if template.joins and (apart is None or let.name in apart):
                continue
            try:
                match = matcher.at(pattern, let.name)
            except Refusal as refusal:
                if not template.joins:
                    refusals.append(refusal)
                continue
            found[let.name] = Candidate(template, match)
            taken |= {matched.name for matched in match.lets}
            break
        else:
            if not refusals:
                refusals = list(_refusals_inside(target, matcher, let, operator))
            if not let.reasons or not all(isinstance(each, _CONSEQUENCES) for each in refusals):
                text = _message(refusals) or _no_template(target, let.value)
                if any(isinstance(each, OtherType) and each.is_real for each in refusals):
                    text += f": {_QUANTISED}"
                reasons[let.name] = Reason(operator, text)
    return tuple(found[let.name] for let in body.lets if let.name in found), reasons


def _no_template(target: Target[Any], call: Call) -> str:
    """The reason why the host does an operator of which no pattern has any."""
    return target.limit_of(call) or f"the {target.name} has no schedule template for it"


def _refusals_inside(
    target: Target[Any], matcher: Matcher, let: Let, operator: str
) -> Iterator[Refusal]:
    """The reasons why no pattern with this operator inside it matches."""
    users: list[str] = []
    for root in (root for template, root in target.patterns() if not template.joins):
        for inner in inner_patterns(root):
            if inner.operator == operator:
                try:
                    matcher.at(inner, let.name)
                except Refusal as refusal:
                    yield refusal
                else:
                    users.append(root.operator)
    if users:
        together = " or ".join(dict.fromkeys(users))
        read = ", ".join(dict.fromkeys(_readers(matcher.body, let.name))) or "no operator"
        yield Incomplete(f"it is done together with {together} only, and {read} reads its result")


def _readers(body: Body, name: str) -> Iterator[str]:
    """The names of the operators that read a value."""
    for let in body.lets:
        if Var(name) in atoms(let.value) and isinstance(let.value, Call):
            yield let.value.callee.name


def _message(refusals: Sequence[Refusal]) -> str:
    """The refusals as one message; operator mismatches are left out if there are other refusals."""
    specific = [str(each) for each in refusals if not isinstance(each, Mismatch)]
    wanted: dict[tuple[str, str], list[str]] = {}
    for refusal in refusals:
        if isinstance(refusal, Mismatch):
            wanted.setdefault((refusal.value, refusal.found), []).extend(refusal.wanted)
    mismatches = [str(Mismatch(*key, *dict.fromkeys(names))) for key, names in wanted.items()]
    return ", or ".join(dict.fromkeys(specific or mismatches))


def best_choice(
    target: Target[Any],
    template: ScheduleTemplate[Any, Any],
    workload: Any,
    fixed: Mapping[str, Sequence[Setting]] = MappingProxyType({}),
) -> dict[str, Setting]:
    """The choice with the lowest cost by the target's cost model, of both spaces.

    Parameters
    ----------
    fixed
        Allowed settings of some knobs; override the target's own restrictions. Settings are those
        of the base space's knobs: with any restriction the choice is of the base space.

    Raises
    ------
    Refusal
        No choice fits; the message names the memory that is too small.
    ScheduleError
        The template or the cost model does not return one number for each choice.
    """
    fitting = fitting_choices(target, template, workload, fixed)
    worthwhile = target.cost.shortlist(template, workload, fitting)
    costs = target.cost.costs(template, workload, worthwhile)
    best = worthwhile.choice(int(np.argmin(_column(template, "costs", costs, worthwhile, "fi"))))
    if fixed or target.settings or template.wide_space(workload, target.machine) is None:
        return best
    return dict(target.cost.wide_choice(template, workload, best) or best)


def fitting_choices(
    target: Target[Any],
    template: ScheduleTemplate[Any, Any],
    workload: Any,
    fixed: Mapping[str, Sequence[Setting]] = MappingProxyType({}),
    space: Space | None = None,
) -> Choices:
    """The choices of a workload's space that fit, in the order of the space; parameters and errors
    are those of `best_choice`.

    Parameters
    ----------
    space
        By default the template's base space.
    """
    space = space or template.space(workload, target.machine)
    restricted = {name: allowed for name, allowed in target.settings if name in space.knobs}
    choices = space.choices({**restricted, **fixed})
    fits = template.fits(workload, choices, target.machine)
    fitting = choices.where(_column(template, "fits", fits, choices, "b"))
    if not len(fitting):
        raise Refusal(template.no_fit_reason(workload, choices, target.machine))
    return fitting


def tuned_choice(
    target: Target[Any], template: ScheduleTemplate[Any, Any], workload: Any
) -> Choice | None:
    """The target's tuned choice for a workload, if it has one that is in a space and fits.

    Choices of another version or of other restrictions may not be: the cost model's is taken then.
    """
    if target.tuned is None:
        return None
    choice = template.recorded_choice(workload, target.machine, target.tuned)
    if choice is None:
        return None
    space = space_of_choice(template, workload, target.machine, choice, dict(target.settings))
    if space is None:
        return None
    row = space.choices({name: (setting,) for name, setting in choice.items()})
    return choice if len(row) and bool(template.fits(workload, row, target.machine)[0]) else None


def space_of_choice(
    template: ScheduleTemplate[Any, Any],
    workload: Any,
    machine: Any,
    choice: Choice,
    fixed: Mapping[str, Sequence[Setting]] = MappingProxyType({}),
) -> Space | None:
    """The space of a workload that has a choice's knobs and settings: base, wide, or None.

    Parameters
    ----------
    fixed
        Allowed settings of some knobs, in place of the space's.
    """
    spaces = (find(workload, machine) for find in (template.space, template.wide_space))
    space = next((each for each in spaces if each and set(choice) == set(each.knobs)), None)
    if space is None:
        return None
    allowed = {name: fixed.get(name, settings) for name, settings in space.knobs.items()}
    return space if all(choice[name] in only for name, only in allowed.items()) else None


def _column(
    template: ScheduleTemplate[Any, Any], what: str, found: Any, choices: Choices, kinds: str
) -> NDArray[Any]:
    """`found` as an array, checked: one number for each choice, no NaN, and a NumPy dtype of one of
    `kinds`. An array of another shape would silently select a wrong choice."""
    column = np.asarray(found)
    wrong = column.shape != (len(choices),) or column.dtype.kind not in kinds
    if wrong or np.isnan(column).any():
        shown = f"{column.dtype}{list(column.shape)}" if wrong else "NaN"
        raise ScheduleError(template.name, f"{what} of {len(choices):,} choices are {shown}")
    return column


@dataclass(frozen=True, slots=True)
class Plan:
    """How a target runs a kernel: template, workload, the program's arguments, and a choice."""

    template: ScheduleTemplate[Any, Any]
    found: KernelMatch
    workload: Any
    arguments: Arguments
    choice: Choice


def kernel_of(call: Call) -> Function:
    """The kernel that is called."""
    assert isinstance(call.callee, Function), "a kernel"
    return call.callee


def plan_key(call: Call) -> tuple[str | None, ...]:
    """A cache key: the digest of the called kernel and the digests of its constant arguments."""
    constants = (arg.digest if isinstance(arg, Constant) else None for arg in call.args)
    return kernel_of(call).digest, *constants


def kernel_matcher(call: Call, through: frozenset[str] = frozenset()) -> Matcher:
    """A matcher on the body of the called kernel, with parameters bound to the call's constant
    arguments; `through` as in `Matcher`."""
    kernel = kernel_of(call)
    pairs = zip(kernel.params, call.args, strict=True)
    known = {param.name: arg for param, arg in pairs if isinstance(arg, Constant)}
    return Matcher(kernel.body, infer(kernel), through, known)


@dataclass(frozen=True)
class Planner:
    """Plans kernels of one target. Equal workloads share their choice and their schedule."""

    target: Target[Any]
    _plans: dict[tuple[str | None, ...], Plan] = field(default_factory=dict, repr=False)
    _layers: dict[tuple[str | None, ...], Plan | None] = field(default_factory=dict, repr=False)
    _choices: dict[Any, Choice | Refusal] = field(default_factory=dict, repr=False)
    _schedules: dict[Any, Schedule] = field(default_factory=dict, repr=False)

    def plan(self, call: Call) -> Plan:
        """The plan for a call of a kernel.

        Raises
        ------
        Refusal
            No template matches, or the machine does not support the kernel; the message says why.
        """
        key = plan_key(call)
        if key not in self._plans:
            self._plans[key] = self._planned(call)
        plan = self._plans[key]
        return replace(plan, found=KernelMatch(call, plan.found.match))

    def cost(self, call: Call) -> float:
        """The cost of a kernel by the target's cost model; infinite if it does not support it."""
        try:
            plan = self.plan(call)
        except Refusal:
            return inf
        row = Choices.of([plan.choice])
        (found,) = self.target.cost.costs(plan.template, plan.workload, row)
        return float(found)

    def bound(self, call: Call) -> float:
        """What the cost of a kernel as it is planned cannot go below, by the target's cost model;
        infinite if the target does not support it."""
        try:
            plan = self.plan(call)
        except Refusal:
            return inf
        row = Choices.of([plan.choice])
        (found,) = self.target.cost.bounds(plan.template, plan.workload, row)
        return float(found)

    def layer(self, call: Call) -> Plan | None:
        """The plan for the first layer within a kernel that a template supports; None if there is
        none. Templates may pack constant arguments of the call."""
        key = plan_key(call)
        if key not in self._layers:
            self._layers[key] = next(self._supported(call), None)
        return self._layers[key]

    def _supported(self, call: Call) -> Iterator[Plan]:
        """The plans of a kernel's layers."""
        matcher = kernel_matcher(call)
        for let in kernel_of(call).body.lets:
            for template, pattern in self.target.patterns():
                try:
                    found = KernelMatch(call, matcher.at(pattern, let.name))
                    yield self._bound(template, found)
                except Refusal:
                    continue  # Without any plan the target has a schedule for all kernels.

    def schedule(self, plan: Plan) -> Schedule:
        """The schedule of a plan's workload and choice, cached."""
        key = plan.template, plan.workload, tuple(plan.choice.items())
        if key not in self._schedules:
            self._schedules[key] = plan.template.schedule(
                plan.workload, plan.choice, self.target.machine
            )
        return self._schedules[key]

    def _planned(self, call: Call) -> Plan:
        return self._bound(*self._found(call))

    def _bound(self, template: ScheduleTemplate[Any, Any], found: KernelMatch) -> Plan:
        workload, arguments = template.bind(found, self.target.machine)
        return Plan(template, found, workload, arguments, self._choice(template, workload))

    def _found(self, call: Call) -> tuple[ScheduleTemplate[Any, Any], KernelMatch]:
        """The kernel's template, or the first whose pattern matches the whole kernel."""
        kernel = kernel_of(call)
        refusals: list[Refusal] = []
        matcher = kernel_matcher(call, _CONVERSIONS)
        core = [
            let
            for let in kernel.body.lets
            if isinstance(let.value, Call) and let.value.callee.name not in _CONVERSIONS
        ]
        for template, pattern in self.target.patterns():
            if kernel.template not in ("", template.name):
                continue
            try:
                match = matcher.at(pattern, core[-1].name)
            except Refusal as refusal:
                refusals.append(refusal)
                continue
            if len(match.lets) == len(core):
                return template, KernelMatch(call, match)
            refusals.append(Refusal(f"it computes more than {template.name}"))
        raise Refusal(f"kernel {kernel.name}: {_message(refusals)}")

    def _choice(self, template: ScheduleTemplate[Any, Any], workload: Any) -> Choice:
        key = template, workload
        if key not in self._choices:
            try:
                self._choices[key] = self._chosen(template, workload)
            except Refusal as refusal:
                self._choices[key] = refusal
        found = self._choices[key]
        if isinstance(found, Refusal):
            raise found
        return found

    def _chosen(self, template: ScheduleTemplate[Any, Any], workload: Any) -> Choice:
        known = tuned_choice(self.target, template, workload)
        if known is None and template.only_recorded:
            raise Refusal(f"no record has a schedule for it by {template.name}")
        return known or best_choice(self.target, template, workload)
