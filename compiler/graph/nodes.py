"""Nodes of graphs. The grammar is in `compiler.graph`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from compiler.errors import GraphError
from compiler.graph.attributes import NOTHING, Attributes
from compiler.graph.constant import Constant
from compiler.graph.opspec import AnyOp
from compiler.graph.types import Type

__all__ = [
    "Atom",
    "Body",
    "Call",
    "Findings",
    "Function",
    "FunctionKind",
    "If",
    "Let",
    "Module",
    "OperatorTypes",
    "Param",
    "Tuple",
    "TupleGet",
    "Types",
    "Value",
    "Var",
]


@dataclass(frozen=True, slots=True)
class Var:
    """What a parameter or a `Let` is called."""

    name: str


Atom: TypeAlias = Var | Constant
"""What a value is made of: a name or a constant, never another value."""


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function of atoms. Only operators have attributes."""

    callee: AnyOp | Function
    args: tuple[Atom, ...]
    attributes: Attributes = NOTHING


@dataclass(frozen=True, slots=True)
class Tuple:
    """Several values as one."""

    items: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class TupleGet:
    """One value of a tuple, counted from 0."""

    operand: Var
    index: int


@dataclass(frozen=True, slots=True)
class If:
    """One of two bodies, as a bool scalar says. They may name what is around them."""

    condition: Atom
    then: Body
    otherwise: Body


Value: TypeAlias = Call | Tuple | TupleGet | If


@dataclass(frozen=True, slots=True)
class Let:
    """A name for a value, from here to the end of its body.

    Attributes
    ----------
    type
        The value's, or None where nobody has said it yet.
    origin
        The value of the user's network that this value computes, or computes a part of; None where
        the value is the user's own, or a second one for the same value. Equality, digests and the
        text leave it out: two values are the same wherever they come from.
    reason
        Why no other target than the host takes the value, where one was asked; left out likewise.
    """

    name: str
    value: Value
    type: Type | None = None
    origin: str | None = field(default=None, repr=False, compare=False)
    reason: str | None = field(default=None, repr=False, compare=False)

    @property
    def source(self) -> str:
        """What reports call the value: as the user does, where that is known."""
        return self.origin or self.name


@dataclass(frozen=True, slots=True)
class Body:
    """Names for values, one after the other, and which of them is the result."""

    lets: tuple[Let, ...]
    result: Atom


@dataclass(frozen=True, slots=True)
class Param:
    """An argument's name and type."""

    name: str
    type: Type


class FunctionKind(Enum):
    """What a function is for; the value is how the text calls it."""

    FUNC = "func"
    """A part of a program."""
    KERNEL = "kernel"
    """Operators that one piece of code computes: no function is called, nothing is decided."""
    STREAM = "stream"
    """Calls of kernels of one target only, which it runs as one."""


@dataclass(frozen=True, slots=True)
class Types:
    """The types of all names in a function, and of its result."""

    names: Mapping[str, Type]
    result: Type


OperatorTypes: TypeAlias = dict[tuple[AnyOp, str, tuple[Type, ...]], Type]
"""Of results, by operator, text of the attributes and types of the operands."""


@dataclass(slots=True)
class Findings:
    """What has been found out about a function. It never changes, so that nobody, after one pass
    and before the next, has to find it out again.

    Attributes
    ----------
    types
        None where nobody has inferred them.
    well_formed
        It obeys the rules for its own names and values.
    legal
        And so do all that it calls, with it.
    calls
        The types of operators' results: shared by functions that were made of each other.
    """

    types: Types | None = None
    well_formed: bool = False
    legal: bool = False
    calls: OperatorTypes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Function:
    """A function. Two are the same if their text is, types that nobody has said included.

    Attributes
    ----------
    result
        The result's type, or None where nobody has said it yet.
    digest
        A hash of it all: of functions that are called their digests, so that it takes time linear
        in the program however often they are called.
    findings
        What `infer` and `verify` keep.
    target
        The name of the target that a kernel or stream is for; empty for the host.
    """

    name: str
    params: tuple[Param, ...]
    body: Body
    result: Type | None = None
    kind: FunctionKind = FunctionKind.FUNC
    target: str = ""
    digest: str = field(init=False)
    findings: Findings = field(init=False, default_factory=Findings)

    def __post_init__(self) -> None:
        try:
            content = repr((self.name, self.params, self.body, self.result, self.kind, self.target))
        except RecursionError as error:
            raise GraphError(f"function {self.name} is nested too deeply") from error
        digest = hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
        object.__setattr__(self, "digest", digest)

    def follows(self, other: Function) -> None:
        """Takes over what is known of a function that this one was made of."""
        self.findings.calls = other.findings.calls
        if self == other:
            self.findings.types = other.findings.types
            self.findings.well_formed = other.findings.well_formed
            self.findings.legal = other.findings.legal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Function({self.name}, {self.digest})"


@dataclass(frozen=True, slots=True)
class Module:
    """Functions, each after those that it calls."""

    functions: tuple[Function, ...]
