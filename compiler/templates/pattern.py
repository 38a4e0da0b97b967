"""Patterns of operators, and the one matcher that finds them and binds their operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from compiler.errors import Unsupported
from compiler.graph.attributes import Attributes
from compiler.graph.constant import Constant
from compiler.graph.nodes import Atom, Body, Call, Let, Var
from compiler.graph.opspec import OpSpec
from compiler.graph.types import TensorType, Type
from compiler.graph.visit import use_counts
from compiler.ir.dtypes import DType

__all__ = ["Apply", "Match", "Matcher", "Mismatch", "Operand", "Pattern", "inner_patterns"]

A = TypeVar("A", bound=Attributes)


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that a pattern reads, bound to `name`.

    Attributes
    ----------
    dtype, ranks
        What it has to be; any where not said.
    constant
        Whether it has to be known when the network is compiled, or must not be; None: either.
    """

    name: str
    dtype: DType | None = None
    ranks: tuple[int, ...] = ()
    constant: bool | None = False


def _any_attributes(_: Attributes) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator of patterns, an operand each.

    Attributes
    ----------
    where
        Which attributes it may have.
    requires
        What `where` asks for, for messages.
    recomputed
        Other users of its value do not matter: it is cheap enough to be computed for each.
    """

    operator: str
    operands: tuple[Pattern, ...]
    where: Callable[[Attributes], bool] = _any_attributes
    requires: str = ""
    recomputed: bool = False


Pattern: TypeAlias = Operand | Apply


def inner_patterns(pattern: Pattern) -> Iterator[Apply]:
    """The operators of a pattern but the result's, with what they read."""
    for operand in pattern.operands if isinstance(pattern, Apply) else ():
        if isinstance(operand, Apply):
            yield operand
            yield from inner_patterns(operand)


class Mismatch(Unsupported):
    """A value that another operator computes than a pattern says.

    Attributes
    ----------
    value
        What reads the value, and as what.
    found, wanted
        The operators.
    """

    def __init__(self, value: str, found: str, *wanted: str) -> None:
        super().__init__(f"{value} comes from {found}, not from {' or '.join(wanted)}")
        self.value, self.found, self.wanted = value, found, wanted


@dataclass(frozen=True, slots=True)
class Match:
    """Operators that are an instance of a pattern.

    Attributes
    ----------
    lets
        The operators, each after those that it reads; the last one's value is the result.
    operands
        By the names of the pattern's operands.
    """

    lets: tuple[Let, ...]
    operands: Mapping[str, Atom]

    @property
    def name(self) -> str:
        """Of the result."""
        return self.lets[-1].name

    @property
    def computed(self) -> tuple[str, ...]:
        """The operands that are no constants, in the pattern's order."""
        return tuple(name for name, bound in self.operands.items() if isinstance(bound, Var))

    @property
    def operators(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(_call(let).callee.name for let in self.lets)

    def let(self, operator: str) -> Let:
        """The first operator of that name."""
        return next(let for let in self.lets if _call(let).callee.name == operator)

    def attributes(self, operator: str, kind: type[A]) -> A:
        """Those of that operator, which are of that kind."""
        found = _call(self.let(operator)).attributes
        assert isinstance(found, kind), "verified"
        return found

    def constant(self, operand: str) -> Constant:
        """An operand that the pattern declares as constant."""
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
    """Looks for patterns in a body.

    Attributes
    ----------
    types
        Of all values in it.
    through
        Operators that say only how a tensor lies: patterns do not see them.
    known
        Constants by the names that stand for them here, as parameters do.
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
        """The match whose result is that value.

        Raises
        ------
        Unsupported
            There is none: says what is in the way.
        """
        lets: dict[str, Let] = {}
        operands: dict[str, Atom] = {}
        self._match(pattern, Var(name), lets, operands, "the result")
        ordered = tuple(let for let in self.body.lets if let.name in lets)
        return Match(ordered, operands)

    def plain(self, atom: Atom) -> Atom:
        """The value without what only says how it lies; a constant, where it stands for one."""
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
            self._check(pattern, atom, plain, place)
            operands[pattern.name] = plain
            return
        let = self._made.get(plain.name) if isinstance(plain, Var) else None
        call = None if let is None else let.value
        if let is None or not isinstance(call, Call) or not isinstance(call.callee, OpSpec):
            raise Mismatch(place, "no operator", pattern.operator)
        operator = call.callee.name
        if operator != pattern.operator:
            raise Mismatch(place, operator, pattern.operator)
        if not pattern.where(call.attributes):
            raise Unsupported(f"{operator} is done {pattern.requires}")
        if lets and not pattern.recomputed and self._uses[let.name] != 1:
            raise Unsupported(f"the result of {operator} is used {self._uses[let.name]} times")
        lets[let.name] = let
        for number, (operand, arg) in enumerate(zip(pattern.operands, call.args, strict=False)):
            name = call.callee.operands.name(number)
            self._match(operand, arg, lets, operands, f"{name} of {operator}")
        if len(call.args) != len(pattern.operands):
            raise Unsupported(
                f"{operator} has {len(call.args)} operands, not {len(pattern.operands)}"
            )

    def _check(self, pattern: Operand, atom: Atom, plain: Atom, place: str) -> None:
        if pattern.constant is not None and isinstance(plain, Constant) != pattern.constant:
            kind = "computed when the network runs" if pattern.constant else "a constant"
            raise Unsupported(f"{place} is {kind}")
        found = atom.type if isinstance(atom, Constant) else self.types[atom.name]
        if not isinstance(found, TensorType):
            raise Unsupported(f"{place} is no tensor")
        if pattern.dtype is not None and found.dtype != pattern.dtype:
            raise Unsupported(f"{place} is {found.dtype}, not {pattern.dtype}")
        if pattern.ranks and len(found.shape) not in pattern.ranks:
            allowed = " or ".join(map(str, pattern.ranks))
            raise Unsupported(f"{place} has {len(found.shape)} dimensions, not {allowed}")


def _call(let: Let) -> Call:
    assert isinstance(let.value, Call), "matched as such"
    return let.value
