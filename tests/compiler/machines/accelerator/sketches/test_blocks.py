"""Expressions in blocks: layouts, what is refused, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.blocks import in_blocks
from tandem.compiler.te import Tensor, compute, placeholder, reduce_axis
from tandem.compiler.te.build import program_of
from tests.support.compiler.machines.accelerator.sketches.random_products import drawn_values
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine


def einsum(rows: int = 3, inputs: int = 6, outputs: int = 10, shift: int = 2) -> Tensor:
    """A product of 1x1 whose channels come last."""
    x = placeholder((rows, 2, inputs), INT8, "x")
    w = placeholder((inputs, outputs), INT8, "w")
    c = reduce_axis(inputs, "c")
    sums = compute(
        (rows, 2, outputs),
        lambda i, j, o: te.sum(te.cast(x[i, j, c], INT32) * te.cast(w[c, o], INT32), axis=c),
        "sums",
    )
    return compute((rows, 2, outputs), lambda i, j, o: te.cast(sums[i, j, o] >> shift, INT8), "y")


def changed(value: Callable[[Tensor, Expr, Expr], Expr]) -> Tensor:
    """A product of matrices, followed by something."""
    x, w = placeholder((4, 8), INT8, "x"), placeholder((8, 8), INT8, "w")
    c = reduce_axis(8, "c")
    sums = compute(
        (4, 8),
        lambda i, o: te.sum(te.cast(x[i, c], INT32) * te.cast(w[c, o], INT32), axis=c),
        "sums",
    )
    return compute((4, 8), lambda i, o: value(sums, i, o), "y")


def test_layouts() -> None:
    found = in_blocks(einsum(), AcceleratorTarget.of(machine("tiny")))
    assert {name: str(layout) for name, layout in found.layouts.items()} == {
        "x": "{2/4, 0, 1, _, 2%4}",
        "w": "{1/4, 0/4, 1%4=0, 0%4=0}",
        "y": "{2/4, 0, 1, _, 2%4}",
    }
    assert found.output.shape == (3, 3, 2, 1, 4)


@pytest.mark.parametrize("name", ["tiny", "batch2"])
def test_the_numbers_are_those_of_the_expression(name: str) -> None:
    """Blocks that are not full are filled with zeros, and cut off at the end."""
    plain = einsum()
    found = in_blocks(plain, AcceleratorTarget.of(machine(name)))
    values = drawn_values(np.random.default_rng(3), plain)
    (wanted,) = interpreter.run(program_of([plain]), [values["x"], values["w"]])
    packed = [found.packed(each.name, values[each.name]) for each in found.inputs]
    (result,) = interpreter.run(program_of([found.output]), packed)
    np.testing.assert_array_equal(found.unpacked(result), wanted)


def test_equal_expressions_are_one_computation() -> None:
    """Names tell nothing."""
    one, other = (
        in_blocks(written, AcceleratorTarget.of(machine("tiny"))).computation
        for written in (einsum(), einsum())
    )
    assert one == other


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (changed(lambda sums, i, o: sums[i, o] + 1), "y has to be a cast to int8"),
        (
            changed(lambda sums, i, o: te.cast(sums[i, o] + te.cast(o, INT32), INT8)),
            "no instruction of tiny computes y_0",
        ),
        (
            changed(lambda sums, i, o: te.cast(sums[i, o] // 3, INT8)),
            "no instruction of tiny computes y_0",
        ),
        (
            changed(lambda sums, i, o: te.cast(sums[3 - i, 7 - o] + 1, INT8)),
            "is read at more than the axes of blocks",
        ),
    ],
    ids=["wide", "number of a channel", "division", "other lanes"],
)
def test_refuses(output: Tensor, message: str) -> None:
    with pytest.raises(Refusal, match=message):
        in_blocks(output, AcceleratorTarget.of(machine("tiny")))


def test_refuses_several_sums() -> None:
    x, w = placeholder((4, 4), INT8, "x"), placeholder((4, 4), INT8, "w")
    found = []
    for name in ("p", "q"):
        c = reduce_axis(4, "c")
        found.append(
            compute(
                (4, 4),
                lambda i, o, c=c: te.sum(te.cast(x[i, c], INT32) * te.cast(w[c, o], INT32), axis=c),
                name,
                ("i", "o"),
            )
        )
    one, other = found
    y = compute((4, 4), lambda i, o: te.cast(one[i, o] + other[i, o], INT8), "y")
    with pytest.raises(Refusal, match="one sum of products: y has 2"):
        in_blocks(y, AcceleratorTarget.of(machine("tiny")))
