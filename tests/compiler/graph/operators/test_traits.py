"""What operators say of their mathematics is what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph import Body, Call, Constant, Function, Let, Param, TensorType, Var
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.evaluate import Array, evaluate
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.products import Conv2d, Gemm, Product
from tandem.compiler.graph.operators.reductions import Epsilon
from tandem.compiler.ir import FLOAT64

RNG = np.random.default_rng(3)


def random(*shape: int) -> Array:
    return RNG.standard_normal(shape)


LINEAR: dict[str, tuple[str, Attributes, tuple[int, ...], list[Array]]] = {
    "conv2d": ("conv2d", Conv2d(), (2, 4, 5, 5), [random(3, 4, 2, 2)]),
    "groups": ("conv2d", Conv2d(groups=2), (2, 4, 5, 5), [random(6, 2, 2, 2), random(6)]),
    "dense": ("dense", Product(), (2, 4), [random(3, 4), random(3)]),
    "gemm": ("gemm", Gemm(alpha=0.5, beta=3.0), (2, 4), [random(4, 3), random(1, 3)]),
    "turned": ("gemm", Gemm(alpha=0.5, trans_a=True, trans_b=True), (4, 2), [random(3, 4)]),
    "scalar": ("gemm", Gemm(beta=-2.0), (2, 4), [random(4, 3), random()]),
}


def computed(operator: str, given: Attributes, data: Array, operands: list[Array]) -> Array:
    call = Call(OPERATORS[operator], (Var("x"), *map(Constant, operands)), given)
    param = Param("x", TensorType(data.shape, FLOAT64))
    found = evaluate(Function("f", (param,), Body((Let("y", call),), Var("y"))), [data])
    assert isinstance(found, np.ndarray)
    return found


@pytest.mark.parametrize("case", LINEAR)
def test_linear_in_the_weight(case: str) -> None:
    operator, given, shape, operands = LINEAR[case]
    linear = OPERATORS[operator].linear
    assert linear is not None
    said = linear(operands, given)
    assert said is not None
    data = random(*shape)
    whole = computed(operator, given, data, operands)
    along = (1, -1, *(1,) * (whole.ndim - 2))
    factors, addends = random(whole.shape[1]), random(whole.shape[1])
    over = [1] * said.weight.ndim
    over[said.axis] = -1
    changed = [said.weight * factors.reshape(over), said.bias * factors + addends]
    np.testing.assert_allclose(
        computed(operator, said.attributes, data, changed),
        whole * factors.reshape(along) + addends.reshape(along),
        rtol=1e-12,
        atol=1e-12,
    )


def test_a_bias_for_each_row_is_none_for_channels() -> None:
    linear = OPERATORS["gemm"].linear
    assert linear is not None
    assert linear([random(4, 3), random(2, 1)], Gemm()) is None


def test_affine_in_the_data() -> None:
    statistics = [random(3), random(3), random(3), RNG.uniform(0.5, 2.0, 3)]
    affine = OPERATORS["batch_norm"].channel_affine
    assert affine is not None
    data, given = random(2, 3, 4), Epsilon(0.25)
    said = affine(statistics, given)
    centre, factor, addend = (each[:, None] for each in (said.centre, said.factor, said.addend))
    np.testing.assert_allclose(
        computed("batch_norm", given, data, statistics), (data - centre) * factor + addend
    )


def test_who_says_so() -> None:
    assert {name for name, spec in OPERATORS.items() if spec.linear} == {"conv2d", "dense", "gemm"}
    assert {name for name, spec in OPERATORS.items() if spec.channel_affine} == {"batch_norm"}
