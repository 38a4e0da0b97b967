"""Selection of the values that become int8, and functions that return given values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.graph.nodes import Body, Call, Function, Let, Tuple, Value, Var
from compiler.graph.opspec import OpSpec
from compiler.graph.passes import EliminateDead, Fuse, transform
from compiler.graph.syntax import unique_name
from compiler.graph.types import TensorType, Type
from compiler.graph.visit import names_of
from compiler.ir.dtypes import FLOAT32
from compiler.quantise.rewriter import Rule
from compiler.quantise.rules import RULES


def int8_values(function: Function, types: Mapping[str, Type]) -> tuple[str, ...]:
    """The names of float32 values that become int8, in program order.

    These are the values that rules take as int8, and results of rules with `always_int8`, as of a
    convolution, whose users take real numbers: an accelerator gives such results as int8 only.
    """
    wanted: set[str] = set()
    always = _always_int8(function)
    in_reals = {function.body.result.name} if isinstance(function.body.result, Var) else set()

    def want(name: str) -> None:
        type_ = types[name]
        if isinstance(type_, TensorType) and type_.dtype == FLOAT32:
            wanted.add(name)

    for let in reversed(function.body.lets):
        if let.name in always and let.name in in_reals:
            want(let.name)
        operands = _int8_operands(let.value, wanted=let.name in wanted)
        for name in operands:
            want(name)
        if let.name not in always:
            in_reals |= names_of(let.value) - set(operands)
    names = [*(each.name for each in function.params), *(let.name for let in function.body.lets)]
    return tuple(each for each in names if each in wanted)


def _always_int8(function: Function) -> set[str]:
    """Names of results whose accumulators become int8 also for users in real numbers."""
    found: set[str] = set()
    for let in function.body.lets:
        rule = _rule_of(let.value)
        if rule is None:
            continue
        assert isinstance(let.value, Call), "it has a rule"
        starts = rule.always_int8(let.value) and _int8_operands(let.value, wanted=True)
        if starts or (rule.extends and not found.isdisjoint(names_of(let.value))):
            found.add(let.name)
    return found


def _int8_operands(value: Value, wanted: bool) -> tuple[str, ...]:
    """The names of operands that the operator's rule takes as int8.

    Parameters
    ----------
    wanted
        Whether the result is wanted as int8.
    """
    rule = _rule_of(value)
    if rule is None or (rule.on_demand and not wanted):
        return ()
    assert isinstance(value, Call), "it has a rule"
    return tuple(each.name for each in rule.int8_operands(value) if isinstance(each, Var))


def _rule_of(value: Value) -> Rule | None:
    if isinstance(value, Call) and isinstance(value.callee, OpSpec):
        return RULES.get(value.callee.name)
    return None


def return_values(function: Function, names: Sequence[str]) -> Function:
    """The function fused into kernels, with the tuple of the named values as its result."""
    taken = {each.name for each in function.params} | {each.name for each in function.body.lets}
    result = unique_name("watched", taken)
    values = Let(result, Tuple(tuple(map(Var, names))))
    body = Body((*function.body.lets, values), Var(result))
    watched = replace(function, body=body, result=None)
    watched.reuse_analyses(function)
    return transform(watched, (EliminateDead(), Fuse()))
