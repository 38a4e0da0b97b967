"""Definitions of operators: operands, results and attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final, NoReturn, TypeAlias

from onnx import AttributeProto, NodeProto, defs
from onnx.helper import make_attribute

from tandem.compiler.errors import FrontendError
from tandem.compiler.ir.dtypes import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    DType,
)


class Kind(Enum):
    """The kind of an attribute without a default."""

    FLOAT = AttributeProto.FLOAT
    FLOATS = AttributeProto.FLOATS
    INT = AttributeProto.INT
    INTS = AttributeProto.INTS
    STRING = AttributeProto.STRING


@dataclass(frozen=True, slots=True)
class Formal:
    """An operand or result in a definition.

    Attributes
    ----------
    type
        The name of its type, such as `T`; of the same name, the same type.
    optional
        Whether it may be missing.
    variadic
        Whether there may be several, each of any type that the name allows. The last one only.
    """

    name: str
    type: str
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """What a node of an operator may have.

    Attributes
    ----------
    version
        The opset in which the operator was last changed.
    attributes
        The defaults by name; of the type UNDEFINED where there is none.
    types
        The element types that a type's name stands for; none where `onnx` checks them.
    kinds
        The kinds of attributes; none where `onnx` checks them.
    """

    version: int
    operands: tuple[Formal, ...]
    results: tuple[Formal, ...]
    attributes: Mapping[str, AttributeProto]
    types: Mapping[str, tuple[DType, ...]] = field(default_factory=lambda: MappingProxyType({}))
    kinds: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def check(self, node: NodeProto, types: Sequence[DType | None], where: str) -> None:
        """Raise a `FrontendError` unless a node of an operator that `onnx` does not know is legal.

        Parameters
        ----------
        types
            The element types of the node's operands; None for those that are missing.
        where
            The node in error messages.
        """
        if not self.types:
            return

        def refuse(reason: str) -> NoReturn:
            raise FrontendError(f"the model is not legal: {where}: {reason}")

        for attribute in node.attribute:
            if self.kinds.get(attribute.name) != attribute.type:
                known = attribute.name in self.kinds
                refuse(f"attribute {attribute.name}" + (" is of another type" if known else ""))
        for formals, given, what in (
            (self.operands, types, "operands"),
            (self.results, node.output, "results"),
        ):
            variadic = bool(formals and formals[-1].variadic)
            if len(given) > len(formals) and not variadic:
                refuse(f"{len(given)} {what}, of {len(formals)}")
        same: dict[str, tuple[Formal, DType]] = {}
        for position, formal in enumerate(self.operands):
            given = types[position] if position < len(types) else None
            if given is None:
                if not formal.optional:
                    refuse(f"operand {formal.name} is missing")
                continue
            own = [given]
            if formal.variadic:
                own = [each for each in types[position:] if each is not None]
            for type_ in own:
                if type_ not in self.types[formal.type]:
                    allowed = " or ".join(map(str, self.types[formal.type]))
                    refuse(f"operand {formal.name} is {type_}: {allowed} is possible")
            first, type_ = same.setdefault(formal.type, (formal, given))
            if not formal.variadic and type_ != given:
                refuse(f"operands {first.name} and {formal.name} are {type_} and {given}")


Default: TypeAlias = int | float | str | Kind

FLOATS: Final = (FLOAT32, FLOAT64, FLOAT16, BFLOAT16)
BYTES: Final = (UINT8, INT8)
NARROW: Final = (UINT8, INT8, UINT16, INT16)

_TYPES: Final[Mapping[str, tuple[DType, ...]]] = MappingProxyType(
    {str(each): (each,) for each in (BOOL, FLOAT32, INT32, INT64)}
)
"""Names of types that stand for themselves."""


def define(
    operands: str, results: str, types: Mapping[str, tuple[DType, ...]], **attributes: Default
) -> Definition:
    """The definition of an operator that the `onnx` package does not know.

    Parameters
    ----------
    operands, results
        As in `A: T, bias: T?, inputs: V*`: optional operands have a `?`, any number of them a `*`.
    types
        The element types of names such as `T`; `float32` and such are known.
    attributes
        A default, or the kind of an attribute that has none.
    """
    defaults, kinds = {}, {}
    for name, default in attributes.items():
        if isinstance(default, Kind):
            defaults[name], kinds[name] = AttributeProto(name=name), default.value
        else:
            defaults[name] = make_attribute(name, default)
            kinds[name] = defaults[name].type
    return Definition(
        1,
        _formals(operands),
        _formals(results),
        MappingProxyType(defaults),
        MappingProxyType({**_TYPES, **types}),
        MappingProxyType(kinds),
    )


def _formals(text: str) -> tuple[Formal, ...]:
    found = []
    for formal in text.split(", "):
        name, type_ = formal.split(": ")
        found.append(Formal(name, type_.rstrip("?*"), type_.endswith("?"), type_.endswith("*")))
    return tuple(found)


def standard(operator: str, opset: int, domain: str) -> Definition | None:
    """The definition that the `onnx` package has for an operator; None if there is none."""
    try:
        schema = defs.get_schema(operator, opset, domain)
    except defs.SchemaError:
        return None
    inputs, outputs = (
        tuple(Formal(each.name, each.type_str) for each in formals)
        for formals in (schema.inputs, schema.outputs)
    )
    attributes = {name: each.default_value for name, each in schema.attributes.items()}
    return Definition(schema.since_version, inputs, outputs, MappingProxyType(attributes))
