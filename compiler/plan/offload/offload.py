"""Graph pass that moves operators into kernels for a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from tandem.compiler.errors import Refusal
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Call, Function, Let
from tandem.compiler.graph.passes.eliminate_common import EliminateCommon
from tandem.compiler.graph.passes.eliminate_dead import EliminateDead
from tandem.compiler.graph.passes.kernel_pool import KernelPool
from tandem.compiler.graph.passes.pipeline import GraphPass
from tandem.compiler.graph.reasons import Reason
from tandem.compiler.graph.types import Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import (
    all_bodies,
    functions,
    map_functions,
    names_taken,
    rewrite_bodies,
)
from tandem.compiler.plan.offload.cancel_conversions import CancelConversions
from tandem.compiler.plan.offload.kernel_costs import Decisions, KernelCosts
from tandem.compiler.plan.offload.place_parts import PlaceParts
from tandem.compiler.plan.offload.rewrite import Rewrite, rewrite
from tandem.compiler.plan.offload.streams import FormStreams
from tandem.compiler.plan.planner import Candidate, candidates
from tandem.compiler.plan.target import Target

Plans: TypeAlias = Callable[[Call], object]
"""A function that raises `Refusal` for kernel calls that the target does not support."""


@dataclass(frozen=True, slots=True)
class Offload:
    """Moves operators to a target, one kernel for each match of a schedule template.

    ::

        c = product(x, W)             kernel[target] @product_rounding(p0, p1, p2, p3):
        y = rounding(c, M, C)           x = out_of_layout(p0)
                                        c = product(x, p1)
                              ->        r = rounding(c, p2, p3)
                                        y = into_layout(r)
                                        return y

                                      x_packed = into_layout(x)
                                      y_packed = @product_rounding(x_packed, W, M, C)
                                      y = out_of_layout(y_packed)

    A kernel consists of graph operators, with operands and results in the target's layouts: any
    other target can run the kernel too. `CancelConversions` then removes the changes of layout
    between two kernels. Operators that stay on the host record the reason.

    Attributes
    ----------
    plan
        Called for each kernel; operators of a refused kernel stay unchanged.
    costs
        As in `Decisions`.
    fallback
        Whether the target's templates are those for what no other one takes; operators that these
        do not take either keep the reason that they have.
    """

    target: Target[Any]
    plan: Plans
    costs: KernelCosts | None = None
    fallback: bool = False
    name: str = "offload"

    def apply(self, function: Function) -> Function:
        """The function with kernels for the target; symbolic shapes are not allowed."""
        verify(function)
        pool = KernelPool({each.name for each in functions(function)}, self.target.name)

        def changed(one: Function) -> Function:
            nonlocal pool
            found, pool = self._function(one, pool)
            return found

        return map_functions(function, changed)

    def _function(self, function: Function, before: KernelPool) -> tuple[Function, KernelPool]:
        """A function on its own, and the kernels with its own; a match lies within one body."""
        types = infer(function)
        found: list[Candidate] = []
        reasons: dict[str, Reason] = {}
        for body in all_bodies(function.body):
            matches, unmatched = self._candidates(body, types)
            found += matches
            reasons |= unmatched
        refused: dict[str, str] = {}
        while True:
            chosen = {each.match.name: each for each in found if each.match.name not in refused}
            rewritten = self._rewritten(function, types, chosen)
            changed = rewrite_bodies(function.body, partial(_with, rewritten=rewritten))
            pool = before.copy()
            wider = infer(replace(function, body=changed))
            kernels = {
                name: replace(
                    pool.fused(it.kernel, wider, chosen[name].template.name),
                    joined=_joined(chosen[name]),
                )
                for name, it in rewritten.items()
            }
            refusals = {name: self._refusal(let) for name, let in kernels.items()}
            new = {name: reason for name, reason in refusals.items() if reason is not None}
            if not new:
                break
            refused |= new
        for match in (candidate.match for candidate in found):
            if match.name in refused:
                names = zip(match.lets, match.operators, strict=True)
                reasons |= {let.name: Reason(each, refused[match.name]) for let, each in names}
        if self.fallback:
            reasons = {}
        for added in rewritten.values():
            for let in (*added.operands, *added.result):
                reasons[let.name] = Reason("", f"layout for the {self.target.name}")
        called = rewrite_bodies(changed, lambda body: _called(body, rewritten, kernels, reasons))
        return replace(function, body=called), pool

    def _candidates(
        self, body: Body, types: Mapping[str, Type]
    ) -> tuple[tuple[Candidate, ...], dict[str, Reason]]:
        """The matches in a body: operators are joined where that is decided."""
        apart = candidates(self.target, body, types)
        joining = candidates(self.target, body, types, apart=())[0]
        joining = tuple(each for each in joining if each.template.joins)
        decisions, kept = Decisions(self.target, self.costs), set[str]()
        computed = {each.match.name for each in apart[0]}
        for candidate in joining:
            inside = {let.name for let in candidate.match.lets}
            parts = [each for each in apart[0] if each.match.name in inside]
            if decisions.is_joined(candidate, parts, types, computed):
                kept.add(candidate.match.name)
        if not kept:
            return apart
        names = {each.match.name for each in joining} - kept
        return candidates(self.target, body, types, apart=names)

    def _refusal(self, let: Let) -> str | None:
        assert isinstance(let.value, Call), "made so"
        try:
            self.plan(let.value)
        except Refusal as refusal:
            return str(refusal)
        return None

    def _rewritten(
        self, function: Function, types: Mapping[str, Type], chosen: Mapping[str, Candidate]
    ) -> dict[str, Rewrite]:
        taken, decisions = names_taken(function), Decisions(self.target, self.costs)
        found = dict[str, Rewrite]()
        for name, candidate in chosen.items():
            template, match = candidate.template, candidate.match
            from_host = match.variable(match.computed[0]) not in chosen
            packing = decisions.packing(candidate, types) if from_host else None
            found[name] = rewrite(template, match, self.target.machine, types, taken, packing)
        return found


def _joined(candidate: Candidate) -> tuple[str, ...]:
    """The names of the values inside a match that joins operators of several kernels."""
    if not candidate.template.joins:
        return ()
    names = dict.fromkeys(let.source for let in candidate.match.lets)
    return tuple(name for name in names if name != candidate.match.lets[-1].source)


def _called(
    body: Body,
    rewritten: Mapping[str, Rewrite],
    kernels: Mapping[str, Let],
    reasons: Mapping[str, Reason],
) -> Body:
    """The body with kernel calls instead of the operators inside kernels; each operator left on the
    host records its reason."""
    inside = {let.name for each in rewritten.values() for let in each.kernel}
    calls = {each.name: each for each in kernels.values()}
    lets = (calls.get(let.name, let) for let in body.lets)
    return Body(
        tuple(
            replace(let, reasons=_with_own(let.reasons, reasons.get(let.name)))
            for let in lets
            if let.name in calls or let.name not in inside
        ),
        body.result,
    )


def _with_own(earlier: tuple[Reason, ...], own: Reason | None) -> tuple[Reason, ...]:
    """The reasons of quantisation and of earlier targets, and that of this target."""
    return earlier if own is None else tuple(dict.fromkeys((*earlier, own)))


def _with(body: Body, rewritten: Mapping[str, Rewrite]) -> Body:
    """The body with each match's last value replaced by its rewrite; the other values of
    matches stay as dead code."""
    lets: list[Let] = []
    for let in body.lets:
        if let.name in rewritten:
            added = rewritten[let.name]
            lets += (*added.operands, *added.kernel, *added.result)
        else:
            lets.append(let)
    return Body(tuple(lets), body.result)


def kernel_passes(
    target: Target[Any], plan: Plans, costs: KernelCosts | None = None
) -> tuple[GraphPass, ...]:
    """The passes that move all supported operators to a target other than the host, in kernels."""
    usual = tuple(each for each in target.templates if not each.is_fallback)
    rest = tuple(each for each in target.templates if each.is_fallback)
    again = (Offload(replace(target, templates=rest), plan, costs, fallback=True),) if rest else ()
    return (
        Offload(replace(target, templates=usual), plan, costs),
        *again,
        CancelConversions(),
        EliminateDead(),
        EliminateCommon(),
    )


def offload_passes(
    target: Target[Any], plan: Plans, costs: KernelCosts | None = None
) -> tuple[GraphPass, ...]:
    """`kernel_passes`, and those that join kernels to streams."""
    return (
        *kernel_passes(target, plan, costs),
        PlaceParts(target.name),
        CancelConversions(),
        EliminateCommon(),
        EliminateDead(),
        FormStreams(target.name),
    )
