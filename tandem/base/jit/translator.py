"""From the syntax tree of a Python function to LLVM instructions.

The part of Python: numbers, arrays, tuples and named tuples, None; assignments, `if`, `while`,
`for` over ranges, arrays and tuples; calls of other compiled functions and of a few builtins. A
variable has the type of its first assignment. A `for` over a tuple is unrolled, and a condition
that types decide (`x is None`) leaves the other branch untranslated.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType

from tandem.base.jit.errors import CompilationError
from tandem.base.jit.expressions import Caller, Expressions, Variable, as_value
from tandem.base.jit.types import INT, NONE, Array, Record, Type, leaves_of
from tandem.base.jit.values import (
    FALSE,
    NOTHING,
    TRUE,
    Value,
    binary,
    converted,
    indexed,
    integer,
    length,
    loaded,
    shown,
    store,
    truth,
)
from tandem.base.jit.writer import Writer


@dataclass
class _Exits:
    """Where `continue` and `break` go to."""

    again: str
    out: str


class Translator(Expressions):
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
        super().__init__(function, arguments, writer, caller)
        self._result = result
        self._loops: list[_Exits] = []
        self._out = ""
        self._found: Variable | None = None

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
                after = binary(self._writer, node.op, as_value(before), self._value(node.value))
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


def _returns(statements: Sequence[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Return) for statement in statements for node in ast.walk(statement)
    )
