"""Parsing of graphs: the inverse of `printer`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from tandem.compiler.errors import GraphError, ParseError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.data_types import declare
from tandem.compiler.graph.generics import monomorphic
from tandem.compiler.graph.gradients.expand import expanded
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
    Module,
    Param,
    Partial,
    Tuple,
    TupleGet,
    Value,
    Var,
)
from tandem.compiler.graph.opspec import Registry
from tandem.compiler.graph.parse_atoms import (
    TypeNames,
    attributes,
    constant,
    starts_type,
    tuple_of,
    type_,
)
from tandem.compiler.graph.syntax import (
    CALL,
    ELSE,
    FUN,
    GRAD,
    MATCH,
    PARTIAL,
    TYPE,
    VALUE_AND_GRAD,
    is_name,
)
from tandem.compiler.graph.types import (
    NO_DECLARATIONS,
    Constructor,
    Declaration,
    FunctionType,
    Type,
)
from tandem.compiler.graph.visit import program
from tandem.compiler.ir.lexer import Cursor, TokenKind

_NO_CONSTANTS: Final[Mapping[str, Constant]] = MappingProxyType({})


def parse(
    text: str, operators: Registry, constants: Mapping[str, Constant] = _NO_CONSTANTS
) -> Module:
    """The module that a text describes; `verify` checks that it is legal.

    `parse(text(m), operators, ...)` is `m` for every legal `m` in which only those functions are
    called by name that have to be.

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
    """The last function of a text, with those that it calls by name as definitions; parameters and
    errors are those of `parse`. Functions of open element types have a copy for each combination
    with which they are called, and functions of gradients are written; where there are some, errors
    are those of `monomorphic` and of `expanded` too."""
    module = parse(text, operators, constants)
    return expanded(monomorphic(program(module, module.functions[-1].name)), operators)


@dataclass(frozen=True, slots=True)
class _Header:
    """The line of a function up to its body."""

    kind: FunctionKind
    target: str
    template: str
    name: str
    elements: tuple[str, ...]
    params: tuple[Param, ...]
    result: Type | None


