"""Requantisation by a machine's own operations: its steps, covered by as few passes as possible.

The steps of a requantisation on the base instruction set are a chain, each of which takes the
result of the one before. An operation of a configuration covers a run of steps if its term is what
the run computes: operators are compared one by one from the last step back, and what a step takes
beside the result before it is the operation's second operand, a parameter, or the constant that
the term has. Steps wrap at 32 bits; so the term has to say `int32` wherever a sum or a product
goes into anything else than sums and products. Only products that are cut (`cut_products`) are
exact; no instruction of the base set has these. A step that changes nothing may be left out, or be
covered. The fewest passes are found by dynamic programming over the chain; steps that no operation
covers stay passes of the base instruction set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.machines.accelerator.templates.packed_fields import (
    FieldError,
    is_field,
    packed,
    takes_multiples,
)
from tandem.compiler.requantisation.channels import INT16
from tandem.hw.alu_terms import BITS, Binary, Cast, Name, Number, Term, TermOp, names_of
from tandem.hw.custom_operations import AnyOperation, CustomOperation
from tandem.hw.operations import AluOp

TERM_OPS: Mapping[AluOp, TermOp] = {
    AluOp.MIN: TermOp.MIN,
    AluOp.MAX: TermOp.MAX,
    AluOp.ADD: TermOp.ADD,
    AluOp.SHR: TermOp.SHR,
    AluOp.MUL: TermOp.MUL,
}
_IDENTITIES = {TermOp.ADD: 0, TermOp.SHR: 0, TermOp.MUL: 1}
"""The operand with which an operator changes nothing, whatever the other one is."""
_MODULAR = (TermOp.ADD, TermOp.MUL)
"""Operators whose result modulo 2^32 depends on their operands modulo 2^32."""
_WITHIN = (TermOp.MIN, TermOp.MAX, TermOp.SHR)
"""Operators that never leave 32 bits."""


@dataclass(frozen=True, slots=True)
class Values:
    """An operand of a step: a number for each channel, or one for all."""

    numbers: tuple[int, ...]

    @property
    def common(self) -> int | None:
        """The number of all channels; None if they differ."""
        return self.numbers[0] if len({*self.numbers}) == 1 else None


@dataclass(frozen=True, slots=True)
class Residual:
    """The operand that has a value for each element, from `low` to `high`, times a multiplier."""

    multiplier: int
    low: int = INT8.low
    high: int = INT8.high


@dataclass(frozen=True, slots=True)
class ResidualSum:
    """The sum of both kinds of operands: made by two passes over the residual before its use."""

    values: Values
    residual: Residual


Operand: TypeAlias = Values | Residual | ResidualSum


@dataclass(frozen=True, slots=True)
class ChainStep:
    """`x = op(x, operand)`; `identity` is whether that leaves every x that occurs as it is.

    `cut`, of a product, are the low bits that are cut off the product in full: it is
    `x * operand >> cut`, which fits 32 bits. None of a step that wraps.
    """

    op: AluOp
    operand: Operand
    identity: bool = False
    cut: int | None = None


@dataclass(frozen=True, slots=True)
class ChainPass:
    """A pass of the ALU that does one or several steps.

    Attributes
    ----------
    second
        The second operand; None of an operation without one.
    parameters
        What the operation's parameters are, as an immediate; None if it has none.
    before
        Passes over the residual before its use, if operations of the machine's own are among them.
    """

    op: AnyOperation
    second: Operand | None
    parameters: int | None = None
    before: tuple[ChainPass, ...] | None = None

    @property
    def ahead(self) -> tuple[ChainPass, ...]:
        """The passes over the residual before its use; none without one."""
        if self.before is not None:
            return self.before
        steps = residual_steps(self.second)
        return tuple(ChainPass(step.op, step.operand) for step in steps if not step.identity)

    @property
    def cost(self) -> tuple[int, int]:
        """Passes, those over the residual before its use among them; and operands in ACC."""
        match self.second:
            case Residual():
                return 1 + len(self.ahead), 0
            case ResidualSum():
                return 1 + len(self.ahead), sum(one.cost[1] for one in self.ahead)
            case Values(numbers=numbers) if self.parameters is None:
                common = self.second.common
                return 1, int(common is None or not is_immediate(numbers[0]))
            case Values():
                return 1, 1
            case None:
                return 1, 0


def residual_steps(operand: Operand | None) -> tuple[ChainStep, ...]:
    """The steps that make an operand of the residual's values; none of another operand."""
    match operand:
        case Residual(multiplier=factor):
            return (ChainStep(AluOp.MUL, Values((factor,)), factor == 1),)
        case ResidualSum(values=values, residual=residual):
            added = ChainStep(AluOp.ADD, values, not any(values.numbers))
            return (*residual_steps(residual), added)
        case _:
            return ()


