"""Which stages disappear into their reader."""

from __future__ import annotations

from compiler.ir.dtypes import FLOAT32
from compiler.ir.visit import blocks
from compiler.operators.activations import mish, relu, softplus
from compiler.operators.conv2d import conv2d
from compiler.operators.cpu.inlining import inline_stages
from compiler.operators.elementwise import ELEMENTWISE
from compiler.operators.layout import expand, transpose
from compiler.operators.reduce import reduce_sum
from compiler.te import Tensor, placeholder
from compiler.te.schedule import Schedule

add = ELEMENTWISE["Add"]


def left(*outputs: Tensor) -> list[str]:
    return [each.name for each in blocks(inline_stages(Schedule.of(*outputs)).program.body)]


X = placeholder((4, 6), FLOAT32, "X")


def test_a_chain_becomes_one() -> None:
    assert left(relu(add(relu(X, name="a"), X, name="b"), name="c")) == ["c"]


def test_what_two_stages_read_stays() -> None:
    a = softplus(X, name="a")
    assert left(add(relu(a, name="b"), transpose(transpose(a, name="t"), name="u"), name="c")) == [
        *("a", "c")
    ]


def test_outputs_stay() -> None:
    a = relu(X, name="a")
    assert left(a, relu(a, name="b")) == ["a", "b"]


def test_sums_stay() -> None:
    assert left(relu(reduce_sum(X, name="s"), name="r")) == ["s", "r"]


def test_elements_that_are_read_again_and_again_stay() -> None:
    image = placeholder((1, 2, 6, 6), FLOAT32, "I")
    weight = placeholder((3, 2, 3, 3), FLOAT32, "W")
    assert left(conv2d(image, weight, padding=(1, 1, 1, 1))) == ["conv_pad", "conv"]
    row = softplus(placeholder((1, 6), FLOAT32, "R"), name="a")
    assert left(add(row, X, name="b")) == ["a", "b"]


def test_what_is_only_moved_goes_into_element_wise_readers() -> None:
    row = transpose(placeholder((6, 1), FLOAT32, "R"), name="t")
    assert left(relu(expand(row, (4, 6), name="e"), name="r")) == ["r"]


def test_what_a_sum_reads_once_goes_into_it() -> None:
    assert left(reduce_sum(relu(X, name="r"), name="s")) == ["s"]


def test_expressions_stay_short() -> None:
    """Each `mish` names its operand many times: two of them would be too much."""
    once = mish(X, name="a")
    assert left(mish(mish(once, name="b"), name="c")) == ["a", "b", "c"]
