"""From text to graphs: the inverse of `printer`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from compiler.errors import GraphError
from compiler.graph.attributes import Attributes
from compiler.graph.constant import Constant
from compiler.graph.nodes import (
    Atom,
    Body,
    Call,
    Function,
    FunctionKind,
    If,
    Let,
    Module,
    Param,
    Tuple,
    TupleGet,
    Value,
    Var,
)
from compiler.graph.opspec import Registry
from compiler.graph.parse_atoms import attributes, constant, starts_type, tuple_of, type_
from compiler.graph.syntax import is_name
from compiler.graph.types import Type
from compiler.ir.lexer import Cursor, TokenKind

__all__ = ["parse", "parse_function"]

_NO_CONSTANTS: Final[Mapping[str, Constant]] = MappingProxyType({})


def parse(
    text: str, operators: Registry, constants: Mapping[str, Constant] = _NO_CONSTANTS
) -> Module:
    """The module that a text is. Whether it means anything is for `verify` to say.

    `parse(text(m), operators, ...)` is `m` for every legal `m`.

    Parameters
    ----------
    constants
        Those that the text only refers to, by digest.

    Raises
    ------
    ParseError
        Says where, what is found there and what is expected.
    """
    cursor = Cursor(text)
    try:
        return _Parser(cursor, operators, constants).module()
    except RecursionError as error:
        # The caller is deep in the stack: that `Cursor.deeper` allows it does not help.
        raise cursor.token.error("nested too deeply for what is left of the stack") from error


def parse_function(
    text: str, operators: Registry, constants: Mapping[str, Constant] = _NO_CONSTANTS
) -> Function:
    """The last function of a text. Parameters and errors as `parse`."""
    return parse(text, operators, constants).functions[-1]


class _Parser:
    def __init__(
        self, cursor: Cursor, operators: Registry, constants: Mapping[str, Constant]
    ) -> None:
        self._cursor = cursor
        self._operators = operators
        self._constants = constants
        self._functions: dict[str, Function] = {}

    def module(self) -> Module:
        """The whole text."""
        cursor = self._cursor
        while not self._functions or cursor.token.kind is not TokenKind.END:
            token = cursor.token
            function = self._function()
            if function.name in self._functions:
                raise token.error(f"found another function @{function.name}, expected a new name")
            self._functions[function.name] = function
        return Module(tuple(self._functions.values()))

    def _function(self) -> Function:
        cursor = self._cursor
        token = cursor.token
        kinds = {each.value: each for each in FunctionKind}
        if token.kind is not TokenKind.NAME or token.text not in kinds:
            cursor.fail(f"one of {', '.join(kinds)}")
        cursor.advance()
        target = ""
        if cursor.accept("["):
            target = self._name("the target's name")
            cursor.expect("]")
        cursor.expect("@")
        name = self._name("the function's name")
        params = cursor.listed("(", ")", self._param)
        result = self._type() if cursor.accept("->") else None
        body = self._body("return")
        try:
            return Function(name, params, body, result, kinds[token.text], target)
        except GraphError as error:
            raise token.error(str(error)) from None

    def _name(self, what: str) -> str:
        token = self._cursor.take(TokenKind.NAME, what)
        if not is_name(token.text):
            raise token.error(f"found {token}, expected {what}")
        return token.text

    def _type(self) -> Type:
        return type_(self._cursor)

    def _param(self) -> Param:
        name = self._name("a parameter's name")
        self._cursor.expect(":")
        return Param(name, self._type())

    def _body(self, ending: str) -> Body:
        """What is indented under a line that ends with a colon."""
        cursor = self._cursor
        cursor.expect(":")
        cursor.take(TokenKind.NEWLINE)
        cursor.take(TokenKind.INDENT, "a line, indented")
        lets: list[Let] = []
        with cursor.deeper():
            while not cursor.at_word(ending):
                lets.append(self._let(ending))
            cursor.advance()
            result = self._atom()
            cursor.take(TokenKind.NEWLINE)
        cursor.take(TokenKind.DEDENT)
        return Body(tuple(lets), result)

    def _let(self, ending: str) -> Let:
        cursor = self._cursor
        name = self._name(f"a value's name, or {ending!r}")
        said = self._type() if cursor.accept(":") else None
        cursor.expect("=")
        if cursor.at_word("if"):
            return Let(name, self._if(), said)
        value = self._value()
        cursor.take(TokenKind.NEWLINE)
        return Let(name, value, said)

    def _if(self) -> If:
        cursor = self._cursor
        cursor.advance()
        condition = self._atom()
        then = self._body("yield")
        cursor.expect("else")
        return If(condition, then, self._body("yield"))

    def _value(self) -> Value:
        cursor = self._cursor
        if cursor.at("("):
            return Tuple(tuple_of(cursor, self._atom))
        if cursor.accept("@"):
            callee = self._functions.get(cursor.token.text)
            if callee is None:
                known = ", ".join(f"@{each}" for each in self._functions)
                cursor.fail(f"a function that stands before: {known or 'there is none'}")
            cursor.advance()
            return Call(callee, cursor.listed("(", ")", self._atom))
        if cursor.followed_by("["):
            operand = Var(self._name("a tuple's name"))
            cursor.expect("[")
            index = cursor.integer("the number of a value")
            cursor.expect("]")
            return TupleGet(operand, index)
        return self._operator()

    def _operator(self) -> Call:
        cursor = self._cursor
        token = cursor.token
        spec = self._operators.get(token.text) if token.kind is TokenKind.NAME else None
        if spec is None:
            cursor.fail(
                "an operator that is known, a function as @name, a tuple, a part of one, if"
            )
        cursor.advance()
        args: list[Atom] = []
        said: Attributes | None = None
        cursor.expect("(")
        while not cursor.at(")") and said is None:
            if cursor.token.kind is TokenKind.NAME and cursor.followed_by("="):
                said = attributes(cursor, spec.attributes)
            else:
                args.append(self._atom())
                if not cursor.at(")"):
                    cursor.expect(",")
        if said is None:
            said = attributes(cursor, spec.attributes)
        cursor.expect(")")
        return Call(spec, tuple(args), said)

    def _atom(self) -> Atom:
        if starts_type(self._cursor):
            return constant(self._cursor, self._constants)
        return Var(self._name("a name or a constant"))
