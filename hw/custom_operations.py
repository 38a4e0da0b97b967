"""Operations of the ALU that a configuration brings along, beside those of `hw.operations`.

Such an operation is a value: a term over the two operands and over *parameters*, small numbers that
the instruction holds where others have their immediate. Encoding, rules, engines, gates, the
compiler's instruction and the documents derive from the term.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from tandem.hw.alu_terms import (
    BITS,
    GREATEST,
    LEAST,
    Binary,
    Name,
    Number,
    Term,
    evaluate,
    interval,
    low_bits,
    names_of,
    parse_term,
    print_term,
    signed_bits,
    subterms,
)
from tandem.hw.errors import TermError
from tandem.hw.features import Feature
from tandem.hw.operations import (
    ALU_OPCODE_BITS,
    IMMEDIATE_BITS,
    MAX_SHIFT,
    AluOp,
    operations_of,
)

PARAMETER_BITS = IMMEDIATE_BITS
"""Bits of all parameters of an operation together."""
WIDEST = 64
"""The most bits of any result within an operation."""
MOST_STAGES = 4
"""The most stages in which a machine computes its custom operations."""
OPERAND_RANGE = LEAST, GREATEST
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,31}")
_PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,31}")
_TYPE = re.compile(r"(u?)int([1-9][0-9]?)")


@dataclass(frozen=True, slots=True)
class AluParameter:
    """A parameter of an operation: its name, width in bits, and whether it has a sign."""

    name: str
    width: int
    signed: bool

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest value."""
        if self.signed:
            return -(1 << self.width - 1), (1 << self.width - 1) - 1
        return 0, (1 << self.width) - 1

    @property
    def type_text(self) -> str:
        """The type as text: `uint5`, `int8`."""
        return f"{'' if self.signed else 'u'}int{self.width}"


