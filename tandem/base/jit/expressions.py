"""From the expressions of a Python function, and its variables, to LLVM instructions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Protocol

from tandem.base.jit.errors import CompilationError
from tandem.base.jit.sources import Source, Tree, meaning, source_of, tree_of
from tandem.base.jit.types import INT, Array, Record, Scalar, Type, leaves_of
from tandem.base.jit.values import (
    FALSE,
    NOTHING,
    TRUE,
    Builtin,
    Value,
    binary,
    boolean,
    builtins,
    chosen,
    common,
    compared,
    converted,
    floating,
    indexed,
    integer,
    loaded,
    negation,
    record,
    shown,
    store,
    truth,
)
from tandem.base.jit.writer import Writer


@dataclass(frozen=True, slots=True)
class Static:
    """What is known when a function is compiled, and no value: a function, a module."""

    object: Any


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: its type, and the addresses of its leaves."""

    type: Type
    addresses: tuple[str, ...]


class Caller(Protocol):
    """What translates calls: see `base.jit.module`."""

    def call(self, writer: Writer, source: Source, arguments: Sequence[Value]) -> Value: ...


class Expressions:
    """Translates the expressions of one function into `writer`.

    A name that the function assigns is a variable, of the type of its first value. A parameter that
    it does not assign is its argument. Other names mean what they mean in the function's module.
    """

    def __init__(
        self,
        function: FunctionType,
        arguments: Sequence[Value],
        writer: Writer,
        caller: Caller,
    ) -> None:
        self._function, self._writer, self._caller = function, writer, caller
        self._tree: Tree = tree_of(function)
        self._variables: dict[str, Variable] = {}
        self._constants: dict[str, Value] = {}
        self._locals = set(function.__code__.co_varnames)
        self._line = self._tree.lineno
        parameters = self._tree.args.args
        if len(parameters) != len(arguments):
            raise self._error(f"takes {len(parameters)} arguments, not {len(arguments)}")
        stored = _stored(self._tree)
        for parameter, value in zip(parameters, arguments, strict=True):
            if parameter.arg in stored:
                self._assign_name(parameter.arg, value)
            else:
                self._constants[parameter.arg] = value

    def _error(self, message: str) -> CompilationError:
        code = self._function.__code__
        where = f"{code.co_filename}:{self._line}"
        return CompilationError(f"{where}: {code.co_name} {message}", placed=True)

    @contextmanager
    def _placed(self, line: int) -> Iterator[None]:
        """Errors name the file and the line."""
        before, self._line = self._line, line
        try:
            yield
        except CompilationError as error:
            if error.placed:
                raise
            raise self._error(f"cannot be compiled: {error}") from None
        self._line = before

    # Variables.

    def _new(self, kind: Type) -> Variable:
        return Variable(kind, tuple(self._writer.variable(llvm) for llvm in leaves_of(kind)))

    def _write(self, variable: Variable, value: Value) -> None:
        value = converted(self._writer, value, variable.type)
        kinds = leaves_of(variable.type)
        for kind, leaf, address in zip(kinds, value.leaves, variable.addresses, strict=True):
            self._writer.do(f"store {kind} {leaf}, ptr {address}")

    def _read(self, variable: Variable) -> Value:
        kinds = zip(leaves_of(variable.type), variable.addresses, strict=True)
        leaves = [self._writer.emit(f"load {kind}, ptr {address}") for kind, address in kinds]
        return Value(variable.type, tuple(leaves))

    def _assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self._assign_name(name, value)
            case ast.Tuple(elts=targets):
                for inner, item in zip(targets, self._items(value, len(targets)), strict=True):
                    self._assign(inner, item)
            case ast.Subscript():
                self._store(target, value)
            case _:
                raise CompilationError(f"no assignment to {type(target).__name__}")

    def _items(self, value: Value, count: int) -> Sequence[Value]:
        """The items of a value that is assigned to `count` targets."""
        match value.type:
            case Record(fields=fields) if len(fields) == count:
                return value.fields()
            case Array():
                places = [indexed(self._writer, value, [integer(at)]) for at in range(count)]
                return [loaded(self._writer, place) for place in places]
        raise CompilationError(f"{shown(value.type)} does not unpack to {count}")

    def _assign_name(self, name: str, value: Value) -> None:
        variable = self._variables.get(name)
        if variable is None:
            variable = self._variables[name] = self._new(value.type)
        try:
            self._write(variable, value)
        except CompilationError as error:
            raise CompilationError(f"{name}: {error}") from None

    def _store(self, target: ast.Subscript, value: Value) -> None:
        place = self._place(target)
        match place.type:
            case Array(dimensions=1):
                self._fill(place, value)
            case _:
                store(self._writer, place, value)

    def _fill(self, array: Value, value: Value) -> None:
        """Store a number to all places of an array."""
        writer, counter = self._writer, self._new(INT)
        test, inside, out = writer.label(), writer.label(), writer.label()
        writer.jump(test)
        writer.begin(test)
        at = self._read(counter)
        writer.branch(writer.emit(f"icmp slt i64 {at.leaf}, {array.leaves[1]}"), inside, out)
        writer.begin(inside)
        store(writer, indexed(writer, array, [at]), value)
        self._write(counter, Value(INT, (writer.emit(f"add nsw i64 {at.leaf}, 1"),)))
        writer.jump(test)
        writer.begin(out)
        self._write(counter, integer(0))

    # Expressions.

    def _value(self, node: ast.expr) -> Value:
        return as_value(self._expression(node))

    def _named(self, name: str) -> Value | Static:
        if name in self._variables:
            return self._read(self._variables[name])
        if name in self._constants:
            return self._constants[name]
        if name in self._locals:
            raise CompilationError(f"{name} is read before it is assigned")
        return self._known(meaning(self._function, name))

    def _known(self, value: object) -> Value | Static:
        """A value that is known when the function is compiled."""
        match value:
            case None:
                return NOTHING
            case bool():
                return boolean(value)
            case int():
                return integer(int(value))
            case float():
                return floating(value)
            case tuple():
                return record([as_value(self._known(item)) for item in value])
        return Static(value)

    def _expression(self, node: ast.expr) -> Value | Static:
        writer = self._writer
        match node:
            case ast.Constant():
                return self._known(node.value)
            case ast.Name():
                return self._named(node.id)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp():
                a, b = self._value(node.left), self._value(node.right)
                return binary(writer, node.op, a, b)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BoolOp():
                return self._logical(isinstance(node.op, ast.And), node.values)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                return self._conditional(node)
            case ast.Tuple():
                return record([self._value(each) for each in node.elts])
            case ast.Subscript():
                return self._subscript(node)
            case ast.Call():
                return self._call(node)
        raise CompilationError(f"there is no {type(node).__name__} in compiled code")

    def _attribute(self, node: ast.Attribute) -> Value | Static:
        of = self._expression(node.value)
        if isinstance(of, Static):
            if isinstance(of.object, ModuleType):
                return self._known(getattr(of.object, node.attr))
        elif isinstance(of.type, Record) and node.attr in of.type.names:
            return of.fields()[of.type.names.index(node.attr)]
        elif isinstance(of.type, Array) and node.attr == "shape":
            return record([Value(INT, (leaf,)) for leaf in of.leaves[1:]])
        raise CompilationError(f"nothing is known of .{node.attr}")

    def _unary(self, node: ast.UnaryOp) -> Value:
        value, writer = self._value(node.operand), self._writer
        match node.op:
            case ast.Not():
                return negation(writer, value)
            case ast.USub():
                return binary(writer, ast.Sub(), integer(0), value)
            case ast.Invert():
                return binary(writer, ast.BitXor(), value, integer(-1))
        return converted(writer, value, value.type)

    def _compare(self, node: ast.Compare) -> Value:
        found, before = TRUE, self._value(node.left)
        for operator, operand in zip(node.ops, node.comparators, strict=True):
            value = self._value(operand)
            told = compared(self._writer, operator, before, value)
            found = told if found == TRUE else binary(self._writer, ast.BitAnd(), found, told)
            before = value
        return found

    def _logical(self, conjunction: bool, nodes: Sequence[ast.expr]) -> Value:
        """`and` or `or`: the operands after one that decides are not evaluated."""
        writer, value = self._writer, self._value(nodes[0])
        if len(nodes) == 1:
            return value
        told = truth(writer, value)
        if told in (TRUE, FALSE):
            decides = (told == FALSE) is conjunction
            return value if decides else self._logical(conjunction, nodes[1:])
        first, more, out = writer.block, writer.label(), writer.label()
        # The first block ends when the type of the others is known.
        writer.begin(more)
        other = self._logical(conjunction, nodes[1:])
        kind = common(value, other)
        if not isinstance(kind, Scalar):
            raise CompilationError("`and` and `or` take numbers")
        result = self._new(kind)
        self._write(result, other)
        writer.jump(out)
        writer.resume(first)
        self._write(result, value)
        writer.branch(told.leaf, *((more, out) if conjunction else (out, more)))
        writer.begin(out)
        return self._read(result)

    def _conditional(self, node: ast.IfExp) -> Value:
        writer, condition = self._writer, truth(self._writer, self._value(node.test))
        if condition in (TRUE, FALSE):
            return self._value(node.body if condition == TRUE else node.orelse)
        if _simple(node.body) and _simple(node.orelse):
            a, b = self._value(node.body), self._value(node.orelse)
            if isinstance(kind := common(a, b), Scalar):
                a, b = converted(writer, a, kind), converted(writer, b, kind)
                return chosen(writer, condition, a, b)
        then, otherwise, out = writer.label(), writer.label(), writer.label()
        writer.branch(condition.leaf, then, otherwise)
        writer.begin(otherwise)
        other = self._value(node.orelse)
        end = writer.block
        writer.begin(then)
        value = self._value(node.body)
        result = self._new(common(value, other))
        self._write(result, value)
        writer.jump(out)
        writer.resume(end)
        self._write(result, other)
        writer.jump(out)
        writer.begin(out)
        return self._read(result)

    def _subscript(self, node: ast.Subscript) -> Value:
        of = self._value(node.value)
        if isinstance(of.type, Record):
            return self._item(of, self._value(node.slice))
        return loaded(self._writer, self._part(of, node.slice))

    def _item(self, items: Value, index: Value) -> Value:
        """An item of a tuple."""
        fields = items.fields()
        if index.number is not None:
            return fields[index.number]
        kind = common(*fields)
        if not isinstance(kind, Scalar):
            raise CompilationError("an index into a tuple is constant unless its items are numbers")
        found = converted(self._writer, fields[0], kind)
        for at, field in enumerate(fields[1:], 1):
            here = compared(self._writer, ast.Eq(), index, integer(at))
            found = chosen(self._writer, here, converted(self._writer, field, kind), found)
        return found

    def _place(self, node: ast.Subscript) -> Value:
        return self._part(self._value(node.value), node.slice)

    def _part(self, array: Value, index: ast.expr) -> Value:
        nodes = index.elts if isinstance(index, ast.Tuple) else [index]
        return indexed(self._writer, array, [self._index(each) for each in nodes])

    def _index(self, node: ast.expr) -> Value | slice:
        match node:
            case ast.Slice(lower=lower, upper=upper, step=None):
                bounds = [None if each is None else self._value(each) for each in (lower, upper)]
                return slice(*bounds)
            case ast.Slice():
                raise CompilationError("a slice has no step: the part is not dense")
        return self._value(node)

    def _call(self, node: ast.Call) -> Value:
        called = self._expression(node.func)
        if node.keywords or not isinstance(called, Static):
            raise CompilationError("what is called is a function, and its arguments have no names")
        arguments = [self._value(each) for each in node.args]
        if (source := source_of(called.object)) is not None:
            return self._caller.call(self._writer, source, arguments)
        function: Builtin | None = None
        if getattr(called.object, "__hash__", None):
            function = builtins().get(called.object)
        if function is None:
            name = getattr(called.object, "__qualname__", repr(called.object))
            raise CompilationError(f"{name} is not compiled")
        return function(self._writer, arguments)


def as_value(found: Value | Static) -> Value:
    if isinstance(found, Static):
        raise CompilationError(f"{found.object!r} is no value of compiled code")
    return found


def _stored(tree: Tree) -> set[str]:
    """The names that a function assigns."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _simple(node: ast.expr) -> bool:
    """Whether an expression may be evaluated though its value is not used: it reads no memory."""
    match node:
        case ast.Constant() | ast.Name():
            return True
        case ast.BinOp(left=left, right=right):
            return _simple(left) and _simple(right)
        case ast.Attribute(value=value):
            return _simple(value)
        case ast.UnaryOp(operand=operand):
            return _simple(operand)
    return False
