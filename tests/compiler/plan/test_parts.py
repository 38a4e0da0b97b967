"""Constants of an artifact: equal ones once, in each order that code wants."""

from __future__ import annotations

import numpy as np

from tandem.compiler.graph import Constant
from tandem.compiler.plan.parts import ArtifactParts
from tandem.runtime.artifact import ConstantPlace, Tensor
from tandem.runtime.native import ALIGNMENT


def parts(**types: object) -> ArtifactParts:
    return ArtifactParts(types, lambda _: None)


def test_names_stay() -> None:
    made = parts()
    assert made.tensor_of("x") == "x"
    assert not made.constants


def test_equal_constants_are_one() -> None:
    made = parts()
    names = [made.tensor_of(Constant(np.array(each, np.float32))) for each in ([1, 2], [3], [1, 2])]
    assert names == ["constant_0", "constant_1", "constant_0"]
    assert [each.tolist() for each in made.constants.values()] == [[1, 2], [3]]
    assert made.constant_tensors() == (
        Tensor("constant_0", (2,), "float32", ConstantPlace()),
        Tensor("constant_1", (1,), "float32", ConstantPlace()),
    )


def test_each_order_is_another_constant() -> None:
    made = parts()
    constant = Constant(np.arange(6, dtype=np.int8).reshape(2, 3))
    plain = made.tensor_of(constant)
    packed = made.packed_tensor([constant], np.transpose, "transposed")
    assert plain != packed
    assert made.packed_tensor([constant], np.transpose, "transposed") == packed
    assert made.constants[packed].tolist() == [[0, 3], [1, 4], [2, 5]]
    array = made.constants[packed]
    assert array.flags.c_contiguous
    assert array.ctypes.data % ALIGNMENT == 0


def test_names_that_values_have() -> None:
    made = parts(constant_0=None, constant_0_=None)
    assert made.tensor_of(Constant(np.zeros(1))) == "constant_0__"
