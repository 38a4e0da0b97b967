"""Nodes of graphs. The grammar is in `compiler.graph`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.opspec import AnyOp
from tandem.compiler.graph.reasons import Reason, describe
from tandem.compiler.graph.types import NO_DECLARATIONS, Declarations, FunctionType, Type


@dataclass(frozen=True, slots=True)
class Var:
    """The name of a parameter or of a `Let`."""

    name: str


Atom: TypeAlias = Var | Constant
"""An operand of a value: a name or a constant, never another value."""


@dataclass(frozen=True, slots=True)
class Global:
    """The name of a function of the program, with its type: a callee that may be recursive, or a
    function that becomes a value.

    The type makes inference local: a function's types follow from its own text.
    """

    name: str
    type: FunctionType


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an operator or a function on atoms. Only operators have attributes.

    A function is called as a value, and then closed, or by name.
    """

    callee: AnyOp | Function | Global
    args: tuple[Atom, ...]
    attributes: Attributes = NO_ATTRIBUTES


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple of atoms."""

    items: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class TupleGet:
    """Item `index` of a tuple, counted from 0."""

    operand: Var
    index: int


@dataclass(frozen=True, slots=True)
class If:
    """One of two bodies, chosen by a bool scalar. Bodies may use the names in scope at the `if`."""

    condition: Atom
    then: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Partial:
    """A function as a value whose first arguments are given; the function itself without any.

    The callee is a function by name, or a value that is a function.
    """

    callee: Global | Var
    args: tuple[Atom, ...] = ()


@dataclass(frozen=True, slots=True)
class Gradient:
    """A function as a value: of the parameters of another one, which gives the gradients of that
    one's result, a float scalar or a tuple that begins with one.

    Modules have it, and programs do not (`gradients.expand`).

    Attributes
    ----------
    callee
        The other function, by name.
    wrt
        The numbers of the parameters whose gradients are wanted, from 0; without any, of all that
        have floats.
    with_value
        Whether it gives the other function's result too, before the gradients.
    """

    callee: Global
    wrt: tuple[int, ...] = ()
    with_value: bool = False


@dataclass(frozen=True, slots=True)
class Fun:
    """A function that is written where it is used, as a value. Its body may use the names in scope
    there, as they are when the value is computed."""

    params: tuple[Param, ...]
    body: Body
    result: Type | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """A call of a value that is a function, on all its arguments."""

    callee: Var
    args: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Construct:
    """A value of a data type, by one of its constructors.

    Attributes
    ----------
    declared
        What the constructor's name means.
    arguments
        The arguments of the type; empty if it has none, or if the fields say them.
    """

    constructor: str
    declared: Declarations
    args: tuple[Atom, ...]
    arguments: tuple[Type, ...] = ()


@dataclass(frozen=True, slots=True)
class Arm:
    """What a `match` results in for one constructor.

    Attributes
    ----------
    constructor
        None for all that no arm before names.
    fields
        The names of the constructor's fields, in scope in the body.
    """

    constructor: str | None
    fields: tuple[str, ...]
    body: Body


@dataclass(frozen=True, slots=True)
class Match:
    """The body of the arm for the constructor of a value. Bodies may use the names in scope at the
    `match`, and the names of their arm's fields."""

    operand: Var
    arms: tuple[Arm, ...]


Value: TypeAlias = (
    Call | Tuple | TupleGet | If | Partial | Gradient | Fun | Apply | Construct | Match
)


@dataclass(frozen=True, slots=True)
class ModelNode:
    """A node of the user's model, from which values of the graph come.

    Attributes
    ----------
    operator, name
        As the model has them; a node may be without a name.
    parts
        The number of values that compute it.
    """

    operator: str
    name: str
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Let:
    """Binds a name to a value, in scope from here to the end of the body.

    Attributes
    ----------
    type
        The value's type, or None if it is not declared.
    origin
        The name of the value in the user's network that this value computes in full or in part;
        None for the user's own values, and for a second value of the same origin. Not part of
        equality, digests and the text.
    reasons
        Why the host computes the value, if others might have. Not part of equality, digests and the
        text.
    node
        The node of the user's model that the value computes in full or in part; None where that is
        not known. Not part of equality, digests and the text.
    keep_float
        Whether the user wants it in real numbers, whatever quantisation could do. Not part of
        equality, digests and the text.
    replaced
        The names of the operators that the value computes, in order, where its own operator stands
        for others, as a look-up does. Not part of equality, digests and the text.
    joined
        The names, in the user's network, of values that would be results of kernels of their own if
        the kernel that is called did not join their operators. Not part of equality, digests and
        the text.
    """

    name: str
    value: Value
    type: Type | None = None
    origin: str | None = field(default=None, repr=False, compare=False)
    reasons: tuple[Reason, ...] = field(default=(), repr=False, compare=False)
    node: ModelNode | None = field(default=None, repr=False, compare=False)
    keep_float: bool = field(default=False, repr=False, compare=False)
    replaced: tuple[str, ...] = field(default=(), repr=False, compare=False)
    joined: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def operator(self) -> str:
        """What it computes, for reasons: `divide of LRN` is a part of an operator of the model."""
        name = self.value.callee.name if isinstance(self.value, Call) else ""
        if self.node is None or self.node.parts == 1:
            return name
        return f"{name} of {self.node.operator}"

    @property
    def source(self) -> str:
        """The name of the value in reports: `origin` if there is one, else `name`."""
        return self.origin or self.name

    @property
    def reason(self) -> str | None:
        """The reasons as one text; None without any."""
        return describe(self.reasons)


