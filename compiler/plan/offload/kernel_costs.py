"""What kernels cost that may be made of matches: how the host packs their operands, and whether
operators are joined, is decided by it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Call, Function, Param, Var
from tandem.compiler.graph.passes.kernel_pool import KernelPool
from tandem.compiler.graph.types import Type
from tandem.compiler.graph.visit import names_of
from tandem.compiler.plan.offload.rewrite import Rewrite, rewrite, shape_of
from tandem.compiler.plan.planner import Candidate
from tandem.compiler.plan.schedule_template import HostPacking
from tandem.compiler.plan.target import Target

_CLEARLY_LESS = 0.95
"""What part of the usual way's cost another one may cost at most: estimates err by less."""


class KernelCosts(Protocol):
    """Costs of calls of kernels, in one unit; infinite for those that a target does not support."""

    def cost(self, call: Call) -> float:
        """The estimated cost."""

    def bound(self, call: Call) -> float:
        """What the cost cannot go below; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """How kernels of a target are made, where there are several ways.

    Attributes
    ----------
    costs
        None to decide for the usual way: the first packing, and operators apart.
    """

    target: Target[Any]
    costs: KernelCosts | None = None

    def packing(self, candidate: Candidate, types: Mapping[str, Type]) -> HostPacking | None:
        """How the host packs the first operand of a match, which it computes: of several ways the
        one that costs least. None for the layout that the template states."""
        shape = partial(shape_of, types)
        packings = candidate.template.repacked(candidate.match, shape, self.target.machine)
        if len(packings) < 2 or self.costs is None:
            return packings[0] if packings else None
        calls = (self._call(candidate, types, packing) for packing in packings)
        usual, *others = map(self.costs.cost, calls)
        least = min(others)
        return packings[1 + others.index(least)] if least < _CLEARLY_LESS * usual else packings[0]

    def is_joined(
        self,
        candidate: Candidate,
        apart: Sequence[Candidate],
        types: Mapping[str, Type],
        computed: Collection[str],
    ) -> bool:
        """Whether a match that joins operators costs clearly less than these apart, which its own
        estimate has to be below even if they take no longer than their bounds.

        Parameters
        ----------
        apart
            The matches of its operators by other templates.
        computed
            The results of matches; the host computes all other values.
        """
        if self.costs is None or self.target.settings:
            return False
        joined = self.costs.cost(self._with_packing(candidate, types, computed))
        calls = (self._with_packing(each, types, computed) for each in apart)
        return joined < _CLEARLY_LESS * sum(map(self.costs.bound, calls))

    def _with_packing(
        self, candidate: Candidate, types: Mapping[str, Type], computed: Collection[str]
    ) -> Call:
        """The kernel of a match, with its operand packed as it would be."""
        match = candidate.match
        from_host = match.variable(match.computed[0]) not in computed
        packing = self.packing(candidate, types) if from_host else None
        return self._call(candidate, types, packing)

    def _call(
        self, candidate: Candidate, types: Mapping[str, Type], packing: HostPacking | None
    ) -> Call:
        """A call of the kernel between the packed operand and its result."""
        template, match = candidate.template, candidate.match
        found = rewrite(template, match, self.target.machine, types, set(types), packing)
        within = _types_within(found, types)
        let = KernelPool((), self.target.name).fused(found.kernel, within, template.name)
        assert isinstance(let.value, Call), "made so"
        return let.value


def _types_within(found: Rewrite, types: Mapping[str, Type]) -> Mapping[str, Type]:
    """The types of a rewrite's values, and of what they read."""
    lets = (*found.operands, *found.kernel)
    made = {let.name for let in lets}
    read = {name for let in lets for name in names_of(let.value)} - made
    params = tuple(Param(name, types[name]) for name in sorted(read))
    return infer(Function("packed", params, Body(lets, Var(lets[-1].name))))
