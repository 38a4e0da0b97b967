"""Compressed weights become int8 constants where somebody that reads them takes no codes."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Body, Call, Function, Let, Param, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.compressed import Widen
from tandem.compiler.graph.operators.products import Product
from tandem.compiler.graph.passes import WidenWeights, transform
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import BOOL, INT8, INT32, UINT2, UINT4
from tandem.hw.weight_formats import FORMATS, WeightFormat

TYPES = {1: BOOL, 2: UINT2, 4: UINT4}


def layer(form: WeightFormat, group: int = 4) -> Function:
    """A dense layer of three outputs and ten inputs, of compressed weights."""
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 1 << form.bits, (3, 10)).astype(TYPES[form.bits].numpy)
    args = [Constant(codes)]
    if form.scaled:
        scales = generator.integers(0, form.largest_scale + 1, (3, -(-10 // group)))
        args.append(Constant(scales.astype(UINT4.numpy)))
    widen = Widen(form.table, 1, group if form.scaled else 0)
    lets = (
        Let("w", Call(OPERATORS["widen"], tuple(args), widen)),
        Let("y", Call(OPERATORS["dense"], (Var("x"), Var("w")), Product(INT32))),
    )
    return Function("layer", (Param("x", TensorType((2, 10), INT8)),), Body(lets, Var("y")))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_constants_are_what_the_operator_gives(form: WeightFormat) -> None:
    before = layer(form)
    after = transform(before, (WidenWeights(lambda _, __: False),))
    assert [let.name for let in after.body.lets] == ["y"]
    data = np.random.default_rng(1).integers(-128, 128, (2, 10)).astype(np.int8)
    assert np.array_equal(evaluate(before, [data]), evaluate(after, [data]))


def test_kept_for_a_layer_that_takes_codes() -> None:
    before = layer(FORMATS[0])
    assert transform(before, (WidenWeights(lambda call, _: call.callee.name == "dense"),)) == before


def test_another_reader_gets_constants_and_the_layer_too() -> None:
    before = layer(FORMATS[0])
    shown = Let("z", Call(OPERATORS["identity"], (Var("w"),)))
    body = Body((*before.body.lets, shown), Var("z"))
    whole = Function("layer", before.params, body)
    after = transform(whole, (WidenWeights(lambda call, _: call.callee.name == "dense"),))
    assert [let.name for let in after.body.lets] == ["y", "z"]


def test_weights_that_are_the_result() -> None:
    before = layer(FORMATS[0])
    whole = Function("layer", before.params, Body(before.body.lets[:1], Var("w")))
    after = transform(whole, (WidenWeights(lambda _, __: True),))
    assert isinstance(after.body.result, Constant)
    assert np.array_equal(after.body.result.array, evaluate(whole, [np.zeros((2, 10), np.int8)]))
