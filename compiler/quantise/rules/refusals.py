"""Sentences of quantisation rules about operands that have no int8 value."""

from __future__ import annotations

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Var
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.quantise.rewriter import UNREAD, Rewriter


def not_int8(rewriter: Rewriter, operand: str, atom: Atom) -> str:
    """Why an operand, by its name in the sentence, has no int8 value, and what would help."""
    if isinstance(atom, Constant):
        return f"its {operand} is a constant"
    dtype = rewriter.type(atom).dtype
    if dtype != FLOAT32:
        return f"its {operand} is {dtype}: a model in float32 would help"
    if rewriter.states_scales:
        return (
            f"the model states no int8 scale for its {operand}: QuantizeLinear and "
            "DequantizeLinear with one constant scale before it would help"
        )
    return f"its {operand} stays in real numbers"


def never_reached(rewriter: Rewriter, operand: str, atom: Atom) -> str:
    """As `not_int8`, for an operand whose values calibration counts."""
    text = not_int8(rewriter, operand, atom)
    if not text.endswith("stays in real numbers"):
        return text
    if isinstance(atom, Var) and atom.name not in rewriter.measured:
        # No rule wants it as int8, as the operator's own result is not wanted so.
        return UNREAD
    return (
        f"no sample of the calibration reached its {operand}: --calibrate with inputs that do "
        "would help"
    )


def not_constant(operand: str, atom: Atom) -> str:
    """Why an operand that has to be constant is not taken."""
    if isinstance(atom, Constant):
        return f"its {operand} is not finite, and no integer stands for that"
    return f"its {operand} is computed when the network runs: a constant would help"
