"""Patterns of graph operators, and the matcher that binds their operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from tandem.compiler.errors import Refusal
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Body, Call, Let, Var
from tandem.compiler.graph.operators.compressed import Widen
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.visit import use_counts
from tandem.compiler.ir.dtypes import DType
from tandem.compiler.plan.codes import Codes

A = TypeVar("A", bound=Attributes)
WIDEN: Final = "widen"
"""The operator of codes."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that a pattern reads, bound to `name`.

    Attributes
    ----------
    dtype, ranks
        The required element type and the allowed ranks; by default any.
    constant
        Whether the tensor must be a constant or must not be; None allows both.
    """

    name: str
    dtype: DType | None = None
    ranks: tuple[int, ...] = ()
    constant: bool | None = False


def _any_attributes(_: Attributes) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator with a pattern for each operand.

    Attributes
    ----------
    where
        Predicate on the operator's attributes.
    requires
        Description of `where` for error messages.
    recomputed
        Whether the value may have users outside the match, for which it is recomputed.
    """

    operator: str
    operands: tuple[Pattern, ...]
    where: Callable[[Attributes], bool] = _any_attributes
    requires: str = ""
    recomputed: bool = False


Pattern: TypeAlias = Operand | Apply


def inner_patterns(pattern: Pattern) -> Iterator[Apply]:
    """All sub-patterns of a pattern that are operators, without the outermost operator."""
    for operand in pattern.operands if isinstance(pattern, Apply) else ():
        if isinstance(operand, Apply):
            yield operand
            yield from inner_patterns(operand)


class Mismatch(Refusal):
    """The error that a value is computed by another operator than a pattern requires.

    Attributes
    ----------
    value
        The value's position in the pattern, such as `data of relu`.
    found, wanted
        Names of the actual operator and of the required operators.
    """

    def __init__(self, value: str, found: str, *wanted: str) -> None:
        super().__init__(f"{value} comes from {found}, not from {' or '.join(wanted)}")
        self.value, self.found, self.wanted = value, found, wanted


class Incomplete(Refusal):
    """The error that an operator is part of patterns only whose other operators are missing."""


class OtherType(Refusal):
    """The error that a tensor has another element type than a pattern requires.

    Attributes
    ----------
    is_real
        Whether the tensor has real numbers where integers are required.
    """

    def __init__(self, value: str, found: DType, wanted: DType) -> None:
        super().__init__(f"{value} is {found}, not {wanted}")
        self.is_real = found.is_float and not wanted.is_float


@dataclass(frozen=True, slots=True)
class Match:
    """Operators of a graph that match a pattern.

    Attributes
    ----------
    lets
        The operators in the body's order; the value of the last one is the result.
    operands
        The bound values and constants, by the names of the pattern's operands. A constant that the
        graph widens from constant codes is the widened one.
    codes
        The codes of these, by the operands' names.
    """

    lets: tuple[Let, ...]
    operands: Mapping[str, Atom]
    codes: Mapping[str, Codes] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the result."""
        return self.lets[-1].name

    @property
    def computed(self) -> tuple[str, ...]:
        """Names of the operands that are not constant, in the pattern's order."""
        return tuple(name for name, bound in self.operands.items() if isinstance(bound, Var))

    @property
    def operators(self) -> tuple[str, ...]:
        """Names of the operators, those that widen codes last."""
        names = [_call(let).callee.name for let in self.lets]
        return tuple(sorted(names, key=lambda name: name == WIDEN))

    def let(self, operator: str) -> Let:
        """The first operator of that name."""
        return next(let for let in self.lets if _call(let).callee.name == operator)

    def attributes(self, operator: str, kind: type[A]) -> A:
        """The attributes, of type `kind`, of the first operator of that name."""
        found = _call(self.let(operator)).attributes
        assert isinstance(found, kind), "verified"
        return found

    def constant(self, operand: str) -> Constant:
        """The value of an operand that the pattern requires to be constant."""
        found = self.operands[operand]
        assert isinstance(found, Constant), "matched as such"
        return found

    def variable(self, operand: str) -> str:
        """The name of an operand that is computed."""
        found = self.operands[operand]
        assert isinstance(found, Var), "matched as such"
        return found.name