def is_immediate(number: int) -> bool:
    """Whether a number fits the immediate of an instruction."""
    low, high = INT16
    return low <= number <= high


def chain_cost(passes: Sequence[ChainPass]) -> tuple[int, int]:
    """Passes and operands in ACC of a whole chain."""
    costs = [one.cost for one in passes]
    return sum(count for count, _ in costs), sum(tensors for _, tensors in costs)


Limits: TypeAlias = tuple[int, int]
"""The least and the greatest value of what the steps begin with."""


def cover(
    steps: Sequence[ChainStep],
    operations: Sequence[CustomOperation],
    limits: Limits | None = None,
) -> tuple[ChainPass, ...] | None:
    """The passes that do all steps: as few as possible, then with few operands in ACC. None if a
    step can be done by no pass: a product that is cut. `limits` are of what the steps begin with,
    if they are known."""
    best: list[tuple[ChainPass, ...] | None] = [()]
    for end in range(1, len(steps) + 1):
        found = (
            (*ahead, *made)
            for begin, ahead in enumerate(best)
            if ahead is not None
            for made in _passes(steps[begin:end], operations, None if begin else limits)
        )
        best.append(min(found, key=chain_cost, default=None))
    return best[-1]


def _passes(
    steps: Sequence[ChainStep], operations: Sequence[CustomOperation], limits: Limits | None
) -> Iterator[tuple[ChainPass, ...]]:
    """Ways to do a run of steps by one pass, or by none."""
    if all(step.identity for step in steps):
        yield ()
    if len(steps) == 1 and steps[0].cut is None:
        yield (ChainPass(steps[0].op, steps[0].operand),)
    for operation in operations:
        found = match_operation(operation, steps, limits)
        if found is not None:
            yield (_with_residual(found, operations),)


def _with_residual(one: ChainPass, operations: Sequence[CustomOperation]) -> ChainPass:
    """The pass, with operations over its residual where these save passes."""
    match one.second:
        case ResidualSum(residual=residual):
            limits = residual.low, residual.high
            made = cover(residual_steps(one.second), operations, limits)
            if made is not None and len(made) < len(one.ahead):
                return replace(one, before=made)
        case _:
            pass
    return one


@dataclass(frozen=True, slots=True)
class _Bound:
    """What the names of a term stand for, as far as known.

    `fields` are terms of the second operand alone, other than itself, with what they have to be;
    to one of them, `added`, the residual is added.
    """

    second: Operand | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)
    fields: tuple[tuple[Term, Values], ...] = ()
    added: tuple[Term, Residual] | None = None

    @property
    def operand(self) -> Operand | None:
        """The second operand, packed of its fields if there are any.

        Raises
        ------
        FieldError
            No numbers have these fields.
        """
        if not self.fields:
            return self.second
        if self.second is not None:
            raise FieldError("an operand beside its own fields")
        values = Values(packed([(term, values.numbers) for term, values in self.fields]))
        if self.added is None:
            return values
        own, residual = self.added
        others = [term for term, _ in self.fields if term != own]
        if not takes_multiples(own, others, residual.multiplier):
            raise FieldError(f"the residual is no part of {own}")
        for number in (residual.low, residual.high):
            reached = [each + number * residual.multiplier for each in values.numbers]
            if not INT32.low <= min(reached) <= max(reached) <= INT32.high:
                raise FieldError(f"{residual} makes operands of over {BITS} bits")
        return ResidualSum(values, residual)


def match_operation(
    operation: CustomOperation, steps: Sequence[ChainStep], limits: Limits | None = None
) -> ChainPass | None:
    """The pass by which an operation does a run of steps; None if its term is another. `limits` are
    of what the steps begin with, if they are known."""
    result = operation.result if limits is None else _uncast(operation.result, limits)
    found = next(_chain(operation, result, len(steps), steps, _Bound(), wraps=True), None)
    if found is None or found.parameters.keys() != {one.name for one in operation.parameters}:
        return None
    try:
        second = found.operand
    except FieldError:
        return None
    if operation.reads_second != (second is not None):
        return None
    immediate = operation.immediate(found.parameters) if operation.parameters else None
    return ChainPass(operation, second, immediate)


