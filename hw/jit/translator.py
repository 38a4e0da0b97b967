"""From the syntax tree of a Python function to LLVM instructions.

The part of Python: numbers, arrays, tuples and named tuples, None; assignments, `if`, `while`,
`for` over ranges, arrays and tuples; calls of other compiled functions and of a few builtins. A
variable has the type of its first assignment. A `for` over a tuple is unrolled, and a condition
that types decide (`x is None`) leaves the other branch untranslated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Protocol

from hw.jit.errors import CompilationError
from hw.jit.sources import Source, Tree, meaning, source_of, tree_of
from hw.jit.types import BOOL, FLOAT, INT, NONE, Array, Record, Scalar, Type, leaves_of
from hw.jit.values import (
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
    length,
    loaded,
    negation,
    record,
    shown,
    store,
    truth,
)
from hw.jit.writer import Writer


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
    """What translates calls: see `hw.jit.module`."""

    def call(self, writer: Writer, source: Source, arguments: Sequence[Value]) -> Value: ...


@dataclass
class _Exits:
    """Where `continue` and `break` go to."""

    again: str
    out: str


class Translator:
    """Translates the body of one function into `writer`.

    With `result`, `return` ends the LLVM function with a value of that type; without, the body is
    a part of its caller's function, and what it returns is found with `expanded`.
    """

    def __init__(
        self,
        function: FunctionType,
        arguments: Sequence[Value],
        writer: Writer,
        caller: Caller,
        result: Type | None,
    ) -> None:
        self._function, self._writer, self._caller = function, writer, caller
        self._result = result
        self._tree: Tree = tree_of(function)
        self._variables: dict[str, Variable] = {}
        self._constants: dict[str, Value] = {}
        self._locals = set(function.__code__.co_varnames)
        self._loops: list[_Exits] = []
        self._out = ""
        self._found: Variable | None = None
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

    def translate(self) -> None:
        """Translate the whole function, with a result."""
        assert self._result is not None
        with self._placed(self._line):
            if isinstance(self._tree, ast.Lambda):
                self._return(self._value(self._tree.body))
            else:
                self._statements(self._tree.body)
            if self._writer.block:
                self._writer.end("ret void" if self._result == NONE else "unreachable")

    def expanded(self) -> Value:
        """Translate the function as a part of its caller's; returns what it returns."""
        writer = self._writer
        if isinstance(self._tree, ast.Lambda):
            return self._value(self._tree.body)
        *before, last = self._tree.body
        if isinstance(last, ast.Return) and not _returns(before):
            self._statements(before)
            return NOTHING if last.value is None else self._value(last.value)
        self._out = writer.label()
        self._statements(self._tree.body)
        if writer.block:
            writer.jump(self._out)
        writer.begin(self._out)
        return NOTHING if self._found is None else self._read(self._found)

    # Statements.

    def _statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if not self._writer.block:
                return  # never executed
            with self._placed(statement.lineno):
                self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                value = self._value(node.value)
                for target in node.targets:
                    self._assign(target, value)
            case ast.AnnAssign(value=ast.expr() as assigned):
                self._assign(node.target, self._value(assigned))
            case ast.AugAssign(target=ast.Name(id=name)):
                before = self._named(name)
                after = binary(self._writer, node.op, _valued(before), self._value(node.value))
                self._assign_name(name, after)
            case ast.AugAssign(target=ast.Subscript() as target):
                place = self._place(target)
                after = self._value(node.value)
                after = binary(self._writer, node.op, loaded(self._writer, place), after)
                store(self._writer, place, after)
            case ast.Return():
                self._return(NOTHING if node.value is None else self._value(node.value))
            case ast.If():
                self._if(node)
            case ast.While():
                self._while(node)
            case ast.For(target=target, iter=iterated) if not node.orelse:
                self._for(target, iterated, node.body)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr():
                self._value(node.value)
            case ast.Continue():
                self._writer.jump(self._loops[-1].again)
            case ast.Break():
                self._writer.jump(self._loops[-1].out)
            case _:
                raise CompilationError(f"there is no {type(node).__name__} in compiled code")

    def _return(self, value: Value) -> None:
        writer = self._writer
        if self._result is None:
            if self._found is None:
                self._found = self._new(value.type)
            self._write(self._found, value)
            writer.jump(self._out)
            return
        value = converted(writer, value, self._result)
        kinds = list(leaves_of(value.type))
        match len(kinds):
            case 0:
                writer.end("ret void")
            case 1:
                writer.end(f"ret {kinds[0]} {value.leaf}")
            case _:
                whole, packed = f"{{{', '.join(kinds)}}}", "undef"
                for at, (kind, leaf) in enumerate(zip(kinds, value.leaves, strict=True)):
                    packed = writer.emit(f"insertvalue {whole} {packed}, {kind} {leaf}, {at}")
                writer.end(f"ret {whole} {packed}")

    def _if(self, node: ast.If) -> None:
        writer, condition = self._writer, truth(self._writer, self._value(node.test))
        if condition in (TRUE, FALSE):
            self._statements(node.body if condition == TRUE else node.orelse)
            return
        then, otherwise, after = writer.label(), writer.label(), writer.label()
        writer.branch(condition.leaf, then, otherwise if node.orelse else after)
        writer.begin(then)
        self._statements(node.body)
        ends = bool(writer.block)
        writer.jump(after)
        if node.orelse:
            writer.begin(otherwise)
            self._statements(node.orelse)
            ends = ends or bool(writer.block)
            writer.jump(after)
        if ends or not node.orelse:
            writer.begin(after)

    def _while(self, node: ast.While) -> None:
        writer = self._writer
        test, body, out = writer.label(), writer.label(), writer.label()
        writer.jump(test)
        writer.begin(test)
        writer.branch(truth(writer, self._value(node.test)).leaf, body, out)
        writer.begin(body)
        self._body(node.body, _Exits(test, out))
        writer.jump(test)
        writer.begin(out)

    def _body(self, statements: Sequence[ast.stmt], exits: _Exits) -> None:
        self._loops.append(exits)
        self._statements(statements)
        self._loops.pop()

    def _for(self, target: ast.expr, iterated: ast.expr, body: Sequence[ast.stmt]) -> None:
        match iterated:
            case ast.Call(func=ast.Name(id="range"), args=arguments):
                bounds = [converted(self._writer, self._value(each), INT) for each in arguments]
                start, step = integer(0), integer(1)
                match bounds:
                    case [stop]:
                        pass
                    case [start, stop]:
                        pass
                    case [start, stop, step]:
                        pass
                    case _:
                        raise CompilationError("range takes one to three arguments")
                self._for_range(target, start, stop, step, body)
                return
        values = self._value(iterated)
        match values.type:
            case Array():
                self._for_range(target, integer(0), length(values), integer(1), body, values)
            case Record():
                self._unrolled(target, values.fields(), body)
            case _:
                raise CompilationError(f"no loop over {shown(values.type)}")

    def _for_range(
        self,
        target: ast.expr,
        start: Value,
        stop: Value,
        step: Value,
        body: Sequence[ast.stmt],
        array: Value | None = None,
    ) -> None:
        writer = self._writer
        if not step.number:
            raise CompilationError("the step of a range is a constant, and not 0")
        before = "slt" if step.number > 0 else "sgt"
        counter = self._new(INT)
        self._write(counter, start)
        test, inside, again, out = (writer.label() for _ in range(4))
        writer.jump(test)
        writer.begin(test)
        number = self._read(counter)
        writer.branch(writer.emit(f"icmp {before} i64 {number.leaf}, {stop.leaf}"), inside, out)
        writer.begin(inside)
        item = number if array is None else loaded(writer, indexed(writer, array, [number]))
        self._assign(target, item)
        self._body(body, _Exits(again, out))
        writer.jump(again)
        writer.begin(again)
        following = writer.emit(f"add nsw i64 {self._read(counter).leaf}, {step.leaf}")
        self._write(counter, Value(INT, (following,)))
        writer.jump(test)
        writer.begin(out)

    def _unrolled(self, target: ast.expr, items: Sequence[Value], body: Sequence[ast.stmt]) -> None:
        writer, out = self._writer, self._writer.label()
        for item in items:
            again = writer.label()
            self._assign(target, item)
            self._body(body, _Exits(again, out))
            writer.jump(again)
            writer.begin(again)
        writer.jump(out)
        writer.begin(out)

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
                for each, item in zip(targets, self._items(value, len(targets)), strict=True):
                    self._assign(each, item)
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
        return _valued(self._expression(node))

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
                return record([_valued(self._known(item)) for item in value])
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
        for operator, each in zip(node.ops, node.comparators, strict=True):
            value = self._value(each)
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
        for at, each in enumerate(fields[1:], 1):
            here = compared(self._writer, ast.Eq(), index, integer(at))
            found = chosen(self._writer, here, converted(self._writer, each, kind), found)
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


def _valued(found: Value | Static) -> Value:
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


def _returns(statements: Sequence[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Return) for statement in statements for node in ast.walk(statement)
    )


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


def declared(function: FunctionType) -> Type | None:
    """The type of what a function returns, as its annotation says; None if that is no number, no
    tuple of numbers, and not None."""
    annotation = function.__annotations__.get("return", "Any")
    if not isinstance(annotation, str):
        annotation = getattr(annotation, "__name__", str(annotation))
    return _annotated(ast.parse(annotation, mode="eval").body)


def _annotated(node: ast.expr) -> Type | None:
    match node:
        case ast.Constant(value=None):
            return NONE
        case ast.Name(id=name) if name in _NAMED:
            return _NAMED[name]
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=items)):
            fields = [kind for item in items if (kind := _annotated(item)) is not None]
            return Record(tuple(fields)) if len(fields) == len(items) else None
    return None


_NAMED = {"int": INT, "bool": BOOL, "float": FLOAT}