@dataclass(frozen=True)
class Matcher:
    """A matcher of patterns against the values of a body.

    Attributes
    ----------
    types
        Types of all values in the body.
    through
        Names of layout operators, which matching skips.
    known
        Constants by the names of the parameters that are bound to constants.
    """

    body: Body
    types: Mapping[str, Type]
    through: frozenset[str] = frozenset()
    known: Mapping[str, Constant] = field(default_factory=dict)
    _made: dict[str, Let] = field(init=False, default_factory=dict)
    _uses: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._made.update((let.name, let) for let in self.body.lets)
        self._uses.update(use_counts(self.body))

    def at(self, pattern: Apply, name: str) -> Match:
        """The match whose result is the value `name`.

        Raises
        ------
        Refusal
            The pattern does not match; the message says why.
        """
        lets: dict[str, Let] = {}
        operands: dict[str, Atom] = {}
        self._match(pattern, Var(name), lets, operands, "the result")
        codes: dict[str, Codes] = {}
        for operand, bound in operands.items():
            found = self._codes(bound)
            if found is not None and isinstance(bound, Var) and bound.name in lets:
                codes[operand], operands[operand] = found, found.widened
        ordered = tuple(let for let in self.body.lets if let.name in lets)
        return Match(ordered, operands, codes)

    def plain(self, atom: Atom) -> Atom:
        """The value of `atom` before layout operators, or the constant bound to that value."""
        while isinstance(atom, Var):
            if atom.name in self.known:
                return self.known[atom.name]
            match self._made.get(atom.name):
                case Let(value=Call(callee=callee, args=args)) if callee.name in self.through:
                    atom = args[0]
                case _:
                    return atom
        return atom

    def _match(
        self,
        pattern: Pattern,
        atom: Atom,
        lets: dict[str, Let],
        operands: dict[str, Atom],
        place: str,
    ) -> None:
        plain = self.plain(atom)
        if isinstance(pattern, Operand):
            coded = pattern.constant is True and self._codes(plain) is not None
            if coded:
                assert isinstance(plain, Var), "computed from codes"
                lets[plain.name] = self._made[plain.name]
            self._check(pattern, atom, plain, place, coded)
            operands[pattern.name] = plain
            return
        let = self._made.get(plain.name) if isinstance(plain, Var) else None
        call = None if let is None else let.value
        if let is None or not isinstance(call, Call) or not isinstance(call.callee, OpSpec):
            outside = "an input" if let is None else "a branch, a call or a tuple"
            raise Mismatch(place, outside, pattern.operator)
        operator = call.callee.name
        if operator != pattern.operator:
            raise Mismatch(place, operator, pattern.operator)
        subject = operator if lets else "it"
        if not pattern.where(call.attributes):
            raise Refusal(f"{subject} is done {pattern.requires}")
        if lets and not pattern.recomputed and self._uses[let.name] != 1:
            raise Refusal(
                f"the result of {operator} is used {self._uses[let.name]} times, and leaves the "
                "array once"
            )
        lets[let.name] = let
        root = len(lets) == 1
        for number, (operand, arg) in enumerate(zip(pattern.operands, call.args, strict=False)):
            name = call.callee.operands.name(number)
            place = f"its {name}" if root else f"{name} of {operator}"
            self._match(operand, arg, lets, operands, place)
        if len(call.args) != len(pattern.operands):
            counts = len(call.args), len(pattern.operands)
            raise Refusal(f"{subject} has {counts[0]} operands, not {counts[1]}")

    def _codes(self, atom: Atom) -> Codes | None:
        """The codes that a value is widened from, if these are constant."""
        let = self._made.get(atom.name) if isinstance(atom, Var) else None
        match let:
            case Let(value=Call(attributes=Widen() as attributes, args=args)):
                given = [self.plain(each) for each in args]
                codes, scales = (*given, None)[:2]
                if isinstance(codes, Constant) and (scales is None or isinstance(scales, Constant)):
                    return Codes(codes, scales, attributes)
        return None

    def _check(self, pattern: Operand, atom: Atom, plain: Atom, place: str, coded: bool) -> None:
        constant = coded or isinstance(plain, Constant)
        if pattern.constant is not None and constant != pattern.constant:
            kind = "computed when the network runs" if pattern.constant else "a constant"
            raise Refusal(f"{place} is {kind}")
        found = atom.type if isinstance(atom, Constant) else self.types[atom.name]
        if not isinstance(found, TensorType):
            raise Refusal(f"{place} is no tensor")
        if pattern.dtype is not None and found.dtype != pattern.dtype:
            raise OtherType(place, found.dtype, pattern.dtype)
        if pattern.ranks and len(found.shape) not in pattern.ranks:
            allowed = " or ".join(map(str, pattern.ranks))
            raise Refusal(f"{place} has {len(found.shape)} dimensions, not {allowed}")


def _call(let: Let) -> Call:
    assert isinstance(let.value, Call), "matched as such"
    return let.value
