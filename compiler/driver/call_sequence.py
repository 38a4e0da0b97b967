"""A function as a sequence of calls on named tensors, without tuples, and its instructions.

A function without control flow runs its calls in order. Otherwise instructions say what runs: an
`if` becomes branches that write its result in place, a call of the function itself that ends it a
jump to its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from tandem.compiler.driver.row_updates import row_updates
from tandem.compiler.errors import BuildError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.data_types import constructor_of, data_types_in
from tandem.compiler.graph.infer import infer, result_of
from tandem.compiler.graph.live_ranges import MEMORY_OF_FUNCTIONS
from tandem.compiler.graph.nodes import (
    Apply,
    Arm,
    Atom,
    Body,
    Call,
    Construct,
    Fun,
    Function,
    FunctionKind,
    Global,
    Gradient,
    If,
    Let,
    Match,
    Partial,
    Tuple,
    TupleGet,
    Var,
)
from tandem.compiler.graph.types import (
    REFERENCE,
    DataType,
    Nested,
    TensorType,
    TupleType,
    Type,
    leaves,
    part_names,
    parts_of,
    tensors_of,
)
from tandem.compiler.graph.visit import all_lets, bodies
from tandem.compiler.plan.parts import Argument, Invocation
from tandem.runtime.artifact import (
    Branch,
    BranchForm,
    CallFunction,
    Form,
    Instruction,
    Jump,
    MakeCell,
    Move,
    MoveRow,
    ReadCell,
    Return,
    RunStep,
    TailCall,
)

_Value: TypeAlias = Nested[Argument]
NameOf: TypeAlias = Callable[[Argument], str]
"""The name in the artifact of a tensor or a constant."""
Draft: TypeAlias = Callable[[NameOf], Instruction]
"""An instruction, as soon as constants have names; numbers of steps count in the sequence."""


@dataclass(frozen=True, slots=True)
class CallSequence:
    """The kernel calls of a function in the order of the text, on named tensors.

    Attributes
    ----------
    types
        Types of all tensors by name; constants have no name.
    params
        The function's parameters, flattened to tensors.
    results
        The function's results, flattened to tensors.
    drafts
        The function's instructions.
    references
        The tensors that stand for values of data types.
    """

    name: str
    invocations: tuple[Invocation, ...]
    types: Mapping[str, TensorType]
    params: tuple[str, ...]
    results: tuple[Argument, ...]
    drafts: tuple[Draft, ...]
    references: frozenset[str] = frozenset()


@dataclass
class Forms:
    """The constructors of data types in a program, and their numbers."""

    numbers: dict[tuple[DataType, str], int] = field(default_factory=dict)

    def number(self, type_: DataType, constructor: str) -> int:
        """The number of a constructor: the next one, if it has none yet."""
        return self.numbers.setdefault((type_, constructor), len(self.numbers))

    @property
    def all(self) -> tuple[Form, ...]:
        """The forms of the cells of all constructors, by number."""
        return tuple(_form(*each) for each in self.numbers)


def _form(type_: DataType, name: str) -> Form:
    constructor = constructor_of(type_, name)
    assert constructor is not None, "verified"
    parts = parts_of(TupleType(constructor.fields))
    return Form(
        f"{name} of {type_}",
        tuple(
            (part.stored.static_shape(name), part.stored.dtype.numpy.name)
            if isinstance(part, TensorType)
            else None
            for part in parts
        ),
    )


def has_control_flow(function: Function) -> bool:
    """Whether a function, its definitions aside, has an `if`, a value of a data type or a call by
    name."""
    return any(
        bodies(let.value)
        or isinstance(let.value, Construct)
        or (isinstance(let.value, Call) and isinstance(let.value.callee, Global))
        for let in all_lets(function.body)
    )


def call_sequence(
    function: Function, forms: Forms | None = None, *, called: bool = False
) -> CallSequence:
    """The call sequence of a function of kernels, its definitions aside.

    Parameters
    ----------
    forms
        The constructors of the program, to which those of the function are added.
    called
        Whether other functions call the function: its tensors have its name before their own then,
        and its results are tensors of their own. Else they are the function's inputs and outputs.

    Raises
    ------
    BuildError
        The function has operators outside of kernels, calls of functions as values that are no
        kernels, functions that are values, or parameters that are tuples although nothing calls
        it.
    """
    walk = _Walk(function, f"{function.name}." if called else "", forms or Forms())
    return walk.called() if called else walk.network()


@dataclass
class _Label:
    """A place among the instructions, known once the instructions before it are."""

    at: int = -1


@dataclass
class _Walk:
    function: Function
    prefix: str
    forms: Forms
    references: set[str] = field(default_factory=set)
    invocations: list[Invocation] = field(default_factory=list)
    types: dict[str, TensorType] = field(default_factory=dict)
    values: dict[str, _Value] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)
    params: tuple[str, ...] = ()
    parts: dict[tuple[str, int], str] = field(default_factory=dict)
    """The values that are parts of tuples, by the tuple's name and the part's index."""

    def __post_init__(self) -> None:
        self.inferred = infer(self.function)
        self.updates = row_updates(self.function)

    def network(self) -> CallSequence:
        """The sequence of a function that nothing calls; its inputs stay as they are."""
        self.updates = frozenset()
        for param in self.function.params:
            if not isinstance(param.type, TensorType):
                self._fail(f"parameter {param.name} is {param.type}: tensors only")
        self._params()
        self._lets(self.function.body, {}, last=False)
        result = result_of(self.function)
        if any(data_types_in(result)):
            self._fail(f"the result is {result}: tensors only, and tuples of them")
        self.drafts.append(lambda _: Return())
        return self._sequence(self._tensors(self.function.body.result))

    def called(self) -> CallSequence:
        """The sequence of a function that others call."""
        assert self.function.result is not None, "verified: definitions declare it"
        self._params()
        # No value of the function has this name: names begin with letters.
        results = self._new("0", self.function.result)
        self._body(self.function.body, results, last=True)
        return self._sequence(results)

    def _sequence(self, results: Sequence[Argument]) -> CallSequence:
        return CallSequence(
            self.function.name,
            tuple(self.invocations),
            self.types,
            self.params,
            tuple(results),
            tuple(self.drafts),
            frozenset(self.references),
        )

    def _params(self) -> None:
        names: list[str] = []
        for param in self.function.params:
            names += self._new(param.name, param.type)
            self.values[param.name] = part_names(self.prefix + param.name, param.type)
        self.params = tuple(names)

    # Bodies ---------------------------------------------------------------------------------------

    def _body(self, body: Body, targets: Sequence[str], *, last: bool) -> None:
        """Emit a body that writes its result to `targets`, and returns if it is the `last`."""
        places: dict[str, Sequence[str]] = {}
        _place(body.result, targets, {let.name: let for let in body.lets}, self.inferred, places)
        if self._lets(body, places, last=last):
            return
        for source, target in zip(self._tensors(body.result), targets, strict=True):
            if source != target:
                self._move(source, target)
        if last:
            self.drafts.append(lambda _: Return())

    def _lets(self, body: Body, places: Mapping[str, Sequence[str]], *, last: bool) -> bool:
        """Emit the values of a body; returns whether its last value ended the function."""
        for let in reversed(body.lets):
            if isinstance(let.value, TupleGet) and isinstance(self.inferred[let.name], TensorType):
                self.parts[let.value.operand.name, let.value.index] = let.name
        for number, let in enumerate(body.lets):
            ends = last and number == len(body.lets) - 1 and body.result == Var(let.name)
            if ends and self._ended(let, places.get(let.name, ())):
                return True
            self.values[let.name] = self._value(let, self.inferred[let.name], places.get(let.name))
        return False

    def _ended(self, let: Let, targets: Sequence[str]) -> bool:
        """Emit the function's last value if it ends in calls."""
        match let.value:
            case If() as value:
                self._if(value, targets, last=True)
            case Match() as value:
                self._match(value, targets, last=True)
            case Call(callee=Global(name=name), args=args):
                operands = tuple(each for arg in args for each in self._tensors(arg))
                if name == self.function.name:
                    self._again(operands)
                else:
                    self.drafts.append(lambda of: TailCall(name, tuple(map(of, operands))))
            case _:
                return False
        return True

    def _if(self, value: If, targets: Sequence[str], *, last: bool) -> None:
        (condition,) = self._tensors(value.condition)
        otherwise, end = _Label(), _Label()
        self.drafts.append(lambda of: Branch(of(condition), otherwise.at))
        self._body(value.then, targets, last=last)
        if not last:
            self.drafts.append(lambda _: Jump(end.at))
        otherwise.at = len(self.drafts)
        self._body(value.otherwise, targets, last=last)
        end.at = len(self.drafts)

    def _match(self, value: Match, targets: Sequence[str], *, last: bool) -> None:
        (source,) = self._tensors(value.operand)
        type_ = self.inferred[value.operand.name]
        assert isinstance(source, str), "constants are tensors"
        assert isinstance(type_, DataType), "verified"
        end = _Label()
        for arm in value.arms:
            others = _Label()
            if arm.constructor is not None:
                number = self.forms.number(type_, arm.constructor)
                if arm is not value.arms[-1]:
                    self._branch_form(source, number, others)
                self._fields(source, number, arm)
            self._body(arm.body, targets, last=last)
            if not last and arm is not value.arms[-1]:
                self.drafts.append(lambda _: Jump(end.at))
            others.at = len(self.drafts)
        end.at = len(self.drafts)

    def _branch_form(self, source: str, number: int, others: _Label) -> None:
        self.drafts.append(lambda of: BranchForm(of(source), number, others.at))

    def _fields(self, source: str, number: int, arm: Arm) -> None:
        """Emit the copies of the fields of a cell to the names of an arm."""
        found: list[str] = []
        for name in arm.fields:
            own = self._new(name, self.inferred[name])
            self.values[name] = _nested(self.inferred[name], iter(own))
            found += own
        if found:
            self.drafts.append(lambda of: ReadCell(number, of(source), tuple(found)))

    def _again(self, operands: Sequence[Argument]) -> None:
        """Begin again with other parameters: all are read before they are written."""
        pending = {
            param: operand
            for param, operand in zip(self.params, operands, strict=True)
            if param != operand
        }
        while pending:
            free = next((each for each in pending if each not in pending.values()), None)
            if free is None:
                # Only cycles are left: one parameter's value is kept elsewhere.
                free = next(iter(pending))
                kept = f"{free}.kept"
                self.types[kept] = self.types[free]
                if free in self.references:
                    self.references.add(kept)
                self._move(free, kept)
                pending = {
                    param: kept if operand == free else operand
                    for param, operand in pending.items()
                }
            self._move(pending.pop(free), free)
        self.drafts.append(lambda _: Jump(0))

    def _move(self, source: Argument, target: str) -> None:
        self.drafts.append(lambda of: Move(of(source), target))

    # Values ---------------------------------------------------------------------------------------

    def _atom(self, atom: Atom) -> _Value:
        return atom if isinstance(atom, Constant) else self.values[atom.name]

    def _tensors(self, atom: Atom) -> tuple[Argument, ...]:
        return tuple(leaves(self._atom(atom)))

    def _value(self, let: Let, type_: Type, place: Sequence[str] | None) -> _Value:
        """Emit a value; `place` are the tensors that it is written to, by default its own."""
        match let.value:
            case Call(args=(data, row, index)) if let.name in self.updates and place is None:
                target, source, at = (self._tensors(each)[0] for each in (data, row, index))
                assert isinstance(target, str), "a parameter"
                self.drafts.append(lambda of: MoveRow(of(source), target, of(at)))
                return target
            case Call(
                callee=Function(kind=FunctionKind.KERNEL | FunctionKind.STREAM) as kernel, args=args
            ):
                outputs = tuple(place or self._new(let.name, type_))
                operands = tuple(each for arg in args for each in self._tensors(arg))
                name = self.prefix + let.name
                number = len(self.invocations)
                self.invocations.append(
                    Invocation(name, kernel, operands, outputs, let.reason, let.replaced)
                )
                self.drafts.append(lambda _: RunStep(number))
                return _nested(type_, iter(outputs))
            case Call(callee=Global(name=function), args=args):
                outputs = tuple(place or self._new(let.name, type_))
                operands = tuple(each for arg in args for each in self._tensors(arg))
                self.drafts.append(
                    lambda of: CallFunction(function, tuple(map(of, operands)), outputs)
                )
                return _nested(type_, iter(outputs))
            case Call(callee=callee):
                self._fail(f"{let.name} calls {callee.name}, which is no kernel and no stream")
            case Tuple(items=items):
                return tuple(self._atom(each) for each in items)
            case TupleGet(operand=operand, index=index):
                whole = self.values[operand.name]
                assert isinstance(whole, tuple), "verified"
                return whole[index]
            case If() as value:
                outputs = tuple(place or self._new(let.name, type_))
                self._if(value, outputs, last=False)
                return _nested(type_, iter(outputs))
            case Partial() | Gradient() | Fun() | Apply():
                self._fail(f"{let.name} is a function, or calls one: {MEMORY_OF_FUNCTIONS}")
            case Construct(constructor=constructor, args=args):
                assert isinstance(type_, DataType), "inferred"
                (cell,) = place or self._new(let.name, type_)
                number = self.forms.number(type_, constructor)
                operands = tuple(each for arg in args for each in self._tensors(arg))
                self.drafts.append(lambda of: MakeCell(number, tuple(map(of, operands)), cell))
                return cell
            case Match() as value:
                outputs = tuple(place or self._new(let.name, type_))
                self._match(value, outputs, last=False)
                return _nested(type_, iter(outputs))

    def _new(self, name: str, type_: Type) -> tuple[str, ...]:
        """New tensors for a value; a part of a tuple has the name of the value that it becomes."""
        own = part_names(name, type_)
        if isinstance(own, tuple):
            own = tuple(self.parts.get((name, at), part) for at, part in enumerate(own))
        names = tuple(self.prefix + part for part in leaves(own))
        for part, own_type in zip(names, parts_of(type_), strict=True):
            tensor = REFERENCE if isinstance(own_type, DataType) else own_type
            tensor.static_shape(f"{self.function.name}: {part}")
            self.types[part] = tensor
            if isinstance(own_type, DataType):
                self.references.add(part)
        return names

    def _fail(self, reason: str) -> NoReturn:
        raise BuildError(f"function {self.function.name}: {reason}")


def _place(
    result: Atom,
    targets: Sequence[str],
    lets: Mapping[str, Let],
    types: Mapping[str, Type],
    places: dict[str, Sequence[str]],
) -> None:
    """Find the values of a body that can be computed in the tensors of its result."""
    let = None if isinstance(result, Constant) else lets.get(result.name)
    if let is None or let.name in places:
        return
    match let.value:
        case Call() | If() | Construct() | Match():
            places[let.name] = targets
        case Tuple(items=items):
            start = 0
            for item in items:
                type_ = item.type if isinstance(item, Constant) else types[item.name]
                count = len(tensors_of(type_))
                _place(item, targets[start : start + count], lets, types, places)
                start += count
        case TupleGet():
            pass


def _nested(type_: Type, names: Iterator[str]) -> Nested[str]:
    """Names, nested as the type is."""
    if isinstance(type_, TensorType | DataType):
        return next(names)
    items = type_.items if isinstance(type_, TupleType) else ()
    return tuple(_nested(each, names) for each in items)
