"""Products: types with symbols, defaults, what they are linear in, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.products import Conv2d, Gemm, Product
from tandem.compiler.graph.opspec import Linear
from tests.support.compiler.graph.calls import refused, type_of
from tests.support.compiler.operators.operators import Array


def test_defaults() -> None:
    assert Conv2d() == Conv2d((1, 1), (0, 0, 0, 0), (1, 1), 1, None)
    assert (Product(), Gemm()) == (Product(None), Gemm(1.0, 1.0, False, False))
    assert [name for name, each in OPERATORS.items() if each.takes_borders] == ["conv2d"]


@pytest.mark.parametrize(
    ("params", "call", "wanted"),
    [
        ("x: int8[N, 2, 5, 5], w: int8[3, 2, 2, 2]", "conv2d(x, w)", "int32[N, 3, 4, 4]"),
        ("x: int8[N, 4], w: int8[3, 4]", "dense(x, w)", "int32[N, 3]"),
        ("a: float32[N, 4], b: float32[4, M]", "gemm(a, b)", "float32[N, M]"),
        (
            "a: float32[4, N], b: float32[M, 4]",
            "gemm(a, b, trans_a=True, trans_b=True)",
            "float32[N, M]",
        ),
        ("a: float32[N, 4], b: float32[4, 2], c: float32[N, 2]", "gemm(a, b, c)", "float32[N, 2]"),
        ("a: float32[N, 4], b: float32[4, M], c: float32[M]", "gemm(a, b, c)", "float32[N, M]"),
        ("a: float32[N, 4], b: float32[4, M], c: float32[]", "gemm(a, b, c)", "float32[N, M]"),
        ("a: float32[K, N, M], b: float32[M, 3]", "matmul(a, b)", "float32[K, N, 3]"),
        ("a: float32[K, N, M], b: float32[M]", "matmul(a, b)", "float32[K, N]"),
        ("a: float32[M], b: float32[K, M, 3]", "matmul(a, b)", "float32[K, 3]"),
        ("a: float32[M], b: float32[M]", "matmul(a, b)", "float32[]"),
        ("a: float32[K, 1, N, M], b: float32[5, M, 2]", "matmul(a, b)", "float32[K, 5, N, 2]"),
        ("a: int8[N, M], b: int8[M, 2]", "matmul(a, b)", "int32[N, 2]"),
    ],
)
def test_types_with_symbols(params: str, call: str, wanted: str) -> None:
    assert type_of(params, call) == wanted


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        ("x: int8[1, N, 5, 5], w: int8[3, 2, 2, 2]", "conv2d(x, w)", "axis 1 of data .* not N"),
        ("x: int8[N, M], w: int8[3, 4]", "dense(x, w)", "axis 1 of data .* a number, not M"),
        ("a: float32[N, M], b: float32[M, 2]", "gemm(a, b)", "axis 1 of a .* a number, not M"),
        ("a: float32[4, N], b: float32[4, 2]", "gemm(a, b)", "axis 1 of a .* a number, not N"),
        ("a: float32[N, 4], b: float32[M, 4]", "gemm(a, b)", "axis 0 of b .* a number, not M"),
        (
            "a: float32[2, 4], b: float32[4, 3], c: float32[N, 3]",
            "gemm(a, b, c)",
            r"a float32\[2, 4\], b .*, c float32\[N, 3\] do not broadcast: axis -2 has 2 and N",
        ),
        (
            "a: float32[1, 4], b: float32[4, 3], c: float32[N, 3]",
            "gemm(a, b, c)",
            r"c float32\[N, 3\] does not broadcast to float32\[1, 3\]",
        ),
        ("a: float32[N], b: float32[]", "matmul(a, b)", r"a .*, b float32\[\]: a scalar is no mat"),
        ("a: float32[], b: float32[N]", "matmul(a, b)", "a .*: a scalar is no matrix"),
        (
            "a: float32[N, 3], b: float32[4, 2]",
            "matmul(a, b)",
            r"a float32\[N, 3\], b float32\[4, 2\] meet with 3 and 4 elements",
        ),
        ("a: float32[N, M], b: float32[N, 2]", "matmul(a, b)", "a .* meet with M and N elements"),
        ("a: float32[N, 0], b: float32[0, 2]", "matmul(a, b)", "a .* meet with none: nothing to s"),
        (
            "a: float32[N, 2, 3], b: float32[M, 3, 2]",
            "matmul(a, b)",
            "a .*, b .* do not broadcast: axis -1 has N and M",
        ),
    ],
)
def test_refusals(params: str, call: str, message: str) -> None:
    refused(params, call, message)


def linear(name: str, attributes: Conv2d | Product | Gemm, *operands: Array) -> Linear | None:
    rule = OPERATORS[name].linear
    assert rule is not None
    return rule(operands, attributes)


W = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


@pytest.mark.parametrize(("name", "given"), [("dense", Product()), ("conv2d", Conv2d(groups=1))])
def test_layers_are_linear_in_their_first_axis(name: str, given: Conv2d | Product) -> None:
    alone = linear(name, given, W)
    assert alone is not None
    assert (alone.axis, alone.attributes) == (0, given)
    np.testing.assert_array_equal(alone.weight, W)
    assert alone.weight.dtype == np.float64
    np.testing.assert_array_equal(alone.bias, [0, 0])
    both = linear(name, given, W, np.array([7, 8], np.float32))
    assert both is not None
    np.testing.assert_array_equal(both.bias, [7, 8])


@pytest.mark.parametrize(
    ("turned", "bias", "wanted"),
    [
        (False, None, [0, 0, 0]),
        (False, [1, 2, 3], [2, 4, 6]),
        (False, [[1, 2, 3]], [2, 4, 6]),
        (False, 5, [10, 10, 10]),
        (False, [[5]], [10, 10, 10]),
        (True, [1, 2], [2, 4]),
        (True, None, [0, 0]),
        # One for each row.
        (False, [[1], [2], [3]], None),
        (True, [[1], [2]], None),
        (False, [[1, 2, 3], [4, 5, 6]], None),
    ],
)
def test_gemm_is_linear_in_its_columns(
    turned: bool, bias: object, wanted: list[float] | None
) -> None:
    given = Gemm(alpha=3.0, beta=2.0, trans_a=True, trans_b=turned)
    found = linear("gemm", given, W, *([] if bias is None else [np.array(bias, np.float32)]))
    if wanted is None:
        assert found is None
        return
    assert found is not None
    assert found.axis == (0 if turned else 1)
    assert found.attributes == Gemm(1.0, 1.0, True, turned)
    np.testing.assert_array_equal(found.weight, W * 3)
    np.testing.assert_array_equal(found.bias, wanted)
