"""Operators into kernels of a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from compiler.errors import Unsupported
from compiler.graph.infer import infer
from compiler.graph.nodes import Body, Call, Function, Let
from compiler.graph.passes.base import Pass
from compiler.graph.passes.eliminate_common import EliminateCommon
from compiler.graph.passes.eliminate_dead import EliminateDead
from compiler.graph.passes.kernels import KernelPool
from compiler.graph.types import Type
from compiler.graph.verify import verify
from compiler.graph.visit import all_lets, functions
from compiler.targets.offload.cancel_layouts import CancelLayouts
from compiler.targets.offload.streams import FormStreams
from compiler.targets.planner import Candidate, candidates
from compiler.targets.target import Rewritten, Target

__all__ = ["Offload", "Plans", "offload_passes"]

Plans: TypeAlias = Callable[[Call], object]
"""Raises `Unsupported` for a call of a kernel that the target does not do."""


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

    A kernel says in plain operators what it computes, between tensors in the target's layouts: any
    other target can run it. `CancelLayouts` then removes what two neighbours do to each other's
    layout. What stays with the host keeps the reason.

    Attributes
    ----------
    plan
        Asked about each kernel: what it refuses stays as it was.
    """

    target: Target[Any]
    plan: Plans
    name: str = "offload"

    def apply(self, function: Function) -> Function:
        """The function with kernels for the target. Symbols must have numbers."""
        types = verify(function)
        found, reasons = candidates(self.target, function.body, types)
        refused: dict[str, str] = {}
        while True:
            chosen = {each.match.name: each for each in found if each.match.name not in refused}
            rewritten = self._rewritten(function, types, chosen)
            changed = _with(function.body, rewritten)
            kernels = self._kernels(function, changed, rewritten)
            worse = {name: self._refusal(let) for name, let in kernels.items()}
            newly = {name: reason for name, reason in worse.items() if reason is not None}
            if not newly:
                break
            refused |= newly
        for each in found:
            if each.match.name in refused:
                reasons |= {let.name: refused[each.match.name] for let in each.match.lets}
        for name in (let.name for each in rewritten.values() for let in each.outside):
            reasons[name] = f"layout for the {self.target.name}"
        return replace(function, body=_called(changed, rewritten, kernels, reasons))

    def _refusal(self, let: Let) -> str | None:
        assert isinstance(let.value, Call), "made so"
        try:
            self.plan(let.value)
        except Unsupported as refusal:
            return str(refusal)
        return None

    def _rewritten(
        self, function: Function, types: Mapping[str, Type], chosen: Mapping[str, Candidate]
    ) -> dict[str, Rewritten]:
        taken = {each.name for each in function.params}
        taken |= {each.name for each in all_lets(function.body)}
        return {
            name: self.target.layouts.rewritten(
                each.template,
                each.match,
                types,
                taken,
                from_host=each.match.variable(each.match.computed[0]) not in chosen,
            )
            for name, each in chosen.items()
        }

    def _kernels(
        self, function: Function, changed: Body, rewritten: Mapping[str, Rewritten]
    ) -> dict[str, Let]:
        """The kernels' calls, by the names of matches."""
        types = infer(replace(function, body=changed))
        names = {each.name for each in functions(function)}
        pool = KernelPool(types, names, self.target.name)
        return {name: pool.fused(each.inside) for name, each in rewritten.items()}


def _called(
    body: Body,
    rewritten: Mapping[str, Rewritten],
    kernels: Mapping[str, Let],
    reasons: Mapping[str, str],
) -> Body:
    """The body with calls in place of the operators that are in kernels, and reasons with those
    that are not."""
    inside = {let.name for each in rewritten.values() for let in each.inside}
    calls = {each.name: each for each in kernels.values()}
    lets = (calls.get(let.name, let) for let in body.lets)
    return Body(
        tuple(
            replace(let, reason=_both(let.reason, reasons.get(let.name)))
            for let in lets
            if let.name in calls or let.name not in inside
        ),
        body.result,
    )


def _both(earlier: str | None, own: str | None) -> str | None:
    """What other targets said, too."""
    return "; ".join(dict.fromkeys(filter(None, (earlier, own)))) or None


def _with(body: Body, rewritten: Mapping[str, Rewritten]) -> Body:
    """The body with what is around kernels, and what is in them, in place of what ends a match.
    Its other operators stay; nobody needs them."""
    lets: list[Let] = []
    for let in body.lets:
        lets += rewritten[let.name].lets if let.name in rewritten else (let,)
    return Body(tuple(lets), body.result)


def offload_passes(target: Target[Any], plan: Plans) -> tuple[Pass, ...]:
    """What the target can do goes there; the host does the rest."""
    return (
        Offload(target, plan),
        CancelLayouts(),
        EliminateDead(),
        EliminateCommon(),
        EliminateDead(),
        FormStreams(target.name),
    )
