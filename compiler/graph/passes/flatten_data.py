"""Values of data types without recursion become tuples: the constructor's number, and fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.data_types import (
    constructors_of,
    data_types_in,
    holds_functions,
    is_recursive,
    reached,
)
from tandem.compiler.graph.evaluate import check_ports
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import (
    Arm,
    Atom,
    Body,
    Call,
    Construct,
    Function,
    Global,
    If,
    Let,
    Match,
    Param,
    Tuple,
    TupleGet,
    Value,
    Var,
)
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.passes.function_sets import TAG, placed
from tandem.compiler.graph.passes.named_functions import by_name
from tandem.compiler.graph.passes.slots import Lines, parts_in, unread, value_in
from tandem.compiler.graph.types import (
    DataType,
    FunctionType,
    Part,
    TensorType,
    TupleType,
    Type,
    parts_of,
    symbols_of,
)
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import (
    functions,
    map_bodies,
    map_functions,
    names_taken,
    rename,
    renamed,
)


@dataclass(frozen=True, slots=True)
class FlattenData:
    """Replaces values whose size is known by tuples: of a type with one constructor the fields, of
    one with several the number of the constructor, and slots in which constructors hold fields of
    equal types. A match is a branch on the number::

        a = Some(x)                              a = (1, x)
        y = match a:                             which = a[0]
          None:                                  is = equal(which, 0)
            yield z                    ->        y = if is:
          Some(value):                             yield z
            b = add(value, z)                    else:
            yield b                                value = a[1]
                                                   b = add(value, z)
                                                   yield b

    Values that others hold whose size is not known stay as they are, and so do those of several
    constructors that hold such values or extents that are symbols.
    """

    name: str = "flatten-data"

    def apply(self, function: Function) -> Function:
        """The function with fewer data types, which holds no functions; itself if none is flat.

        Raises
        ------
        GraphError
            The program takes or gives values of data types.
        """
        verify(function)
        found = {
            each: None
            for one in functions(function)
            for type_ in infer(one).values()
            for each in data_types_in(type_)
        }
        if found:
            check_ports(function)
        flat = _flat_types(found)
        if not flat.types:
            return function
        program = by_name(function)
        verify(program)
        return map_functions(program, lambda one: _Flattener(flat, one).function())


@dataclass(frozen=True, slots=True)
class _Flat:
    """The data types that become tuples."""

    types: frozenset[DataType]

    def of(self, type_: Type) -> Type:
        """The type of what stands for a value of a type."""
        match type_:
            case TupleType(items=items):
                return TupleType(tuple(map(self.of, items)))
            case DataType() if type_ in self.types:
                fields = [self.fields(type_, at) for at in range(len(constructors_of(type_)))]
                return fields[0] if len(fields) == 1 else TupleType((TAG, *self.slots(type_)))
            case FunctionType(params=params, result=result):
                return FunctionType(tuple(map(self.of, params)), self.of(result))
            case _:
                return type_

    def fields(self, type_: DataType, number: int) -> TupleType:
        """What stands for the fields of a constructor."""
        return TupleType(tuple(map(self.of, constructors_of(type_)[number].fields)))

    def slots(self, type_: DataType) -> tuple[Part, ...]:
        """The values in which the constructors of a type hold their fields."""
        needed: Counter[Part] = Counter()
        for number in range(len(constructors_of(type_))):
            needed |= Counter(parts_of(self.fields(type_, number)))
        return tuple(needed.elements())

    def places(self, type_: DataType, number: int) -> tuple[int, ...]:
        """The slots of the parts of a constructor's fields."""
        return placed(parts_of(self.fields(type_, number)), self.slots(type_))


def _flat_types(types: Iterable[DataType]) -> _Flat:
    every = dict.fromkeys(each for type_ in types for each in reached(type_))
    boxed = {each for each in every if is_recursive(each) or holds_functions(each)}
    while True:
        flat = _Flat(frozenset(each for each in every if each not in boxed))
        more = {
            inner
            for each in boxed
            for constructor in constructors_of(each)
            for own in constructor.fields
            for inner in data_types_in(own)
        }
        more |= {each for each in flat.types if not _has_slots(each, flat)}
        if more <= boxed:
            return flat
        boxed |= more


def _has_slots(type_: DataType, flat: _Flat) -> bool:
    """Whether slots that nothing reads can be filled."""
    if len(constructors_of(type_)) == 1:
        return True
    return all(isinstance(it, TensorType) and not symbols_of(it) for it in flat.slots(type_))


