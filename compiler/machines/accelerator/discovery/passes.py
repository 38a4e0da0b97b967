"""How many passes layers take with some of the candidates: those that the compiler would choose.

Where a candidate covers a run of a layer's steps is found once; a set of candidates is then a
shortest way through the chain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

from tandem.compiler.machines.accelerator.discovery.candidates import Candidate
from tandem.compiler.machines.accelerator.discovery.chains import Chain, LayerChains
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    TERM_OPS,
    ChainPass,
    Residual,
    ResidualSum,
    match_operation,
    residual_steps,
)
from tandem.hw.alu_terms import Binary, Cast, Term, TermOp, subterms

Cost: TypeAlias = tuple[int, int, int]
"""Passes, operands in ACC for all pixels, and passes that read a second operand from ACC."""
_NOTHING: Cost = 0, 0, 0
_Edges: TypeAlias = Mapping[int, Sequence[tuple[int, Cost]]]
"""By the end of a run of steps, its begin, and what a pass over it costs."""
_Key: TypeAlias = tuple[int, ...]
"""The positions, ascending, of the candidate that covers a run, and of one over its residual."""


@dataclass(frozen=True, slots=True)
class _Work:
    """The chains of one kind of layer, and the vectors of each network that go through them."""

    base: tuple[_Edges, ...]
    own: tuple[Mapping[_Key, _Edges], ...]
    """For each chain, by the candidates that it takes."""
    lengths: tuple[int, ...]
    vectors: Mapping[int, int]
    covering: frozenset[int]
    """The candidates that cover anything."""


class PassTable:
    """The cycles that passes take in networks, for any set of candidates.

    Parameters
    ----------
    networks
        For each network the chains of its layers.
    ports
        Read ports of ACC: with one, a pass with two operands from there takes two cycles a vector.
    """

    def __init__(
        self,
        networks: Sequence[Iterable[LayerChains]],
        candidates: Sequence[Candidate],
        ports: int,
    ) -> None:
        self._slow = int(ports == 1)
        self._count = len(networks)
        vectors: dict[tuple[Chain, ...], Counter[int]] = {}
        for number, layers in enumerate(networks):
            for layer in layers:
                vectors.setdefault(layer.chains, Counter())[number] += layer.vectors
        matcher = _Matcher(candidates)
        edges: dict[Chain, tuple[_Edges, Mapping[_Key, _Edges]]] = {}
        self._simplicity = [
            (sum(1 for _ in subterms(one.operation.result)), one.parameter_bits)
            for one in candidates
        ]
        self._works = list[_Work]()
        self._costs = dict[tuple[int, tuple[int, ...]], Cost]()
        for chains, counts in vectors.items():
            for chain in chains:
                if chain not in edges:
                    edges[chain] = _base_edges(chain), _own_edges(chain, matcher)
            base, own = zip(*(edges[chain] for chain in chains), strict=True)
            covering = frozenset(one for each in own for key in each for one in key)
            self._works.append(_Work(base, own, tuple(map(len, chains)), counts, covering))

    def cycles(self, chosen: Iterable[int]) -> tuple[int, ...]:
        """For each network the cycles of its passes on a machine with the candidates at these
        positions."""
        used = tuple(chosen)
        found = [0] * self._count
        for number, work in enumerate(self._works):
            passes, _, reads = self._cost(
                number, tuple(one for one in used if one in work.covering)
            )
            for network, count in work.vectors.items():
                found[network] += count * (passes + self._slow * reads)
        return tuple(found)

    def _cost(self, number: int, used: tuple[int, ...]) -> Cost:
        """What the layers of a kind cost a vector with these candidates, all of which cover
        something."""
        key = number, used
        if key not in self._costs:
            work = self._works[number]
            keys = [(one,) for one in used] + [*combinations(used, 2)]
            ways = (
                _shortest(length, (base, *(own[each] for each in keys if each in own)))
                for length, base, own in zip(work.lengths, work.base, work.own, strict=True)
            )
            self._costs[key] = min(way for way in ways if way is not None)
        return self._costs[key]

    def coverage(self, candidate: int) -> frozenset[tuple[int, int, _Key, int, int, Cost]]:
        """Where a candidate covers which steps, beside which other, and at which cost: equal for
        candidates that no layer tells apart."""
        return frozenset(
            (number, at, tuple(one for one in key if one != candidate), begin, end, cost)
            for number, work in enumerate(self._works)
            for at, own in enumerate(work.own)
            for key, edges in own.items()
            if candidate in key
            for end, runs in edges.items()
            for begin, cost in runs
        )

    def distinct(self) -> tuple[int, ...]:
        """The candidates that cover anything, ascending; of those that no layer tells apart, the
        one with the fewest operators and the narrowest parameters."""
        best: dict[object, int] = {}
        for number in range(len(self._simplicity)):
            covered = self.coverage(number)
            if not covered:
                continue
            other = best.setdefault(covered, number)
            best[covered] = min(other, number, key=self._simplicity.__getitem__)
        return tuple(sorted(best.values()))

    def layers_of(self, candidate: int) -> int:
        """The number of kinds of layers some steps of which a candidate covers."""
        return sum(candidate in work.covering for work in self._works)


def _shortest(length: int, edges: Sequence[_Edges]) -> Cost | None:
    """The cheapest way through a chain; None if some step can be done by no pass."""
    best: list[Cost | None] = [_NOTHING]
    for end in range(1, length + 1):
        found = (
            _sum(ahead, cost)
            for runs in edges
            for begin, cost in runs.get(end, ())
            if (ahead := best[begin]) is not None
        )
        best.append(min(found, default=None))
    return best[-1]


def _sum(one: Cost, other: Cost) -> Cost:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _base_edges(chain: Chain) -> _Edges:
    found: dict[int, list[tuple[int, Cost]]] = {}
    for at, step in enumerate(chain):
        if step.cut is not None:
            continue
        cost = _NOTHING if step.identity else _cost(ChainPass(step.op, step.operand))
        found.setdefault(at + 1, []).append((at, cost))
    return found


def _own_edges(chain: Chain, matcher: _Matcher) -> Mapping[_Key, _Edges]:
    found: dict[_Key, dict[int, list[tuple[int, Cost]]]] = {}
    for begin in range(len(chain)):
        for end in range(begin + 1, len(chain) + 1):
            for key, cost in matcher.matches(chain[begin:end]):
                found.setdefault(key, {}).setdefault(end, []).append((begin, cost))
    return found


class _Matcher:
    """Finds the candidates that do runs of steps; equal runs are matched once."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._operations = [one.operation for one in candidates]
        by_operators: dict[frozenset[tuple[TermOp, int]], list[int]] = {}
        for number, one in enumerate(candidates):
            counts = _operators(one.operation.result)
            by_operators.setdefault(frozenset(counts.items()), []).append(number)
        self._groups = [(Counter(dict(counts)), of) for counts, of in by_operators.items()]
        self._known: dict[Chain, tuple[tuple[_Key, Cost], ...]] = {}
        self._over: dict[ResidualSum, tuple[tuple[int, ChainPass], ...]] = {}

    def matches(self, run: Chain) -> tuple[tuple[_Key, Cost], ...]:
        """Pairs of a candidate that does a run in one pass, maybe with another one that does all
        that is ahead of it over the residual, and what that costs."""
        if run not in self._known:
            needed = Counter(TERM_OPS[step.op] for step in run if not step.identity)
            if run[0].cut is not None:
                # A packed operand has what two sums add.
                needed[TermOp.ADD] = min(needed[TermOp.ADD], 1)
            there = Counter(TERM_OPS[step.op] for step in run)
            # Much faster than to match all.
            numbers = sorted(
                number
                for own, group in self._groups
                if needed and needed <= own
                if all(own[op] <= there[op] for op in (TermOp.MIN, TermOp.MAX))
                for number in group
            )
            self._known[run] = tuple(
                found
                for number in numbers
                if (made := match_operation(self._operations[number], run)) is not None
                for found in self._ways(number, made)
            )
        return self._known[run]

    def _ways(self, number: int, made: ChainPass) -> Iterator[tuple[_Key, Cost]]:
        """A candidate's pass as it is, and with each other candidate's over its residual."""
        yield (number,), _cost(made)
        if isinstance(made.second, ResidualSum):
            for other, only in self._over_residual(made.second):
                yield tuple(sorted({number, other})), _cost(replace(made, before=(only,)))

    def _over_residual(self, operand: ResidualSum) -> tuple[tuple[int, ChainPass], ...]:
        """The candidates that make an operand of the residual's values in one pass."""
        if operand not in self._over:
            steps, limits = residual_steps(operand), (operand.residual.low, operand.residual.high)
            self._over[operand] = tuple(
                (number, made)
                for number, operation in enumerate(self._operations)
                if (made := match_operation(operation, steps, limits)) is not None
            )
        return self._over[operand]


def _operators(term: Term) -> Counter[TermOp]:
    """The operators of a term, and those that saturation is."""
    found: Counter[TermOp] = Counter()
    for part in subterms(term):
        match part:
            case Binary(op=op):
                found[op] += 1
            case Cast(saturates=True):
                found += Counter((TermOp.MIN, TermOp.MAX))
            case _:
                pass
    return found


def _cost(one: ChainPass) -> Cost:
    passes, tensors = one.cost
    match one.second:
        case ResidualSum():
            reads = 1 + tensors
        case second:
            reads = int(tensors > 0 or isinstance(second, Residual))
    return passes, tensors, reads
