"""Selection of the values that become int8, and functions that return given values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Call, Function, Let, Tuple, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.passes import EliminateDead, Fuse, transform
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.visit import all_lets, atoms, bodies, names_of, names_taken
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.quantise.rewriter import Rewriter
from tandem.compiler.quantise.rule import Rule
from tandem.compiler.quantise.rules import RULES


def int8_values(function: Function, types: Mapping[str, Type]) -> tuple[str, ...]:
    """The names of float32 values that become int8, in program order.

    Values in bodies within the function are among them, those of functions that it calls are not.

    A value becomes int8 if the rule of an operator that reads it takes it as int8. Results of rules
    with `always_int8`, as of a convolution, become int8 even if all that reads them takes real
    numbers: the accelerator stores such results as int8 only.
    """
    wanted: set[str] = set()
    always = _always_int8(function)
    in_reals: set[str] = set()

    def want(name: str) -> None:
        type_ = types[name]
        if isinstance(type_, TensorType) and type_.dtype == FLOAT32:
            wanted.add(name)

    def walk(body: Body) -> None:
        in_reals.update({body.result.name} if isinstance(body.result, Var) else ())
        for let in reversed(body.lets):
            for inner in bodies(let.value):
                walk(inner)
            if let.name in always and let.name in in_reals:
                want(let.name)
            operands = _int8_operands(let, wanted=let.name in wanted)
            for name in operands:
                want(name)
            if let.name not in always:
                read = {each.name for each in atoms(let.value) if isinstance(each, Var)}
                in_reals.update(read - set(operands))

    walk(function.body)
    names = [
        *(each.name for each in function.params),
        *(let.name for let in all_lets(function.body)),
    ]
    return tuple(each for each in names if each in wanted)


def points(program: Function) -> Mapping[str, tuple[str, str]]:
    """The values of a program that become int8: function and name, by the name of their tensor."""
    return {
        tensor_name(program, function, name): (function.name, name)
        for function in program.named.values()
        for name in int8_values(function, infer(function))
    }


def tensor_name(program: Function, function: Function, name: str) -> str:
    """The name of a value's tensor: in a function that is called by name, with the function's."""
    return name if function.name == program.name else f"{function.name}.{name}"


def _always_int8(function: Function) -> set[str]:
    """Names of results whose accumulators become int8 also for users in real numbers."""
    found: set[str] = set()
    for let in all_lets(function.body):
        rule = _rule_of(let)
        if rule is None:
            continue
        assert isinstance(let.value, Call), "it has a rule"
        starts = rule.always_int8(let.value) and _int8_operands(let, wanted=True)
        if starts or (rule.extends and not found.isdisjoint(names_of(let.value))):
            found.add(let.name)
    return found


def _int8_operands(let: Let, wanted: bool) -> tuple[str, ...]:
    """The names of operands that the operator's rule takes as int8.

    Parameters
    ----------
    wanted
        Whether the result is wanted as int8.
    """
    rule = _rule_of(let)
    if rule is None or (rule.on_demand and not wanted):
        return ()
    assert isinstance(let.value, Call), "it has a rule"
    return tuple(each.name for each in rule.int8_operands(let.value) if isinstance(each, Var))


def _rule_of(let: Let) -> Rule[Rewriter] | None:
    value = let.value
    if let.keep_float:
        return None
    if isinstance(value, Call) and isinstance(value.callee, OpSpec):
        return RULES.get(value.callee.name)
    return None


def return_values(function: Function, names: Sequence[str]) -> Function:
    """The function fused into kernels, with the tuple of the named values as its result."""
    taken = names_taken(function)
    result = unique_name("watched", taken)
    values = Let(result, Tuple(tuple(map(Var, names))))
    body = Body((*function.body.lets, values), Var(result))
    watched = replace(function, body=body, result=None)
    watched.reuse_analyses(function)
    return transform(watched, (EliminateDead(), Fuse()))