@dataclass
class _Flattener:
    """The rewriting of one function."""

    flat: _Flat
    whole: Function
    names: dict[str, Atom] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.types = infer(self.whole)
        self.taken = names_taken(self.whole)

    def function(self) -> Function:
        """The function with tuples for values."""
        return replace(
            self.whole,
            params=tuple(Param(it.name, self.flat.of(it.type)) for it in self.whole.params),
            body=self._body(self.whole.body),
            result=self.whole.result and self.flat.of(self.whole.result),
        )

    def _body(self, body: Body) -> Body:
        lines = Lines(self.taken)
        result = self._into(body, lines)
        return Body(tuple(lines.lets), result)

    def _into(self, body: Body, lines: Lines) -> Atom:
        """Add the values of a body; the atom that it results in."""
        for let in body.lets:
            value, data = rename(let.value, self.names), self._flat_data(let)
            match value:
                case Construct(constructor=constructor, args=args) if data is not None:
                    value = self._constructed(data, constructor, args, lines)
                case Match(operand=operand, arms=(arm,)) if data is not None:
                    self._fields(operand, data, arm, lines)
                    self.names[let.name] = self._into(arm.body, lines)
                    continue
                case Match(operand=operand, arms=arms) if data is not None:
                    which = lines.new("which", TupleGet(operand, 0))
                    value = self._branches(which, operand, data, arms, lines)
                case Call(callee=Global(name=name, type=type_)):
                    called = self.flat.of(type_)
                    assert isinstance(called, FunctionType), "types keep their form"
                    value = replace(value, callee=Global(name, called))
                case _:
                    value = map_bodies(value, self._body)
            lines.lets.append(replace(let, value=value, type=let.type and self.flat.of(let.type)))
        return renamed(body.result, self.names)

    def _flat_data(self, let: Let) -> DataType | None:
        """The type that a value makes or matches, if that is flat."""
        match let.value:
            case Construct():
                type_ = self.types[let.name]
            case Match(operand=operand):
                type_ = self.types[operand.name]
            case _:
                return None
        return type_ if isinstance(type_, DataType) and type_ in self.flat.types else None

    def _constructed(
        self, data: DataType, constructor: str, args: Sequence[Atom], lines: Lines
    ) -> Value:
        number = _number(data, constructor)
        if len(constructors_of(data)) == 1:
            return Tuple(tuple(args))
        fields = self.flat.fields(data, number).items
        parts = [
            part
            for atom, type_ in zip(args, fields, strict=True)
            for part in parts_in(atom, type_, lines)
        ]
        filled = dict(zip(self.flat.places(data, number), parts, strict=True))
        slots = (
            filled[at] if at in filled else unread(type_, lines)
            for at, type_ in enumerate(self.flat.slots(data))
        )
        return Tuple((_tag(number), *slots))

    def _branches(
        self, which: Var, operand: Var, data: DataType, arms: Sequence[Arm], lines: Lines
    ) -> Value:
        """The branch on the number of a constructor: the first of several arms, or the others."""
        first, *others = arms
        assert first.constructor is not None, "verified: it is not the last"
        number = _tag(_number(data, first.constructor))
        test = lines.new("is", Call(OPERATORS["equal"], (which, number)))
        then, otherwise = lines.inner(), lines.inner()
        result = self._arm(operand, data, first, then)
        if len(others) == 1:
            other = self._arm(operand, data, others[0], otherwise)
        else:
            rest = self._branches(which, operand, data, others, otherwise)
            other = otherwise.new("case", rest)
        return If(test, Body(tuple(then.lets), result), Body(tuple(otherwise.lets), other))

    def _arm(self, operand: Var, data: DataType, arm: Arm, lines: Lines) -> Atom:
        self._fields(operand, data, arm, lines)
        return self._into(arm.body, lines)

    def _fields(self, operand: Var, data: DataType, arm: Arm, lines: Lines) -> None:
        """Add the fields that an arm names."""
        if arm.constructor is None:
            return
        number = _number(data, arm.constructor)
        if len(constructors_of(data)) == 1:
            lines.lets += (Let(name, TupleGet(operand, at)) for at, name in enumerate(arm.fields))
            return
        slots = iter(self.flat.places(data, number))
        types = self.flat.fields(data, number).items
        for name, type_ in zip(arm.fields, types, strict=True):
            self.names[name] = value_in(operand, slots, type_, lines)


def _number(data: DataType, constructor: str) -> int:
    return [each.name for each in constructors_of(data)].index(constructor)


def _tag(number: int) -> Constant:
    return Constant(np.array(number, np.int32))
