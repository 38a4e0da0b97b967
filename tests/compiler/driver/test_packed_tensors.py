"""Scales and windows of tensors that the host packs for a device."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.driver.packed_tensors import PackedTensor, packed_tensors
from tandem.compiler.graph.constant import Constant
from tandem.compiler.plan.parts import Argument, Invocation
from tandem.runtime.artifact import Scale, Windows
from tests.support.compiler.graph.graphs import graph

REAL, WHOLE, SUMS = "float32[1, 3, 4, 4]", "int8[1, 3, 4, 4]", "int32[1, 3, 4, 4]"
QUANTISE = "q = quantise(p, float32[](0.5), int8[](3))"
PACK = "c = convert({}, shape=[1, 3, 4, 4], target={{0, 1/4, 2, 3, _, 1%4}})"
UNPACK = "b = convert(c, shape=[1, 3, 4, 4], source={0, 1/4, 2, 3, _, 1%4})"
TAPS = "w = pack_windows({}, kernel=[3, 1], batch=1, block=4, strides=[1, 2], padding=[1, 0, 2, 0])"
WINDOWS = Windows((3, 1), (1, 2), (1, 0, 2, 0), (1, 1))
SCALE = Scale(0.5, 3)


def called(
    parameter: str, *lets: str, operand: Argument = "before", result: str = "after"
) -> Invocation:
    """A call of a kernel of one parameter `p`, whose last value is its result."""
    lines = "".join(f"  {let}\n" for let in lets)
    last = lets[-1].partition(" ")[0]
    kernel = graph(f"kernel @k(p: {parameter}):\n{lines}  return {last}\n")
    return Invocation(result, kernel, (operand,), (result,))


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (called(REAL, QUANTISE), PackedTensor(SCALE)),
        (called(REAL, QUANTISE, PACK.format("q")), PackedTensor(SCALE)),
        (called(REAL, QUANTISE, TAPS.format("q")), PackedTensor(SCALE, WINDOWS)),
        (called(WHOLE, PACK.format("p")), PackedTensor(Scale(2.0))),
        (called(WHOLE, TAPS.format("p")), PackedTensor(Scale(2.0), WINDOWS)),
        (called(WHOLE, TAPS.format("p"), operand="unknown"), PackedTensor(None, WINDOWS)),
    ],
)
def test_packed(call: Invocation, found: PackedTensor) -> None:
    assert packed_tensors([call], {"before": Scale(2.0)}) == {"after": found}


@pytest.mark.parametrize(
    "call",
    [
        called(WHOLE, "r = relu(p)", PACK.format("r")),
        called(WHOLE, PACK.format("p"), UNPACK, "r = relu(b)"),
        called(SUMS, "c = convert(p, shape=[1, 3, 4, 4], target={bytes, 0, 1/4, 2, 3, _, 1%4})"),
    ],
)
def test_other_numbers_have_no_scale(call: Invocation) -> None:
    assert not packed_tensors([call], {"before": Scale(2.0)})


def test_a_scale_is_handed_from_call_to_call() -> None:
    first = called(REAL, QUANTISE, result="middle")
    second = called(WHOLE, TAPS.format("p"), operand="middle")
    assert packed_tensors([first, second], {})["after"] == PackedTensor(SCALE, WINDOWS)


def test_a_constant_has_no_scale() -> None:
    operand = Constant(np.zeros((1, 3, 4, 4), np.int8))
    call = called(WHOLE, TAPS.format("p"), operand=operand)
    assert packed_tensors([call], {}) == {"after": PackedTensor(None, WINDOWS)}
