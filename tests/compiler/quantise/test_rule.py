"""What a rule says by default."""

from __future__ import annotations

from tandem.compiler.graph import Call, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.quantise.rule import Rule, always, never

CALL = Call(OPERATORS["add"], (Var("x"), Var("y")))


def test_defaults() -> None:
    rule: Rule[object] = Rule(lambda rewriter, name, call: True)
    assert rule.int8_operands(CALL) == (Var("x"), Var("y"))
    assert rule.always_int8(CALL) is False
    assert (rule.on_demand, rule.extends) == (False, False)
    assert (always(CALL), never(CALL)) == (True, False)
