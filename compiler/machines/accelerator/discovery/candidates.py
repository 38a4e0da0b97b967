"""Candidates: the operations that runs of ALU steps have in common (anti-unification).

Of a shape that occurs with several numbers, a number that is the same everywhere is a constant of
the operation; one that differs is a parameter, as wide as its numbers need, or the constant that
most vectors have. Parameters have to fit the instruction's immediate; where they do not, the widest
factor gets the bits that are left, or the candidate is dropped. Shifts begin at the least amount:
`>> 8 >> shift`. Factors for each channel of products that are cut have 16 bits, or the low 15 of an
operand whose others are an addend. A residual that is added to such an operand has eight bits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.accelerator.discovery.chains import (
    FACTOR_BITS,
    FIELD_BITS,
    LayerChains,
)
from tandem.compiler.machines.accelerator.discovery.shapes import (
    Role,
    Shape,
    ShapeStep,
    occurrences,
)
from tandem.compiler.machines.accelerator.templates.custom_passes import TERM_OPS
from tandem.hw.alu_terms import BITS, Binary, Cast, Name, Number, Term, TermOp
from tandem.hw.custom_operations import PARAMETER_BITS, AluParameter, CustomOperation
from tandem.hw.errors import TermError
from tandem.hw.operations import MAX_SHIFT, AluOp

_NAMES: Mapping[tuple[AluOp, Role], str] = {
    (AluOp.SHR, Role.NUMBER): "shift",
    (AluOp.MAX, Role.NUMBER): "low",
    (AluOp.MIN, Role.NUMBER): "high",
    (AluOp.ADD, Role.NUMBER): "addend",
    (AluOp.MUL, Role.NUMBER): "factor",
    (AluOp.MUL, Role.MULTIPLE): "factor",
    (AluOp.ADD, Role.SCALED): "scale",
}
_OPERAND = Name("a")
_OTHERS = {Role.MULTIPLE: "SCALE"}
"""Names of steps that are not their operators'."""
_MODULAR = (AluOp.ADD, AluOp.MUL)
_NAME_LENGTH = 28
"""Of names without their numbers: of long runs the last steps are left out."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step with its operand, over `b` and the operation's parameters; `cut` as of `ChainStep`.
    What is `added` before the cut has as many zeros. The operand has `zeros` behind it."""

    op: TermOp
    operand: Term
    cut: int | None = None
    added: Term | None = None
    zeros: int = 0

    def applied(self, term: Term) -> Term:
        """The exact result of the step on a term."""
        found = Binary(self.op, term, self.operand)
        if self.zeros:
            found = Binary(TermOp.SHL, found, Number(self.zeros))
        if self.added is not None:
            found = Binary(TermOp.ADD, found, self.added)
        return found if self.cut is None else Binary(TermOp.SHR, found, Number(self.cut))

    @property
    def apart(self) -> tuple[Step, ...]:
        """The steps of the base instruction set, and of products that are cut: what is added is
        added after the cut, and operands have their zeros."""
        if self.zeros:
            shifted = Binary(TermOp.SHL, self.operand, Number(self.zeros))
            return (replace(self, operand=shifted, zeros=0),)
        if self.added is None or self.cut is None:
            return (self,)
        after = Binary(TermOp.SHR, self.added, Number(self.cut))
        return replace(self, added=None), Step(TermOp.ADD, after)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An operation that the ALU could have.

    Attributes
    ----------
    steps
        What the operation replaces: each of them wraps at 32 bits.
    first
        What the steps begin with: an operand of as many bits as it has where they are.
    """

    operation: CustomOperation
    steps: tuple[Step, ...]
    first: Term = _OPERAND

    @property
    def sequence(self) -> Term:
        """The steps as one term, in which the result of each wraps."""
        term = self.first
        for step in (part for whole in self.steps for part in whole.apart):
            operand = step.operand
            if isinstance(operand, Binary) and step.op is not TermOp.MUL:
                operand = Cast(BITS, True, operand)
            term = Cast(BITS, True, replace(step, operand=operand).applied(term))
        return term

    @property
    def parameter_bits(self) -> int:
        """The bits that its parameters take in the instruction."""
        return sum(parameter.width for parameter in self.operation.parameters)


@dataclass(frozen=True, slots=True)
class Dropped:
    """Runs of steps that no operation can do, and why."""

    shape: Shape
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates of some networks, and what was dropped."""

    candidates: tuple[Candidate, ...]
    dropped: tuple[Dropped, ...]


