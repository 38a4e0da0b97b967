"""The size of an operator's expression: how long a kernel is in which the operator is inlined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType, Type, symbols_of
from tandem.compiler.ir.expr import Load
from tandem.compiler.ir.visit import subexpressions
from tandem.compiler.te import placeholder
from tandem.compiler.te.build import stages


@dataclass(frozen=True, slots=True)
class ExpressionSize:
    """The size of the expression for an element of an operator's result.

    Attributes
    ----------
    length
        The number of nodes of the expression.
    reads
        By name of an operand: the number of places in which the expression reads the operand.
    """

    length: int = 1
    reads: Mapping[str, int] = field(default_factory=dict)


def expression_size(call: Call, types: Mapping[str, Type]) -> ExpressionSize:
    """The size of an operator's call. Of operands with symbolic extents nothing is known: the
    operator then counts as one node that reads every operand once."""
    assert isinstance(call.callee, OpSpec), "a call of an operator"
    operand_types = [
        atom.type if isinstance(atom, Constant) else types[atom.name] for atom in call.args
    ]
    names = {f"p{at}": atom.name for at, atom in enumerate(call.args) if isinstance(atom, Var)}
    operands = [
        placeholder(type_.stored.static_shape(""), type_.stored.dtype, f"p{at}")
        for at, type_ in enumerate(operand_types)
        if isinstance(type_, TensorType) and not symbols_of(type_)
    ]
    if len(operands) != len(call.args):
        return ExpressionSize(1, Counter(names.values()))
    length, reads = 0, Counter[str]()
    for stage in stages(call.callee.compute("result", operands, call.attributes)):
        for part in () if stage.source is None else subexpressions(stage.source.value):
            length += 1
            if isinstance(part, Load) and part.buffer.name in names:
                reads[names[part.buffer.name]] += 1
    return ExpressionSize(length, reads)