def _uncast(term: Term, limits: Limits) -> Term:
    """The term without casts of the first operand that change none of its values."""
    match term:
        case Cast(saturates=False, term=Name(name="a")):
            (low, high), (least, greatest) = term.limits, limits
            return Name("a") if low <= least and greatest <= high else term
        case Cast():
            return replace(term, term=_uncast(term.term, limits))
        case Binary():
            left, right = (_uncast(part, limits) for part in (term.left, term.right))
            return replace(term, left=left, right=right)
        case _:
            return term


def _chain(
    operation: CustomOperation,
    term: Term,
    count: int,
    steps: Sequence[ChainStep],
    bound: _Bound,
    *,
    wraps: bool,
) -> Iterator[_Bound]:
    """Bindings with which `term` is what the first `count` steps compute; modulo 2^32 if `wraps`,
    where only the low 32 bits of its value count."""
    if isinstance(term, Name) and term.name == "a" and count == 0:
        yield bound
        return
    match term:
        case Cast(saturates=True):
            low, high = map(Number, term.limits)
            term = Binary(TermOp.MIN, Binary(TermOp.MAX, term.term, low), high)
        case Cast(width=width, signed=signed):
            if (width, signed) == (BITS, True):
                yield from _chain(operation, term.term, count, steps, bound, wraps=True)
            return
        case _:
            pass
    if count and steps[count - 1].identity:
        yield from _chain(operation, term, count - 1, steps, bound, wraps=wraps)
    if not isinstance(term, Binary):
        return
    if count and (cut := steps[count - 1].cut) is not None:
        yield from _cut_product(operation, term, cut, count, steps, bound)
        return
    for at in range(max(count - 3, 0), count - 1):
        if (cut := steps[at].cut) is not None:
            added = _sum_of(steps[at + 1 : count], cut)
            if added is not None:
                yield from _cut_sum(operation, term, added, cut, steps[: at + 1], bound)
    if not (wraps or term.op in _WITHIN):
        return
    if count and term.op is TermOp.SHR and steps[count - 1].op is AluOp.SHR:
        yield from _shifts(operation, term, count, steps, bound)
    if count and term.op is TermOp.SHL and steps[count - 1].op is AluOp.MUL:
        yield from _multiple(operation, term, count, steps, bound)
    wraps = wraps and term.op in _MODULAR
    for rest, side in ((term.left, term.right), (term.right, term.left)):
        if "a" not in names_of(rest) or "a" in names_of(side):
            continue
        if rest is term.right and not term.op.commutes:
            continue
        if count and term.op is not TermOp.SHR and TERM_OPS.get(steps[count - 1].op) is term.op:
            for own in _operand(operation, side, steps[count - 1].operand, bound):
                yield from _chain(operation, rest, count - 1, steps, own, wraps=wraps)
        if term.op in _IDENTITIES:
            for own in _operand(operation, side, Values((_IDENTITIES[term.op],)), bound):
                yield from _chain(operation, rest, count, steps, own, wraps=wraps)


def _cut_product(
    operation: CustomOperation,
    term: Binary,
    cut: int,
    count: int,
    steps: Sequence[ChainStep],
    bound: _Bound,
) -> Iterator[_Bound]:
    """As `_chain`, where the last step is a product in full without its `cut` low bits."""
    match term:
        case Binary(TermOp.SHR, Binary(TermOp.MUL, left, right), amount):
            for rest, side in ((left, right), (right, left)):
                if "a" in names_of(rest) and "a" not in names_of(side):
                    for own in _operand(operation, amount, Values((cut,)), bound):
                        for both in _operand(operation, side, steps[count - 1].operand, own):
                            yield from _chain(operation, rest, count - 1, steps, both, wraps=False)
        case _:
            pass