def find_candidates(layers: Iterable[LayerChains]) -> Found:
    """The candidates of layers, in an order that depends on the layers alone."""
    candidates: dict[tuple[Term, tuple[AluParameter, ...]], Candidate] = {}
    dropped: dict[Dropped, None] = {}
    taken: Counter[str] = Counter()
    for shape, weights in _by_shape(layers).items():
        for ranges in _generalisations(weights):
            found = _candidate(shape, ranges, weights, taken)
            if found is None:
                continue
            if isinstance(found, Dropped):
                dropped[found] = None
                continue
            key = found.operation.result, found.operation.parameters
            if key not in candidates:
                taken[_base_name(shape)] += 1
                candidates[key] = found
    return Found((*candidates.values(),), (*dropped,))


Range: TypeAlias = tuple[int, int]
FEW = 8
"""Amounts of a shifter with few levels."""
_Weights: TypeAlias = Mapping[tuple[int, ...], int]
"""The vectors that go through a shape with these numbers."""


def _by_shape(layers: Iterable[LayerChains]) -> Mapping[Shape, _Weights]:
    found: dict[Shape, Counter[tuple[int, ...]]] = defaultdict(Counter)
    for layer in layers:
        # Chains of a layer are alternatives: what occurs in several of them is there once.
        for one in dict.fromkeys(run for chain in layer.chains for run in occurrences(chain)):
            found[one.shape][one.numbers] += layer.vectors
    return found


def _generalisations(weights: _Weights) -> Iterator[tuple[Range, ...]]:
    """For each number of a shape the numbers that an operation has: one is a constant."""
    yield from product(*(tuple(_ranges(column, weights)) for column in zip(*weights, strict=True)))


def _ranges(column: Sequence[int], weights: _Weights) -> Iterator[Range]:
    """All numbers; the one that most vectors have; and the few beside each other that most have,
    if they are many."""
    low, high = min(column), max(column)
    yield low, high
    if low == high:
        return
    by_value: Counter[int] = Counter()
    for value, weight in zip(column, weights.values(), strict=True):
        by_value[value] += weight
    (most, _) = by_value.most_common(1)[0]
    yield most, most
    if 0 <= low and FEW <= high - low <= MAX_SHIFT:

        def vectors(begin: int) -> int:
            return sum(by_value[begin + more] for more in range(FEW))

        begin = max(sorted(by_value), key=vectors)
        yield begin, min(begin + FEW - 1, high)


def _candidate(
    shape: Shape, ranges: Sequence[Range], weights: _Weights, taken: Counter[str]
) -> Candidate | Dropped | None:
    """The operation with numbers in these ranges; None if no run has such."""
    numbered = [step for step in shape if step.role.has_number]
    mine = [
        numbers
        for numbers in weights
        if all(low <= number <= high for (low, high), number in zip(ranges, numbers, strict=True))
    ]
    if not mine:
        return None
    constants = [low if low == high else None for low, high in ranges]
    parameters: dict[int, AluParameter] = {}
    least: dict[int, int] = {}
    names: Counter[str] = Counter()
    for at, (step, constant) in enumerate(zip(numbered, constants, strict=True)):
        if constant is None:
            name = _NAMES[step.op, step.role]
            names[name] += 1
            suffix = str(names[name]) if names[name] > 1 else ""
            values = [numbers[at] for numbers in mine]
            if step.op is AluOp.SHR:
                least[at] = min(values)
                values = [value - least[at] for value in values]
            parameters[at] = _parameter(name + suffix, values)
    reason = _narrowed(numbered, parameters, least)
    if reason:
        return Dropped(shape, reason)
    terms = [
        Number(constant) if constant is not None else Name(parameters[at].name)
        for at, constant in enumerate(constants)
    ]
    steps = tuple(_steps(shape, terms, [least.get(at, 0) for at in range(len(terms))]))
    residual = shape[0].role is Role.MULTIPLE
    first = Cast(INT8.bits, True, Name("a")) if residual else _OPERAND
    base = _base_name(shape)
    name = base if not taken[base] else f"{base}_{taken[base] + 1}"
    try:
        operation = CustomOperation(name, _term(steps, first), (*parameters.values(),))
    except TermError as error:
        return Dropped(shape, str(error).partition(": ")[2])
    return Candidate(operation, steps, first)