class _Parser(Cursor):
    """A parser of a text that may refer to the given operators and constants."""

    def __init__(self, text: str, operators: Registry, constants: Mapping[str, Constant]) -> None:
        super().__init__(text)
        self._operators = operators
        self._constants = constants
        self._functions: dict[str, Function] = {}
        self._calls_by_name = False
        self._by_name: set[str] = set()
        """The functions that are called before their definition, call functions by name or become
        values, and so have to be called by name."""
        self._headers: dict[str, _Header] = {}
        self._types = TypeNames()
        self._declared = NO_DECLARATIONS

    def _all_headers(self) -> dict[str, _Header]:
        """The headers of all functions of the text, so that calls may come before definitions.
        Headers that are wrong are left out: parsing in order gives the error."""
        found: dict[str, _Header] = {}
        first = self._position
        kinds = {each.value for each in FunctionKind}
        for position, token in enumerate(self._tokens):
            if token.text in kinds and token.column == 1:
                self._position = position
                with suppress(ParseError):
                    header = self._header()
                    found.setdefault(header.name, header)
        self._position, self._depth = first, 0
        return found

    def _all_values(self) -> set[str]:
        """The functions that become values somewhere in the text."""
        found = set()
        for position in range(1, len(self._tokens) - 2):
            before, at, name, after = self._tokens[position - 1 : position + 3]
            taken = before.text in (PARTIAL, "(") or (before.text == "=" and after.text != "(")
            if at.text == "@" and taken and name.kind is TokenKind.NAME:
                found.add(name.text)
        return found

    def module(self) -> Module:
        """Parse the whole text."""
        if self._at_declaration():
            self._declarations()
        self._headers = self._all_headers()
        self._by_name = self._all_values()
        self._by_name |= {name for name, header in self._headers.items() if header.elements}
        while not self._functions or self.token.kind is not TokenKind.END:
            token = self.token
            function = self._function()
            if function.name in self._functions:
                raise token.error(f"found another function @{function.name}, expected a new name")
            self._functions[function.name] = function
        return Module(tuple(self._functions.values()), self._declared)

    def _at_declaration(self) -> bool:
        return self.at(TYPE) and self._followed_by_name()

    def _declarations(self) -> None:
        """Parse the data types at the beginning of the text, which may refer to one another."""
        start = self.token
        arities: dict[str, int] = {}
        for position, token in enumerate(self._tokens):
            if token.text == TYPE and token.column == 1:
                self._position = position
                with suppress(ParseError):
                    name, params = self._declaration_head()
                    arities.setdefault(name, len(params))
        self._position = 0
        found: dict[str, Declaration] = {}
        while self._at_declaration():
            token = self.token
            one = self._declaration(arities)
            if one.name in found:
                raise token.error(f"found another type {one.name}, expected a new name")
            found[one.name] = one
        try:
            self._declared = declare(found.values())
        except GraphError as error:
            raise start.error(str(error)) from None
        self._types = TypeNames((), arities, self._declared)

    def _declaration_head(self) -> tuple[str, tuple[str, ...]]:
        self.advance()
        name = self._name("the type's name")
        return name, self._distinct_names("a type") if self.at("[") else ()

    def _declaration(self, arities: Mapping[str, int]) -> Declaration:
        name, params = self._declaration_head()
        names = TypeNames((), {**arities, **dict.fromkeys(params, 0)})
        self.expect("=")
        constructors = [self._constructor(names)]
        while self.accept("|"):
            constructors.append(self._constructor(names))
        self.take(TokenKind.NEWLINE, "'|' or the end of the line")
        return Declaration(name, params, tuple(constructors))

    def _constructor(self, names: TypeNames) -> Constructor:
        token = self.token
        name = self._name("a constructor's name")
        if name in self._operators:
            raise token.error(f"found {token}, an operator, expected a constructor's name")
        fields = self.listed("(", ")", lambda: type_(self, names)) if self.at("(") else ()
        return Constructor(name, fields)

    def _function(self) -> Function:
        token = self.token
        header = self._header()
        self._calls_by_name = False
        body = self._body("return")
        if self._calls_by_name:
            self._by_name.add(header.name)
        try:
            return Function(
                header.name,
                header.params,
                body,
                header.result,
                header.kind,
                header.target,
                header.template,
                header.elements,
            )
        except GraphError as error:
            raise token.error(str(error)) from None

    def _header(self) -> _Header:
        token = self.token
        kinds = {each.value: each for each in FunctionKind}
        if token.kind is not TokenKind.NAME or token.text not in kinds:
            self.fail(f"one of {', '.join(kinds)}")
        self.advance()
        target = template = ""
        if self.accept("["):
            target = self._name("the target's name")
            if self.accept(","):
                template = self._name("the schedule template's name")
            self.expect("]")
        self.expect("@")
        name = self._name("the function's name")
        elements = self._distinct_names("an element type") if self.at("[") else ()
        self._types = replace(self._types, elements=elements)
        params = self.listed("(", ")", self._param)
        result = self._type() if self.accept("->") else None
        kind = kinds[token.text]
        if elements and kind is not FunctionKind.FUNC:
            raise token.error(f"found a {kind.value} with open element types: only a func has some")
        return _Header(kind, target, template, name, elements, params, result)

    def _distinct_names(self, what: str) -> tuple[str, ...]:
        token = self.token
        found = self.listed("[", "]", lambda: self._name(f"the name of {what}"))
        taken = any(each in self._types.arities for each in found)
        if not found or len({*found}) < len(found) or taken:
            raise token.error(
                f"found no name or one twice, or that of a data type, expected names of {what}"
            )
        return found

    def _type(self) -> Type:
        return type_(self, self._types)

    def _name(self, what: str) -> str:
        token = self.take(TokenKind.NAME, what)
        if not is_name(token.text):
            raise token.error(f"found {token}, expected {what}")
        return token.text

    def _param(self) -> Param:
        name = self._name("a parameter's name")
        self.expect(":")
        return Param(name, self._type())

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
        type_or_none = self._type() if self.accept(":") else None
        self.expect("=")
        if self.at_word("if"):
            return Let(name, self._if(), type_or_none)
        if self.at_word(FUN) and self.followed_by("("):
            return Let(name, self._fun(), type_or_none)
        if self.at_word(MATCH) and self._followed_by_name():
            return Let(name, self._match(), type_or_none)
        value = self._value()
        self.take(TokenKind.NEWLINE)
        return Let(name, value, type_or_none)

    def _if(self) -> If:
        self.advance()
        condition = self._atom()
        then = self._body("yield")
        self.expect("else")
        return If(condition, then, self._body("yield"))

    def _match(self) -> Match:
        self.advance()
        operand = Var(self._name("the name of a value of a data type"))
        self.expect(":")
        self.take(TokenKind.NEWLINE)
        self.take(TokenKind.INDENT, "an arm, indented")
        arms: list[Arm] = []
        with self.deeper():
            while self.token.kind is not TokenKind.DEDENT:
                arms.append(self._arm())
        self.advance()
        return Match(operand, tuple(arms))

    def _arm(self) -> Arm:
        if self.accept(ELSE):
            return Arm(None, (), self._body("yield"))
        name = self._name(f"a constructor's name, or {ELSE!r}")
        has_fields = self.at("(")
        fields = self.listed("(", ")", lambda: self._name("a field's name")) if has_fields else ()
        return Arm(name, fields, self._body("yield"))

    def _fun(self) -> Fun:
        self.advance()
        params = self.listed("(", ")", self._param)
        result = self._type() if self.accept("->") else None
        return Fun(params, self._body("yield"), result)

    def _value(self) -> Value:
        if self.at("("):
            return Tuple(tuple_of(self, self._atom))
        if self.accept("@"):
            callee = self._callee()
            self.advance()
            if isinstance(callee, Global) and self.token.kind is TokenKind.NEWLINE:
                return Partial(callee)
            return Call(callee, self.listed("(", ")", self._atom))
        if self.at_word(PARTIAL) and (self.followed_by("@") or self._followed_by_name()):
            self.advance()
            return Partial(self._function_value(), self.listed("(", ")", self._atom))
        if self._at_gradient():
            return self._gradient()
        if self.at_word(CALL) and self._followed_by_name():
            self.advance()
            function = Var(self._name("the name of a function that is a value"))
            return Apply(function, self.listed("(", ")", self._atom))
        if self._at_construct():
            return self._construct()
        if self.followed_by("["):
            operand = Var(self._name("a tuple's name"))
            self.expect("[")
            index = self.integer("the number of a value")
            self.expect("]")
            return TupleGet(operand, index)
        return self._operator()

    def _at_gradient(self) -> bool:
        """Whether gradients of a function come next, and no operator of that name."""
        after = self._tokens[min(self._position + 2, len(self._tokens) - 1)]
        named = self.at_word(GRAD) or self.at_word(VALUE_AND_GRAD)
        return named and self.followed_by("(") and after.text == "@"

    def _gradient(self) -> Gradient:
        with_value = self.advance().text == VALUE_AND_GRAD
        self.expect("(")
        callee = self._function_value()
        assert isinstance(callee, Global), "after '@'"
        wrt = []
        while self.accept(","):
            wrt.append(self.integer("the number of a parameter"))
        self.expect(")")
        return Gradient(callee, tuple(wrt), with_value)

    def _at_construct(self) -> bool:
        """Whether a call of a constructor comes next, and not an item of a tuple of its name."""
        if self._declared.of_constructor(self.token.text) is None:
            return False
        after = self._tokens[min(self._position + 2, len(self._tokens) - 1)]
        return not (self.followed_by("[") and after.kind is TokenKind.NUMBER)

    def _construct(self) -> Construct:
        constructor = self.advance().text
        arguments = self.listed("[", "]", self._type) if self.at("[") else ()
        args = self.listed("(", ")", self._atom)
        return Construct(constructor, self._declared, args, arguments)

    def _followed_by_name(self) -> bool:
        return self._tokens[self._position + 1].kind is TokenKind.NAME

    def _function_value(self) -> Global | Var:
        """A function by name, or the name of a value that is a function."""
        if not self.accept("@"):
            return Var(self._name("the name of a function that is a value"))
        callee = self._callee()
        assert isinstance(callee, Global), "what becomes a value is called by name"
        self.advance()
        return callee

    def _callee(self) -> Function | Global:
        """The function that the next token names: a value if it stands above all its callers and
        calls nothing by name, else its name and declared type."""
        token = self.token
        name = token.text
        if name in self._functions and name not in self._by_name:
            return self._functions[name]
        header = self._headers.get(name)
        if header is None:
            known = ", ".join(f"@{each}" for each in self._headers)
            self.fail(f"a function of this text: {known or 'there is none'}")
        if header.kind is not FunctionKind.FUNC and name in self._functions:
            raise token.error(f"found {token}, a {header.kind.value}, which is no value")
        if header.kind is not FunctionKind.FUNC:
            raise token.error(f"found {token}, a {header.kind.value} that is defined below its use")
        if header.result is None:
            raise token.error(
                f"found {token}, expected a function with a declared result: a function that is "
                "called before its end or becomes a value, or calls one that does, has to declare "
                "its own"
            )
        self._calls_by_name = True
        self._by_name.add(name)
        return Global(name, FunctionType(tuple(it.type for it in header.params), header.result))

    def _operator(self) -> Call:
        token = self.token
        spec = self._operators.get(token.text) if token.kind is TokenKind.NAME else None
        if spec is None:
            self.fail(
                "an operator that is known, a function as @name, a constructor, a tuple, a part of "
                "one, if, match, fun"
            )
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