@dataclass(frozen=True, slots=True)
class Body:
    """A sequence of bindings and the atom that they result in."""

    lets: tuple[Let, ...]
    result: Atom


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter's name and type."""

    name: str
    type: Type


class FunctionKind(Enum):
    """The kinds of functions; values are the keywords of the text form."""

    FUNC = "func"
    """A function without restrictions."""
    KERNEL = "kernel"
    """Operators compiled to one loop program: no calls of functions, no `if`."""
    STREAM = "stream"
    """Calls of kernels of one target, which executes the calls as one program."""


@dataclass(frozen=True, slots=True)
class Types:
    """The types of all names in a function, and of its result."""

    names: Mapping[str, Type]
    result: Type


OperatorTypes: TypeAlias = dict[tuple[AnyOp, str, tuple[Type, ...]], Type]
"""Result types, by operator, text of the attributes and types of the operands."""


@dataclass(slots=True)
class AnalysisCache:
    """Analysis results of a function, kept between passes: functions are immutable.

    Attributes
    ----------
    types
        Inferred types; None before inference.
    well_formed
        Whether the function's own names and values are verified.
    legal
        Whether the function and all its callees are verified.
    calls
        Result types of operators, shared with the function that this one was rewritten from.
    """

    types: Types | None = None
    well_formed: bool = False
    legal: bool = False
    calls: OperatorTypes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Function:
    """A function. Functions of equal text, declared types included, are equal.

    Attributes
    ----------
    result
        The result's type, or None if it is not declared.
    digest
        A hash of the text in which callees are digests, or names and types where they are called by
        name, and definitions are digests: linear time, however often a callee is called.
    analyses
        Results of `infer` and `verify`.
    target
        The name of the target of a kernel or stream; empty for the host.
    template
        The name of the schedule template by which a kernel's target does it; empty if any may.
    elements
        The names of open element types in the types of parameters. Only functions of modules have
        some: a program has a copy for all that they are in its calls (`generics`).
    definitions
        The functions that this function and they themselves call by name, in the order of the
        text; this function may be called by name too. Definitions have none of their own.
    """

    name: str
    params: tuple[Param, ...]
    body: Body
    result: Type | None = None
    kind: FunctionKind = FunctionKind.FUNC
    target: str = ""
    template: str = ""
    elements: tuple[str, ...] = ()
    definitions: tuple[Function, ...] = ()
    digest: str = field(init=False)
    analyses: AnalysisCache = field(init=False, default_factory=AnalysisCache)

    def __post_init__(self) -> None:
        try:
            how = self.target, self.template
            own = (self.name, self.params, self.body, self.result, self.kind, how)
            more = [each for each in (self.elements, self.definitions) if each]
            content = repr((*own, *more))
        except RecursionError as error:
            raise GraphError(f"function {self.name} is nested too deeply") from error
        digest = hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
        object.__setattr__(self, "digest", digest)

    def reuse_analyses(self, other: Function) -> None:
        """Reuse the analyses of `other`, which a pass rewrote to this function."""
        self.analyses.calls = other.analyses.calls
        for definition in self.definitions:
            definition.analyses.calls = other.analyses.calls
        if self == other:
            self.analyses.types = other.analyses.types
            self.analyses.well_formed = other.analyses.well_formed
            self.analyses.legal = other.analyses.legal

    @property
    def type(self) -> FunctionType | None:
        """The types of the parameters and of the result; None if the result is not declared."""
        if self.result is None:
            return None
        return FunctionType(tuple(param.type for param in self.params), self.result)

    @property
    def named(self) -> dict[str, Function]:
        """The functions that can be called by name: the definitions and the function itself."""
        return {each.name: each for each in (*self.definitions, self)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Function({self.name}, {self.digest})"


@dataclass(frozen=True, slots=True)
class Module:
    """The functions of a text in its order, without definitions: calls by name are to these.
    `visit.program` is one of them with its definitions.

    Attributes
    ----------
    declared
        The data types of the text.
    """

    functions: tuple[Function, ...]
    declared: Declarations = NO_DECLARATIONS