@dataclass(frozen=True)
class CustomOperation:
    """An operation of a machine's ALU: `first = int32(result(first, second, parameters))`.

    Attributes
    ----------
    name
        In programs' texts: capitals, digits and `_`.
    result
        The term. It has the names `a`, the first operand, which is replaced; `b`, the second; and
        those of parameters.
    parameters
        From bit 0 of the instruction's field `imm` on.

    Raises
    ------
    TermError
        A name that is taken or impossible, an unknown name in the term, a shift by an amount that
        can be out of range, a value within of more than `WIDEST` bits, parameters that are not
        used, or of more than `PARAMETER_BITS` bits.
    """

    name: str
    result: Term
    parameters: tuple[AluParameter, ...] = ()

    def __post_init__(self) -> None:
        self._check_names()
        self._check_shifts()
        for part in subterms(self.result):
            bits = signed_bits(*interval(part, self.ranges))
            if bits > WIDEST:
                raise TermError(
                    f"operation {self.name}: {print_term(part)} may have {bits} bits: at most "
                    f"{WIDEST} are allowed; int32() takes the low 32"
                )
        bits = sum(parameter.width for parameter in self.parameters)
        if bits > PARAMETER_BITS:
            raise TermError(
                f"operation {self.name}: its parameters have {bits} bits: at most "
                f"{PARAMETER_BITS} are allowed, those of an immediate"
            )

    @property
    def reads_second(self) -> bool:
        """Whether there is a second operand."""
        return "b" in self._names

    @property
    def immediate_operand(self) -> bool:
        """Whether the second operand may be an immediate, which takes the place of parameters."""
        return self.reads_second and not self.parameters

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """The least and the greatest value of whatever the term names."""
        parameters = {parameter.name: parameter.limits for parameter in self.parameters}
        return {"a": OPERAND_RANGE, "b": OPERAND_RANGE, **parameters}

    def immediate(self, values: Mapping[str, int]) -> int:
        """The field `imm` that holds these values of the parameters.

        Raises
        ------
        TermError
            Other names than those of the parameters, or a value beyond its limits.
        """
        names = [parameter.name for parameter in self.parameters]
        if {*values} != {*names}:
            raise TermError(
                f"operation {self.name} with {_listed(values)}: its parameters are {_listed(names)}"
            )
        bits = shift = 0
        for parameter in self.parameters:
            value, (low, high) = values[parameter.name], parameter.limits
            if not low <= value <= high:
                raise TermError(
                    f"operation {self.name}: {parameter.name} is {value}: it must lie in "
                    f"{low}..{high}"
                )
            bits |= (value & (1 << parameter.width) - 1) << shift
            shift += parameter.width
        sign = 1 << PARAMETER_BITS - 1
        return (bits ^ sign) - sign

    def values_of(self, immediate: int) -> dict[str, int]:
        """The parameters' values in a field `imm`: the inverse of `immediate`."""
        values, shift = {}, 0
        for parameter in self.parameters:
            value = immediate >> shift & (1 << parameter.width) - 1
            if parameter.signed and value >> parameter.width - 1:
                value -= 1 << parameter.width
            values[parameter.name] = value
            shift += parameter.width
        return values

    def apply(self, a: int, b: int, immediate: int = 0) -> int:
        """The result for two numbers of 32 bits, with the parameters of a field `imm`."""
        value = evaluate(self.result, {"a": a, "b": b, **self.values_of(immediate)})
        return low_bits(value, BITS, signed=True)

    def to_json(self) -> dict[str, Any]:
        """The operation as an object of a configuration's file."""
        types = {parameter.name: parameter.type_text for parameter in self.parameters}
        return {
            "name": self.name,
            "result": print_term(self.result),
            **({"parameters": types} if types else {}),
        }

    @staticmethod
    def from_json(value: object) -> CustomOperation:
        """The operation of such an object.

        Raises
        ------
        TermError
            An object with other keys or kinds of values, and whatever the constructor refuses.
        """
        if not isinstance(value, dict):
            raise TermError(f"an operation is an object with name and result, not {value!r}")
        unknown = {*value} - {"name", "result", "parameters"}
        name, result = value.get("name"), value.get("result")
        if unknown or not isinstance(name, str) or not isinstance(result, str):
            raise TermError(
                f"operation {value!r}: it has a name and a result, which are texts, and may have "
                f"parameters"
            )
        given = value.get("parameters", {})
        if not isinstance(given, dict):
            raise TermError(
                f"operation {name}: parameters is {given!r}: it must be an object of types by name"
            )
        parameters = tuple(_parameter(name, key, kind) for key, kind in given.items())
        try:
            term = parse_term(result)
        except TermError as error:
            raise TermError(f"operation {name}: {error}") from None
        return CustomOperation(name, term, parameters)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return names_of(self.result)

    def _check_names(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise TermError(
                f"operation {self.name!a}: a name is a capital, then capitals, digits and _, at "
                f"most 32"
            )
        if self.name in AluOp.__members__:
            raise TermError(f"operation {self.name}: the ALU has one of this name")
        names = [parameter.name for parameter in self.parameters]
        for name in names:
            if not _PARAMETER.fullmatch(name) or name in ("a", "b", "min", "max"):
                raise TermError(
                    f"operation {self.name}: a parameter {name!a}: a name is a small letter, then "
                    f"small letters, digits and _, and neither a nor b, which are operands"
                )
        if len({*names}) < len(names):
            raise TermError(f"operation {self.name}: a parameter is there twice")
        unknown = [name for name in self._names if name not in ("a", "b", *names)]
        if unknown:
            raise TermError(
                f"operation {self.name}: its result names {_listed(unknown)}: known are a, b and "
                f"the parameters, {_listed(names)}"
            )
        unused = [name for name in names if name not in self._names]
        if unused:
            raise TermError(f"operation {self.name}: its result does not name {_listed(unused)}")
        if not {"a", "b"} & {*self._names}:
            raise TermError(f"operation {self.name}: its result names neither a nor b")

    def _check_shifts(self) -> None:
        ranges = {parameter.name: parameter.limits for parameter in self.parameters}
        for part in subterms(self.result):
            if not isinstance(part, Binary) or not part.op.shifts:
                continue
            match part.right:
                case Number(value=value):
                    low = high = value
                case Name(name=name) if name in ranges:
                    low, high = ranges[name]
                case _:
                    low, high = OPERAND_RANGE
            if not 0 <= low <= high <= MAX_SHIFT:
                raise TermError(
                    f"operation {self.name}: shifts by {print_term(part.right)}: an amount is a "
                    f"number from 0 to {MAX_SHIFT}, or a parameter of at most five bits without a "
                    f"sign"
                )


AnyOperation: TypeAlias = AluOp | CustomOperation
"""Any operation of an ALU."""


def operations_from_json(value: object) -> tuple[CustomOperation, ...]:
    """The operations of a list of objects.

    Raises
    ------
    TermError
        Something else than a list, and whatever `CustomOperation.from_json` refuses.
    """
    if not isinstance(value, list):
        raise TermError(f"{value!r} is no list of operations")
    return tuple(CustomOperation.from_json(each) for each in value)


def free_opcodes(features: Set[Feature]) -> tuple[int, ...]:
    """The opcodes that operations of a machine's own may have beside those of its features, in
    ascending order."""
    taken = operations_of(features)
    return tuple(number for number in range(1 << ALU_OPCODE_BITS) if number not in taken)


def _parameter(operation: str, name: object, kind: object) -> AluParameter:
    found = _TYPE.fullmatch(kind) if isinstance(kind, str) else None
    if not isinstance(name, str) or found is None or int(found[2]) > PARAMETER_BITS:
        raise TermError(
            f"operation {operation}: parameter {name!r} is {kind!r}: a type is uint1 to "
            f"uint{PARAMETER_BITS}, or int1 to int{PARAMETER_BITS}"
        )
    return AluParameter(name, int(found[2]), not found[1])


def _listed(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(names) or "none"