def _narrowed(
    numbered: Sequence[ShapeStep], parameters: dict[int, AluParameter], least: Mapping[int, int]
) -> str:
    """Give the widest factor the bits that are left; why that is not possible, if it is not."""
    for at, lowest in least.items():
        if lowest < 0 or parameters[at].limits[1] > MAX_SHIFT:
            return f"{parameters[at].name} would be {parameters[at].type_text}, from {lowest} on"
    bits = sum(parameter.width for parameter in parameters.values())
    if bits <= PARAMETER_BITS:
        return ""
    reason = f"parameters of {bits} bits: the instruction has {PARAMETER_BITS} for them"
    factors = [at for at in parameters if numbered[at].op in _MODULAR]
    if not factors:
        return reason
    widest = max(factors, key=lambda at: parameters[at].width)
    own = parameters[widest]
    left = PARAMETER_BITS - (bits - own.width)
    if left < 2:
        return reason
    parameters[widest] = AluParameter(own.name, left, own.signed)
    return ""


def _parameter(name: str, values: Sequence[int]) -> AluParameter:
    """The narrowest parameter that can be any of the values."""
    low, high = min(values), max(values)
    if low < 0:
        return AluParameter(name, 1 + max((~low).bit_length(), high.bit_length()), True)
    return AluParameter(name, max(1, high.bit_length()), False)


def _steps(shape: Shape, numbers: Sequence[Term], least: Sequence[int]) -> Iterator[Step]:
    left = iter(zip(numbers, least, strict=True))
    for step in shape:
        match step.role:
            case Role.SECOND:
                operand: Term = Name("b")
                if step.cut is not None:
                    operand = Cast(FACTOR_BITS, False, operand)
            case Role.PACKED:
                number = Number(FIELD_BITS)
                high = Binary(TermOp.SHL, Binary(TermOp.SHR, Name("b"), number), number)
                yield Step(TermOp.MUL, Cast(FIELD_BITS, False, Name("b")), step.cut, high)
                continue
            case Role.SCALED:
                operand = Binary(TermOp.MUL, Name("b"), next(left)[0])
            case Role.NUMBER:
                operand, lowest = next(left)
                if lowest:
                    yield Step(TermOp.SHR, Number(lowest))
            case Role.MULTIPLE:
                yield Step(TermOp.MUL, next(left)[0], zeros=FIELD_BITS)
                continue
        yield Step(TERM_OPS[step.op], operand, step.cut)


def _term(steps: Sequence[Step], term: Term) -> Term:
    """The steps as one term, which begins with `term`: it wraps where a sum or a product goes into
    anything else, and where it would get too wide."""
    wide = False
    for step in steps:
        modular = step.op in (TermOp.ADD, TermOp.MUL)
        if wide and not (modular and step.op is TermOp.ADD):
            term = Cast(BITS, True, term)
            wide = False
        term = step.applied(term)
        wide = step.added is not None or wide or modular
    return Cast(BITS, True, term) if steps[-1].cut is not None else term


def _base_name(shape: Shape) -> str:
    """A name that tells the steps."""
    parts = [
        ("CUT" if step.cut is not None else _OTHERS.get(step.role, step.op.name))
        + ("_ADD" if step.role is Role.PACKED else "")
        + ("" if step.role in (Role.NUMBER, Role.MULTIPLE) else "B")
        for step in shape
    ]
    name = "_".join(parts) if parts != ["ADDB"] else "ADD_SCALED"
    return name[:_NAME_LENGTH].rstrip("_")