def _cut_sum(
    operation: CustomOperation,
    term: Binary,
    added: Operand,
    cut: int,
    steps: Sequence[ChainStep],
    bound: _Bound,
) -> Iterator[_Bound]:
    """As `_chain`, where the last steps are a product that is cut, and sums: as one number is added
    before the cut, whose low bits are zeros. `steps` end with the product."""
    match term:
        case Binary(TermOp.SHR, Binary(TermOp.ADD, left, right), amount):
            for rest, side in ((left, right), (right, left)):
                if "a" in names_of(rest) and "a" not in names_of(side):
                    for own in _operand(operation, side, added, bound):
                        product = Binary(TermOp.SHR, rest, amount)
                        yield from _cut_product(operation, product, cut, len(steps), steps, own)
        case _:
            pass


def _sum_of(steps: Sequence[ChainStep], cut: int) -> Operand | None:
    """What sums after a cut add before it; None if the steps are no sum of a number, and of the
    residual in the second place of two."""
    if any(step.op is not AluOp.ADD for step in steps):
        return None
    match sorted((step.operand for step in steps), key=lambda one: isinstance(one, Residual)):
        case [Values(numbers=numbers)]:
            return Values(tuple(number << cut for number in numbers))
        case [Values(numbers=numbers), Residual() as residual]:
            values = Values(tuple(number << cut for number in numbers))
            return ResidualSum(values, replace(residual, multiplier=residual.multiplier << cut))
        case _:
            return None


def _multiple(
    operation: CustomOperation,
    term: Binary,
    count: int,
    steps: Sequence[ChainStep],
    bound: _Bound,
) -> Iterator[_Bound]:
    """As `_chain`, modulo 2^32, where the last step is a product with a factor that ends in zeros:
    these are at the end of the product."""
    match term.right, steps[count - 1].operand:
        case Number(value=zeros), Values(numbers=numbers):
            if not any(number % (1 << zeros) for number in numbers):
                short = Values(tuple(number >> zeros for number in numbers))
                last = replace(steps[count - 1], operand=short)
                own = (*steps[: count - 1], last)
                yield from _chain(operation, term.left, count, own, bound, wraps=True)
        case _:
            pass


def _shifts(
    operation: CustomOperation,
    term: Binary,
    count: int,
    steps: Sequence[ChainStep],
    bound: _Bound,
) -> Iterator[_Bound]:
    """As `_chain`, where the last step is a shift: by the sum of amounts, all but one numbers."""
    rest: Term = term
    numbers, others = 0, list[Term]()
    while isinstance(rest, Binary) and rest.op is TermOp.SHR:
        match rest.right:
            case Number(value=value):
                numbers += value
            case amount:
                others.append(amount)
        rest = rest.left
    operand = steps[count - 1].operand
    if others and numbers:
        common = operand.common if isinstance(operand, Values) else None
        if common is None:
            return
        operand = Values((common - numbers,))
    if len(others) <= 1:
        (amount,) = others or (Number(numbers),)
        for own in _operand(operation, amount, operand, bound):
            yield from _chain(operation, rest, count - 1, steps, own, wraps=False)


def _operand(
    operation: CustomOperation, side: Term, operand: Operand, bound: _Bound
) -> Iterator[_Bound]:
    """Bindings with which `side`, beside the chain, is the operand of a step."""
    common = operand.common if isinstance(operand, Values) else None
    match side:
        case Name(name="b"):
            if bound.second is None and not isinstance(operand, ResidualSum):
                yield replace(bound, second=operand)
        case Name(name=name):
            (parameter,) = (one for one in operation.parameters if one.name == name)
            low, high = parameter.limits
            if common is not None and low <= common <= high:
                if bound.parameters.get(name, common) == common:
                    yield replace(bound, parameters={**bound.parameters, name: common})
        case Number(value=value):
            if common == value:
                yield bound
        case _ if names_of(side) == ("b",) and is_field(side) and isinstance(operand, Values):
            yield replace(bound, fields=(*bound.fields, (side, operand)))
        case _ if isinstance(operand, ResidualSum):
            if names_of(side) == ("b",) and is_field(side) and bound.added is None:
                fields = (*bound.fields, (side, operand.values))
                yield replace(bound, fields=fields, added=(side, operand.residual))
        case Binary(op=TermOp.MUL, left=left, right=right) if isinstance(operand, Residual):
            for second, factor in ((left, right), (right, left)):
                if second == Name("b"):
                    scaled = replace(operand, multiplier=1)
                    for own in _operand(operation, second, scaled, bound):
                        yield from _operand(operation, factor, Values((operand.multiplier,)), own)
        case _:
            pass
