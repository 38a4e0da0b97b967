"""Sums and products up to each position, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import BOOL, INT32
from tandem.compiler.ir.expr import Load
from tandem.compiler.ir.visit import subexpressions
from tandem.compiler.operators.cumulative import cumulative_product, cumulative_sum
from tandem.compiler.te import Tensor, placeholder
from tests.support.compiler.operators.operators import Array, interpreted


def plain(array: Array, axis: int, exclusive: bool, reverse: bool, product: bool) -> Array:
    turned = np.flip(array, axis) if reverse else array
    found = (np.cumprod if product else np.cumsum)(turned, axis, dtype=array.dtype)
    if exclusive and array.shape[axis]:
        first = np.full_like(np.take(found, [0], axis), int(product))
        found = np.concatenate([first, np.delete(found, -1, axis)], axis)
    return np.flip(found, axis) if reverse else found


@pytest.mark.parametrize("product", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((1,), 0), ((2,), 0), ((3,), 0), ((5,), -1), ((8,), 0), ((9,), 0), ((2, 4), 0), ((2, 3), 1)],
)
def test_every_form(shape: tuple[int, ...], axis: int, product: bool) -> None:
    array = np.random.default_rng(0).integers(-3, 4, shape).astype(np.int32)
    operator = cumulative_product if product else cumulative_sum
    for exclusive in (False, True):
        for reverse in (False, True):
            made = operator(placeholder(shape, INT32, "x"), axis, exclusive, reverse)
            wanted = plain(array, axis, exclusive, reverse, product)
            np.testing.assert_array_equal(interpreted(made, {"x": array}), wanted)
            assert made.name == operator.__name__


def operands(tensor: Tensor) -> set[Tensor]:
    """The tensors that a tensor is computed from."""
    assert tensor.source is not None
    loads = (each for each in subexpressions(tensor.source.value) if isinstance(each, Load))
    return {each.buffer for each in loads if isinstance(each.buffer, Tensor)}


def test_as_many_stages_as_the_extent_has_bits() -> None:
    stage = cumulative_sum(placeholder((6,), INT32, "x"), exclusive=True, name="y")
    names = []
    while stage.source is not None:
        names.append(stage.name)
        (stage,) = operands(stage)
    assert names == ["y", "y_2", "y_1", "y_start"]
    assert cumulative_sum(placeholder((1,), INT32, "x"), name="y").name == "y"
    assert cumulative_sum(placeholder((0,), INT32, "x"), name="y").shape == (0,)


def test_refusals() -> None:
    with pytest.raises(TensorError, match=r"^cumulative_sum y: .*axis"):
        cumulative_sum(placeholder((2,), INT32, "x"), 1, name="y")
    with pytest.raises(TensorError, match=r"^cumulative_product y: .*bool"):
        cumulative_product(placeholder((2,), BOOL, "x"), name="y")
