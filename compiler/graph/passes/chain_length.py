"""The length of a chain of element-wise operators, in instructions of a processor's vectors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.ir.expr import Binary, Cast, Expr, Load, Unary
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.visit import operands
from tandem.compiler.te import placeholder
from tandem.compiler.te.build import stages

_CHEAP = frozenset((UnaryOp.NEG, UnaryOp.NOT, UnaryOp.ABS, UnaryOp.FLOOR, UnaryOp.CEIL))
_UNARY: Final[Mapping[UnaryOp, int]] = MappingProxyType(
    {**dict.fromkeys(_CHEAP, 1), UnaryOp.ROUND: 1, UnaryOp.SQRT: 4}
)
_FORMULA = 16
"""Instructions of a function that is computed by a formula, as the exponential."""
_BINARY: Final[Mapping[BinaryOp, int]] = MappingProxyType(
    {BinaryOp.DIV: 4, BinaryOp.FLOORDIV: 8, BinaryOp.MOD: 8, BinaryOp.POW: 2 * _FORMULA}
)
_LANE_BITS = 32
"""Of wider numbers a vector has fewer, so that there are more vectors."""


def chain_length(call: Call, types: Mapping[str, Type]) -> int:
    """The instructions of an element-wise operator for a vector of elements of 32 bits.

    What depends on constant operands only is computed once, and takes none.
    """
    assert isinstance(call.callee, OpSpec), "a call of an operator"
    given = []
    for number, atom in enumerate(call.args):
        type_ = atom.type if isinstance(atom, Constant) else types[atom.name]
        assert isinstance(type_, TensorType), "verified: operators take tensors"
        stem = "constant" if isinstance(atom, Constant) else "data"
        given.append(placeholder((), type_.dtype, f"{stem}_{number}"))
    data = {each.name for each in given if each.name.startswith("data")}
    return sum(
        _instructions(stage.source.value, data)[0]
        for stage in stages(call.callee.compute("result", given, call.attributes))
        if stage.source is not None
    )


def _instructions(expr: Expr, data: set[str]) -> tuple[int, bool]:
    """The instructions of an expression, and whether it depends on data."""
    if isinstance(expr, Load):
        return 0, expr.buffer.name in data
    parts = [_instructions(each, data) for each in operands(expr)]
    if not any(depends for _, depends in parts):
        return 0, False
    match expr:
        case Unary(op=op):
            own = _UNARY.get(op, _FORMULA)
        case Binary(op=op):
            own = _BINARY.get(op, 1)
        case _:
            own = 1
    wide = expr.operand.dtype if isinstance(expr, Cast) else expr.dtype
    bits = max(wide.bits, expr.dtype.bits)
    return sum(count for count, _ in parts) + own * max(1, bits // _LANE_BITS), True
