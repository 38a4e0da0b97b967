"""Graphs as text (the grammar is in `compiler.graph`), which `parser` reads back.

Attributes equal to their defaults are omitted. Constants of up to `MAX_INLINE_ELEMENTS` elements
are printed in full, larger constants as type and digest: `visit.constants` gives the table that
`parser` needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from enum import Enum
from typing import Any, assert_never

import numpy as np

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import (
    Apply,
    Atom,
    Body,
    Call,
    Construct,
    Fun,
    Function,
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
)
from tandem.compiler.graph.syntax import (
    CALL,
    ELSE,
    FUN,
    GRAD,
    MATCH,
    MAX_INLINE_ELEMENTS,
    NONE,
    PARTIAL,
    REFERENCE,
    VALUE_AND_GRAD,
)
from tandem.compiler.graph.types import Type
from tandem.compiler.graph.visit import declarations_of, functions
from tandem.compiler.ir.dtypes import BOOL, DType
from tandem.compiler.ir.expr import Const
from tandem.compiler.ir.printer import text as loop_text

_INDENT = "  "


def text(program: Function | Module) -> str:
    """The text of a module, or of a function after its data types, callees and definitions."""
    if isinstance(program, Function):
        listed, declared = functions(program), declarations_of(program)
    else:
        listed, declared = program.functions, program.declared
    parts: list[Iterable[str]] = [map(str, declared.types)] if declared.types else []
    parts += [_function(each) for each in listed]
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts)


def _function(function: Function) -> Iterator[str]:
    how = ", ".join(filter(None, (function.target, function.template)))
    target = f"[{how}]" if how else ""
    elements = f"[{', '.join(function.elements)}]" if function.elements else ""
    signature = elements + _signature(function.params, function.result)
    yield f"{function.kind.value}{target} @{function.name}{signature}:"
    yield from _body(function.body, "return")


def _signature(params: Iterable[Param], result: Type | None) -> str:
    given = ", ".join(f"{each.name}: {each.type}" for each in params)
    return f"({given})" if result is None else f"({given}) -> {result}"


def _body(body: Body, ending: str) -> Iterator[str]:
    for let in body.lets:
        yield from (_INDENT + line for line in _let(let))
    yield f"{_INDENT}{ending} {_atom(body.result)}"


def _let(let: Let) -> Iterator[str]:
    start = let.name if let.type is None else f"{let.name}: {let.type}"
    first, *rest = _value(let.value)
    yield f"{start} = {first}"
    yield from rest


def _value(value: Value) -> Iterator[str]:
    match value:
        case Call():
            yield _call(value)
        case Tuple(items=items):
            inner = ", ".join(map(_atom, items))
            yield f"({inner},)" if len(items) == 1 else f"({inner})"
        case TupleGet(operand=operand, index=index):
            yield f"{operand.name}[{index}]"
        case If(condition=condition, then=then, otherwise=otherwise):
            yield f"if {_atom(condition)}:"
            yield from _body(then, "yield")
            yield "else:"
            yield from _body(otherwise, "yield")
        case Partial(callee=Global(name=name), args=()):
            yield f"@{name}"
        case Partial(callee=callee, args=args):
            function = f"@{callee.name}" if isinstance(callee, Global) else callee.name
            yield f"{PARTIAL} {function}({', '.join(map(_atom, args))})"
        case Gradient(callee=callee, wrt=wrt, with_value=with_value):
            word = VALUE_AND_GRAD if with_value else GRAD
            yield f"{word}({', '.join([f'@{callee.name}', *map(str, wrt)])})"
        case Apply(callee=callee, args=args):
            yield f"{CALL} {callee.name}({', '.join(map(_atom, args))})"
        case Fun(params=params, body=body, result=result):
            yield f"{FUN}{_signature(params, result)}:"
            yield from _body(body, "yield")
        case Construct(constructor=constructor, args=args, arguments=arguments):
            types = f"[{', '.join(map(str, arguments))}]" if arguments else ""
            yield f"{constructor}{types}({', '.join(map(_atom, args))})"
        case Match(operand=operand, arms=arms):
            yield f"{MATCH} {operand.name}:"
            for arm in arms:
                fields = f"({', '.join(arm.fields)})" if arm.fields else ""
                yield f"{_INDENT}{arm.constructor or ELSE}{fields}:"
                yield from (_INDENT + line for line in _body(arm.body, "yield"))
        case _:
            assert_never(value)


def _call(call: Call) -> str:
    args = [_atom(each) for each in call.args]
    if isinstance(call.callee, Function | Global):
        return f"@{call.callee.name}({', '.join(args)})"
    return f"{call.callee.name}({', '.join([*args, *_attributes(call.attributes)])})"


def _attributes(attributes: Attributes) -> Iterator[str]:
    for field in fields(attributes):
        value = getattr(attributes, field.name)
        # `repr` distinguishes 0.0 from -0.0; == does not.
        if field.default is MISSING or repr(value) != repr(field.default):
            yield f"{field.name}={_attribute(value)}"


def _attribute(value: Any) -> str:
    match value:
        case None:
            return NONE
        case Enum():
            return str(value.value)
        case tuple():
            return f"[{', '.join(map(str, value))}]"
        case _:
            return str(value)


def _atom(atom: Atom) -> str:
    if not isinstance(atom, Constant):
        return atom.name
    type_ = atom.type
    # All NaN bit patterns have the same text.
    if (
        atom.array.size > MAX_INLINE_ELEMENTS
        or type_.dtype.is_stored_float
        or (type_.dtype.is_float and bool(np.isnan(atom.array).any()))
    ):
        return f"{type_} @ {REFERENCE}{atom.digest}"
    return f"{type_}({', '.join(_number(each, type_.dtype) for each in atom.array.flat)})"


def _number(value: Any, dtype: DType) -> str:
    """The text of an element in the loop language, without its type."""
    plain = Const(bool(value) if dtype == BOOL else value.item(), dtype)
    written = loop_text(plain)
    return written.removeprefix(f"{dtype}(").removesuffix(")")
