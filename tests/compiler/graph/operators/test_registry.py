"""The graph knows every operator that there is, and tells it what it has to be told."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from enum import Enum

import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.opspec import registry
from tandem.compiler.layouts import conversion
from tandem.compiler.operators import (
    blocks,
    col2im,
    compaction,
    conv2d,
    cumulative,
    determinant,
    gather,
    layout,
    lookup,
    matmul,
    norm,
    pad,
    pool,
    quantised,
    reduce,
    rows,
    sample,
    scatter,
    slicing,
    top_k,
    widen,
)
from tandem.compiler.operators.elementwise import ELEMENTWISE
from tandem.compiler.operators.window import windows

MODULES = (
    *(
        blocks,
        col2im,
        compaction,
        conv2d,
        conversion,
        cumulative,
        determinant,
        gather,
        layout,
        lookup,
        matmul,
        norm,
    ),
    *(pad, pool, quantised, reduce, rows, sample, scatter, slicing, top_k, widen),
)
HELPERS = frozenset({"add_bias", "blocks", "elements", "inside", "mapped", "reduced"})
FUNCTIONS: dict[str, Callable[..., object]] = {
    **{each.name: each.scalar for each in ELEMENTWISE.values()},
    **{
        name.removesuffix("_of"): function
        for module in MODULES
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and name not in HELPERS and name[0] != "_"
    },
}
"""What computes each operator, by its name; of elements, where it works on these."""


def test_every_operator_is_there() -> None:
    assert set(OPERATORS) == set(FUNCTIONS)


@pytest.mark.parametrize("name", OPERATORS)
def test_attributes_have_the_names_and_defaults_of_the_function(name: str) -> None:
    parameters = {**inspect.signature(FUNCTIONS[name]).parameters}
    if "slides" in parameters:
        parameters |= inspect.signature(windows).parameters
    for field in fields(OPERATORS[name].attributes):
        default = parameters[field.name].default
        if field.default is MISSING:
            assert default is inspect.Parameter.empty
        else:
            plain = field.default.value if isinstance(field.default, Enum) else field.default
            assert default in (plain, field.default)
            assert type(default) in (type(plain), type(field.default))


def test_the_table(golden: Callable[[str, str], None]) -> None:
    lines = []
    for name, spec in sorted(OPERATORS.items()):
        attributes = ", ".join(
            field.name if field.default is MISSING else f"{field.name}={field.default}"
            for field in fields(spec.attributes)
        )
        inner = "; ".join(filter(None, (str(spec.operands), attributes)))
        lines.append(f"{name}({inner}) {spec.pattern.name}\n")
    golden("graph/operators.txt", "".join(lines))


def test_two_of_one_name_are_refused() -> None:
    other = replace(OPERATORS["celu"], name="elu")
    with pytest.raises(GraphError, match="two operators are called elu"):
        registry(*OPERATORS.values(), other)
    assert registry(OPERATORS["elu"], OPERATORS["elu"]) == {"elu": OPERATORS["elu"]}
