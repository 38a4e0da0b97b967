"""Parsing of graphs: the inverse of `printer`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from compiler.errors import GraphError
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
from compiler.ir.lexer import Cursor, TokenKind

_NO_CONSTANTS: Final[Mapping[str, Constant]] = MappingProxyType({})


def parse(
    text: str, operators: Registry, constants: Mapping[str, Constant] = _NO_CONSTANTS
) -> Module:
    """The module that a text describes; `verify` checks that it is legal.

    `parse(text(m), operators, ...)` is `m` for every legal `m`.

    Parameters
    ----------
    constants
        Constants by digest, for references in the text.

    Raises
    ------
    ParseError
        The message has the position, the token found and the tokens expected.
    """
    parser = _Parser(text, operators, constants)
    try:
        return parser.module()
    except RecursionError as error:
        # The caller's own stack depth makes the limit of `Cursor.deeper` too high.
        raise parser.token.error("nested too deeply for what is left of the stack") from error


def parse_function(
    text: str, operators: Registry, constants: Mapping[str, Constant] = _NO_CONSTANTS
) -> Function:
    """The last function of a text; parameters and errors are those of `parse`."""
    return parse(text, operators, constants).functions[-1]


class _Parser(Cursor):
    """A parser of a text that may refer to the given operators and constants."""

    def __init__(self, text: str, operators: Registry, constants: Mapping[str, Constant]) -> None:
        super().__init__(text)
        self._operators = operators
        self._constants = constants
        self._functions: dict[str, Function] = {}

    def module(self) -> Module:
        """Parse the whole text."""
        while not self._functions or self.token.kind is not TokenKind.END:
            token = self.token
            function = self._function()
            if function.name in self._functions:
                raise token.error(f"found another function @{function.name}, expected a new name")
            self._functions[function.name] = function
        return Module(tuple(self._functions.values()))

    def _function(self) -> Function:
        token = self.token
        kinds = {each.value: each for each in FunctionKind}
        if token.kind is not TokenKind.NAME or token.text not in kinds:
            self.fail(f"one of {', '.join(kinds)}")
        self.advance()
        target = ""
        if self.accept("["):
            target = self._name("the target's name")
            self.expect("]")
        self.expect("@")
        name = self._name("the function's name")
        params = self.listed("(", ")", self._param)
        result = type_(self) if self.accept("->") else None
        body = self._body("return")
        try:
            return Function(name, params, body, result, kinds[token.text], target)
        except GraphError as error:
            raise token.error(str(error)) from None

    def _name(self, what: str) -> str:
        token = self.take(TokenKind.NAME, what)
        if not is_name(token.text):
            raise token.error(f"found {token}, expected {what}")
        return token.text

    def _param(self) -> Param:
        name = self._name("a parameter's name")
        self.expect(":")
        return Param(name, type_(self))

    def _body(self, ending: str) -> Body:
        """Parse the indented lines under a line that ends with a colon."""
        self.expect(":")
        self.take(TokenKind.NEWLINE)
        self.take(TokenKind.INDENT, "a line, indented")
        lets: list[Let] = []
        with self.deeper():
            while not self.at_word(ending):
                lets.append(self._let(ending))
            self.advance()
            result = self._atom()
            self.take(TokenKind.NEWLINE)
        self.take(TokenKind.DEDENT)
        return Body(tuple(lets), result)

    def _let(self, ending: str) -> Let:
        name = self._name(f"a value's name, or {ending!r}")
        type_or_none = type_(self) if self.accept(":") else None
        self.expect("=")
        if self.at_word("if"):
            return Let(name, self._if(), type_or_none)
        value = self._value()
        self.take(TokenKind.NEWLINE)
        return Let(name, value, type_or_none)

    def _if(self) -> If:
        self.advance()
        condition = self._atom()
        then = self._body("yield")
        self.expect("else")
        return If(condition, then, self._body("yield"))

    def _value(self) -> Value:
        if self.at("("):
            return Tuple(tuple_of(self, self._atom))
        if self.accept("@"):
            callee = self._functions.get(self.token.text)
            if callee is None:
                known = ", ".join(f"@{each}" for each in self._functions)
                self.fail(f"a function defined above: {known or 'there is none'}")
            self.advance()
            return Call(callee, self.listed("(", ")", self._atom))
        if self.followed_by("["):
            operand = Var(self._name("a tuple's name"))
            self.expect("[")
            index = self.integer("the number of a value")
            self.expect("]")
            return TupleGet(operand, index)
        return self._operator()

    def _operator(self) -> Call:
        token = self.token
        spec = self._operators.get(token.text) if token.kind is TokenKind.NAME else None
        if spec is None:
            self.fail("an operator that is known, a function as @name, a tuple, a part of one, if")
        self.advance()
        args: list[Atom] = []
        self.expect("(")
        while not self.at(")") and not self._at_attribute():
            args.append(self._atom())
            if not self.at(")"):
                self.expect(",")
        values = attributes(self, spec.attributes)
        self.expect(")")
        return Call(spec, tuple(args), values)

    def _at_attribute(self) -> bool:
        return self.token.kind is TokenKind.NAME and self.followed_by("=")

    def _atom(self) -> Atom:
        if starts_type(self):
            return constant(self, self._constants)
        return Var(self._name("a name or a constant"))
