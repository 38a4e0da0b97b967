"""Inputs that callers keep from run to run, to which a program adds rows in place (`KeepRows`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call, Function, Let, Var
from tandem.compiler.graph.operators.quantised import Quantise
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.visit import names_of, use_counts
from tandem.runtime.artifact import InPlace, Scale


def scales_of(function: Function, inputs: Collection[str]) -> Mapping[str, Scale]:
    """The scales by which a function rounds inputs to integers, by the inputs' names."""
    found: dict[str, Scale] = {}
    for let in function.body.lets:
        match let.value:
            case Call(
                attributes=Quantise(), args=(Var(name=name), Constant() as step, Constant() as zero)
            ) if name in inputs and step.array.size == zero.array.size == 1:
                found[name] = Scale(float(step.array.item()), int(zero.array.item()))
            case _:
                pass
    return found


def changed_inputs(function: Function) -> dict[str, InPlace]:
    """The values of a program that are an input with other rows (`put_rows`), where nothing else
    reads the input: their places, by name."""
    reads = use_counts(function.body)
    found: dict[str, InPlace] = {}
    for param in function.params:
        for let in function.body.lets:
            if reads[param.name] == 1 and param.name in names_of(let.value):
                match let.value:
                    case Call(callee=Function() as kernel, args=(Var(name=name), *_)) if (
                        name == param.name and _puts_rows(kernel)
                    ):
                        found[let.name] = InPlace(name)
                    case _:
                        pass
    return found


def _puts_rows(kernel: Function) -> bool:
    """Whether a kernel is the operator `put_rows` alone, on its parameters."""
    match kernel.body.lets:
        case (Let(value=Call(callee=OpSpec(name="put_rows"), args=args)),):
            return args == tuple(Var(param.name) for param in kernel.params)
        case _:
            return False
