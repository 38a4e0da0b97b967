"""What is said of symbolic extents holds for every number: the type of a result is, with numbers
put in, the type that the operator has for these numbers."""

from __future__ import annotations

from itertools import product as combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Call, Dim, Extent, TensorType, Type, Var
from tandem.compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.layouts import Convert, PackWindows, PutRows, View
from tandem.compiler.graph.operators.parts import Concat, Gather, GatherNd, OneHot, Pad, Slice
from tandem.compiler.graph.operators.products import Gemm, Product
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.graph.operators.shapes import (
    Expand,
    Flatten,
    Reshape,
    Squeeze,
    Tile,
    Transpose,
    Unsqueeze,
    Upsample,
)
from tandem.compiler.graph.types import specialised, symbols_of
from tandem.compiler.ir import BOOL, FLOAT32, INT32, INT64, UINT8
from tandem.compiler.ir.dtypes import DType
from tests.support.compiler.graph.graphs import graph

IMAGE = "float32[N, 4, 6, 6]"

# Operands, call, result.
CASES = [
    (f"x: {IMAGE}, w: float32[8, 2, 3, 3]", "conv2d(x, w, groups=2)", "float32[N, 8, 4, 4]"),
    ("x: int8[2*N, 3], w: int8[5, 3], b: int32[5]", "dense(x, w, b)", "int32[2*N, 5]"),
    ("x: float32[3, N], w: float32[3, 5]", "gemm(x, w, trans_a=True)", "float32[N, 5]"),
    ("x: float32[2, 3], w: float32[N, 3]", "gemm(x, w, trans_b=True)", "float32[2, N]"),
    ("x: float32[N, 3], w: float32[3, M], c: float32[N, 1]", "gemm(x, w, c)", "float32[N, M]"),
    ("x: float32[N, 4, M], y: float32[M, 5]", "matmul(x, y)", "float32[N, 4, 5]"),
    ("x: float32[M], y: float32[N, M, 5]", "matmul(x, y)", "float32[N, 5]"),
    ("x: float32[N, 3]", "transpose(x)", "float32[3, N]"),
    ("x: float32[N, 3, 8]", "reshape(x, shape=[0, -1, 2])", "float32[N, 12, 2]"),
    ("x: float32[N, 3, 8]", "reshape(x, shape=[-1, 4])", "float32[6*N, 4]"),
    ("x: float32[N, 3, M]", "flatten(x, axis=-1)", "float32[3*N, M]"),
    ("x: float32[N, 1, 3]", "squeeze(x, axes=[1])", "float32[N, 3]"),
    ("x: float32[N, 3]", "unsqueeze(x, axes=[0, -1])", "float32[1, N, 3, 1]"),
    ("x: float32[N, 1]", "expand(x, shape=[2, 1, 5])", "float32[2, N, 5]"),
    ("x: float32[N, 2]", "tile(x, repeats=[3, 2])", "float32[3*N, 4]"),
    (f"x: {IMAGE}", "depth_to_space(x, block=2)", "float32[N, 1, 12, 12]"),
    (f"x: {IMAGE}", "space_to_depth(x, block=2)", "float32[N, 16, 3, 3]"),
    ("x: int8[N, 4, M, 6]", "upsample(x, factors=[2, 3])", "int8[N, 4, 2*M, 18]"),
    ("x: float32[N, 2], y: float32[N, 3]", "concat(x, y, axis=1)", "float32[N, 5]"),
    ("x: float32[N, 2], y: float32[4*N, 2]", "concat(x, y, axis=0)", "float32[5*N, 2]"),
    ("x: int8[N, 5]", "split(x, sizes=[2, 3], axis=1)", "(int8[N, 2], int8[N, 3])"),
    ("i: int64[N], v: float32[2]", "one_hot(i, v, depth=4)", "float32[N, 4]"),
    (
        "x: int8[N, 5, M]",
        "slice(x, starts=[1, 0], ends=[3, 2147483647], axes=[1, 2])",
        "int8[N, 2, M]",
    ),
    ("x: int8[N, 5]", "pad(x, pads=[0, 1, 0, -2])", "int8[N, 4]"),
    ("x: float32[N, 3], i: int64[M, 2]", "gather(x, i)", "float32[M, 2, 3]"),
    ("x: float32[3, N], i: int64[M]", "gather(x, i)", "float32[M, N]"),
    ("x: float32[N, 3], i: int64[N, M]", "gather_elements(x, i, axis=1)", "float32[N, M]"),
    ("x: float32[N, 3, M], r: float32[3, M], i: int64[]", "put_row(x, r, i)", "float32[N, 3, M]"),
    ("x: float32[N, 3, M], i: int64[N, 5, 1]", "gather_nd(x, i, batch_dims=1)", "float32[N, 5, M]"),
    ("x: float32[N, 3]", "arg_max(x, axis=1, keepdims=False)", "int64[N]"),
    ("x: float32[N, 3]", "arg_min(x)", "int64[1, 3]"),
    (f"x: {IMAGE}", "max_pool(x, kernel=[2, 2], strides=[2, 2])", "float32[N, 4, 3, 3]"),
    ("x: float32[N, M, 6]", "average_pool(x, kernel=[3], padding=[1, 1])", "float32[N, M, 6]"),
    ("x: float32[N, 4, M, 6]", "global_max_pool(x)", "float32[N, 4, 1, 1]"),
    ("x: float32[N, 4, M, 6]", "global_average_pool(x)", "float32[N, 4, 1, 1]"),
    ("x: float32[N, 3]", "softmax(x, axis=0)", "float32[N, 3]"),
    ("x: float32[N, 3]", "log_softmax(x)", "float32[N, 3]"),
    ("x: float32[N, 4, M], s: float32[4]", "batch_norm(x, s, s, s, s)", "float32[N, 4, M]"),
    ("x: float32[N, 4, 3], s: float32[4]", "instance_norm(x, s, s)", "float32[N, 4, 3]"),
    ("x: float32[N, M, 3], s: float32[3]", "layer_norm(x, s, s)", "float32[N, M, 3]"),
    ("x: float32[N, M, 3], s: float32[3]", "rms_norm(x, s)", "float32[N, M, 3]"),
    ("c: bool[N, 1], x: int8[3], y: int8[]", "where(c, x, y)", "int8[N, 3]"),
    ("x: float32[N, 3], y: float32[3]", "prelu(x, y)", "float32[N, 3]"),
    ("x: float32[N, 3], s: float32[]", "fake_quantise(x, s)", "float32[N, 3]"),
    ("x: float32[N, 3], s: float32[N, 1]", "fake_encode(x, s, table=[-1, 1])", "float32[N, 3]"),
    ("x: int32[N], y: int32[M, 1], z: int32[1, N]", "maximum(x, y, z)", "int32[M, N]"),
    ("x: float32[N]", "cast(x, to=int8)", "int8[N]"),
    ("x: float16[N]", "bit_cast(x, to=int16)", "int16[N]"),
    ("x: float32[N, 3]", "cumulative_sum(x, axis=1)", "float32[N, 3]"),
    ("x: float32[N, 3]", "cumulative_product(x, axis=1)", "float32[N, 3]"),
    ("x: float32[N, 3]", "top_k(x, k=2)", "int64[N, 2]"),
    ("m: bool[N]", "true_positions(m)", "int64[N]"),
    ("x: float32[N, M, 3, 3], p: float32[N, 4, 2]", "sample(x, p)", "float32[N, M, 4]"),
    ("x: float32[N, 3, 3]", "determinant(x)", "float32[N]"),
    (
        "x: float32[N, 4, 9]",
        "col2im(x, image=[4, 4], kernel=[2, 2], strides=[1, 1], padding=[0, 0, 0, 0], "
        "dilation=[1, 1])",
        "float32[N, 1, 4, 4]",
    ),
    ("x: float32[N, M, 4]", "lp_pool(x, kernel=[2])", "float32[N, M, 3]"),
    ("x: float32[N], y: float32[]", "modulo(x, y, fmod=1)", "float32[N]"),
    ("x: uint8[N], y: uint8[N]", "bit_shift(x, y, direction=LEFT)", "uint8[N]"),
    (
        "x: float32[N, 3, M], s: float32[3], z: uint8[3]",
        "quantise(x, s, z, to=uint8)",
        "uint8[N, 3, M]",
    ),
    ("x: int8[N, M], s: float32[], z: int8[1]", "dequantise(x, s, z, axis=0)", "float32[N, M]"),
    ("x: int8[N, M, 3], t: uint8[256]", "lookup(x, t)", "uint8[N, M, 3]"),
    (
        "x: uint4[7, N], s: float32[3, N], z: uint4[3, N]",
        "dequantise_blocks(x, s, z, axis=0, block=3)",
        "float32[7, N]",
    ),
    ("x: uint2[N, M]", "widen(x, table=[0, 1, -2, -1])", "int8[N, M]"),
    (
        "x: uint2[7, N], s: uint4[3, N]",
        "widen(x, s, table=[0, 1, -2, -1], axis=0, group=3)",
        "int8[7, N]",
    ),
    (
        "x: int32[N, 3], m: int32[3], a: int64[1]",
        "requantise(x, m, a, shift=9, low=-200, high=0)",
        "int16[N, 3]",
    ),
    (
        "x: int32[N, 3], m: int32[1], a: int64[3], s: int8[N, 3], t: int32[1]",
        "requantise_add(x, m, a, s, t, shift=9, low=-128, high=127)",
        "int8[N, 3]",
    ),
    *(
        ("x: float32[N, 3, M]", f"{name}(x, axes=[-1], keepdims=False)", "float32[N, 3]")
        for name in OPERATORS
        if name.startswith("reduce_")
    ),
]


@pytest.mark.parametrize(("params", "call", "result"), CASES)
def test_results(params: str, call: str, result: str) -> None:
    function = graph(f"func @f({params}) -> {result}:\n  out = {call}\n  return out")
    (let,) = function.body.lets
    value = let.value
    assert isinstance(value, Call)
    by_name = {each.name: each.type for each in function.params}
    operands = [by_name[each.name] for each in value.args if isinstance(each, Var)]
    assert holds_for_numbers(call.partition("(")[0], operands, value.attributes)


def holds_for_numbers(name: str, types: list[Type], attributes: Attributes) -> bool:
    """Whether there is a symbolic result; then it is right for small numbers."""
    spec = OPERATORS[name]
    try:
        found = spec.result("out", types, attributes)
    except GraphError:
        return False
    symbols = sorted(frozenset[str]().union(*map(symbols_of, types)))
    for numbers in combinations((1, 2, 3), repeat=len(symbols)):
        sizes: dict[str, Extent] = dict(zip(symbols, numbers, strict=True))
        plain = [specialised(each, sizes) for each in types]
        assert spec.result("out", plain, attributes) == specialised(found, sizes)
    return True


ONE = {
    **dict.fromkeys(("logical_not",), BOOL),
    **dict.fromkeys(("bitwise_not",), UINT8),
}
TWO = {
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), BOOL),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), UINT8),
}
TESTED = {call.partition("(")[0] for _, call, _ in CASES}
NUMBERS_ONLY = {
    "convert": Convert((1, 3, 2, 2)),
    "view": View((1, 3, 2, 2)),
    "pack_windows": PackWindows((1, 1), 1, 4),
    "put_rows": PutRows((1, 0, 0, 0), (0, 1, 0, 0), 0),
}
STATIC = {"max_pool_index", "scatter_elements", "scatter_nd"}
"""Operators whose first operand has no symbols: they are among the refusals below."""
ELEMENTS = [name for name in OPERATORS if name not in TESTED | NUMBERS_ONLY.keys() | STATIC]


@pytest.mark.parametrize("name", NUMBERS_ONLY)
def test_blocks_are_made_of_numbers(name: str) -> None:
    operand = TensorType((Dim(("N",)), 3, 2, 2), FLOAT32)
    operands = [operand] * len(OPERATORS[name].operands.names)
    with pytest.raises(GraphError, match=r"has the symbol N: bind symbols first$"):
        OPERATORS[name].result("out", operands, NUMBERS_ONLY[name])


@pytest.mark.parametrize("name", ELEMENTS)
def test_elementwise(name: str) -> None:
    """All the others take one operand, or two that broadcast, and have attributes by default."""
    spec = OPERATORS[name]
    dtype = {**ONE, **TWO}.get(name, FLOAT32)
    operands: list[Type] = [TensorType((Dim(("N",)), 3), dtype)]
    if len(spec.operands.names) == 2 or spec.operands.variadic:
        operands.append(TensorType((Dim(("M",)), 1, 1), dtype))
    assert holds_for_numbers(name, operands, spec.attributes())


EXTENTS: st.SearchStrategy[Extent] = st.sampled_from(
    [0, 1, 2, 3, 4, Dim(("N",)), Dim(("M",)), Dim(("N",), 2), Dim(("M", "N"))]
)
SHAPES = st.lists(EXTENTS, max_size=4).map(tuple)
AXES = st.integers(-4, 3)
SOME = st.lists(AXES, max_size=3).map(tuple)
NUMBERS = st.lists(st.integers(-1, 4), max_size=4).map(tuple)


def exactly(count: int, least: int = -1) -> st.SearchStrategy[tuple[int, ...]]:
    """So many numbers."""
    return st.lists(st.integers(least, 3), min_size=count, max_size=count).map(tuple)


@st.composite
def asked(draw: st.DrawFn) -> tuple[str, list[Type], Attributes]:
    """An operator of random operands, symbolic or not, and attributes, legal or not."""
    shape = draw(SHAPES)
    rank = len(shape)
    orders = st.permutations(range(rank)).map(tuple)
    options: dict[str, tuple[tuple[DType, ...], st.SearchStrategy[Attributes]]] = {
        "add": ((FLOAT32, FLOAT32), st.just(NO_ATTRIBUTES)),
        "prelu": ((FLOAT32, FLOAT32), st.just(NO_ATTRIBUTES)),
        "matmul": ((FLOAT32, FLOAT32), st.just(Product())),
        "gemm": ((FLOAT32,) * 3, st.builds(Gemm, trans_a=st.booleans(), trans_b=st.booleans())),
        "dense": ((FLOAT32, FLOAT32), st.just(Product())),
        "concat": ((INT32, INT32), st.builds(Concat, AXES)),
        "gather": ((FLOAT32, INT64), st.builds(Gather, AXES)),
        "gather_elements": ((FLOAT32, INT64), st.builds(Gather, AXES)),
        "gather_nd": ((FLOAT32, INT64), st.builds(GatherNd, st.integers(-1, 2))),
        "one_hot": ((INT64, FLOAT32), st.builds(OneHot, st.integers(0, 3), AXES)),
        "reshape": ((INT32,), st.builds(Reshape, NUMBERS, st.booleans())),
        "expand": ((INT32,), st.builds(Expand, NUMBERS)),
        "tile": ((INT32,), st.builds(Tile, exactly(rank))),
        "upsample": ((INT32,), st.builds(Upsample, exactly(2))),
        "transpose": ((INT32,), st.builds(Transpose, st.none() | orders)),
        "flatten": ((INT32,), st.builds(Flatten, AXES)),
        "squeeze": ((INT32,), st.builds(Squeeze, st.none() | SOME)),
        "unsqueeze": ((INT32,), st.builds(Unsqueeze, SOME)),
        "pad": ((INT32,), st.builds(Pad, exactly(2 * rank).map(_sparse))),
        "slice": ((INT32,), draw(_slices(rank))),
        "reduce_sum": ((INT32,), st.builds(Reduction, st.none() | SOME, st.booleans())),
        "global_average_pool": ((FLOAT32,), st.just(NO_ATTRIBUTES)),
    }
    name = draw(st.sampled_from(sorted(options)))
    dtypes, attributes = options[name]
    if name in ("gemm", "dense"):
        square = st.tuples(*[st.sampled_from([2, Dim(("N",))])] * 2)
        shapes: list[tuple[Extent, ...]] = [draw(square) for _ in dtypes]
    elif name == "one_hot":
        shapes = [shape, (2,)]
    else:
        # Now and then of the same extents: random ones hardly ever fit.
        others = st.one_of(SHAPES, st.permutations(shape).map(tuple), st.just(shape))
        shapes = [shape, *(draw(others) for _ in dtypes[1:])]
    types: list[Type] = [TensorType(*each) for each in zip(shapes, dtypes, strict=True)]
    return name, types, draw(attributes)


def _sparse(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Mostly zeros."""
    return tuple(each if each == 3 else 0 for each in numbers)


@st.composite
def _slices(draw: st.DrawFn, rank: int) -> st.SearchStrategy[Attributes]:
    axes = tuple(draw(st.sets(st.integers(0, rank))))
    ends = st.lists(st.sampled_from([-1, 3, 2**31 - 1]), min_size=len(axes), max_size=len(axes))
    return st.builds(
        Slice, exactly(len(axes)).map(_sparse), ends.map(tuple), st.just(axes), st.none()
    )


@settings(max_examples=400)
@given(asked())
def test_whatever_is_accepted_holds_for_numbers(
    question: tuple[str, list[Type], Attributes],
) -> None:
    holds_for_numbers(*question)


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        (
            "x: float32[1, N, 6, 6], w: float32[8, 4, 3, 3]",
            "conv2d(x, w)",
            r"out = conv2d\(...\): axis 1 of data float32\[1, N, 6, 6\] has to be a number, not N",
        ),
        (
            f"x: {IMAGE}, w: float32[8, 3, 3, 3]",
            "conv2d(x, w)",
            r"weight float32\[8, 3, 3, 3\] has 8 output channels and 3 input channels a group; "
            r"data float32\[N, 4, 6, 6\] has 4 in 1 groups",
        ),
        (
            "x: float32[N, 4], r: float32[M], i: int64[]",
            "put_row(x, r, i)",
            r"row float32\[M\] is no row of data float32\[N, 4\] at index int64\[\]",
        ),
        ("x: float32[N, 4]", "reshape(x, shape=[-1, 3])", "4[*]N elements leave no extent for -1"),
        ("x: float32[N, 4]", "reshape(x, shape=[2, 2])", "4[*]N elements are not known to be 4"),
        ("x: float32[N, 4]", "reshape(x, shape=[-1, -1])", "only one extent can be -1"),
        ("x: float32[N]", "reshape(x, shape=[-2])", "there is no extent -2 for axis 0"),
        ("x: float32[N, 1]", "squeeze(x)", "a symbol may be 1"),
        ("x: float32[N, 1]", "squeeze(x, axes=[0])", "axis 0 of data .* has not extent 1"),
        ("x: float32[N]", "expand(x, shape=[4])", r"data float32\[N\] is not known to broadcast"),
        ("x: float32[N], y: float32[M]", "add(x, y)", "axis -1 has N and M"),
        ("x: float32[N], y: float32[M, N]", "prelu(x, y)", r"do not broadcast to x float32\[N\]"),
        ("x: int8[N], y: float32[N]", "add(x, y)", "int8 is expected here, not float32"),
        ("x: float32[N, 2], y: float32[M, 3]", "concat(x, y, axis=1)", "differ beside axis 1"),
        ("x: float32[N], y: float32[3]", "concat(x, y, axis=0)", "do not add up to one that is"),
        ("x: float32[N]", "split(x, sizes=[1, 1])", "axis 0 of data .* has to be a number, not N"),
        ("x: float32[N]", "slice(x, starts=[0], ends=[3])", "has to be a number, not N"),
        ("x: float32[N]", "pad(x, pads=[1, 0])", "has to be a number, not N"),
        ("x: float32[N, 1, 4]", "max_pool_index(x, kernel=[2])", "has to be a number, not N"),
        (
            "x: float32[N], i: int64[2], u: float32[2]",
            "scatter_elements(x, i, u)",
            "has to be a number, not N",
        ),
        (
            "x: float32[N], i: int64[2, 1], u: float32[2]",
            "scatter_nd(x, i, u)",
            "has to be a number, not N",
        ),
        ("x: float32[N, 3], y: float32[4, M]", "matmul(x, y)", "meet with 3 and 4 elements"),
        ("x: float32[N, 0], y: float32[0, M]", "matmul(x, y)", "meet with none"),
        ("x: float32[N], y: float32[]", "matmul(x, y)", "a scalar is no matrix"),
        (
            "x: float32[N, 3], y: float32[3, 2], c: float32[M, 2]",
            "gemm(x, y, c)",
            r"c float32\[M, 2\] do not broadcast|axis -2 has N and M",
        ),
        ("x: float32[N, 3], i: int64[M, 3]", "gather_elements(x, i, axis=1)", "not known to lie"),
        (
            "x: float32[N, 3], i: int64[M, 1]",
            "gather_nd(x, i, batch_dims=1)",
            "first 1 axes differ",
        ),
        (
            "x: int32[N, M], m: int32[3], a: int64[3]",
            "requantise(x, m, a, shift=0, low=0, high=1)",
            r"axis 1 of acc int32\[N, M\] has to be a number, not M",
        ),
        (
            "x: int32[N], m: int32[], a: int64[], s: int8[M], t: int32[]",
            "requantise_add(x, m, a, s, t, shift=0, low=0, high=1)",
            r"skip int8\[M\] is not known to have the shape of acc int32\[N\]",
        ),
        (
            "x: uint4[7, N], s: float32[3, M]",
            "dequantise_blocks(x, s, axis=0, block=3)",
            r"scale float32\[3, M\] is not known to have axis 1 of data uint4\[7, N\]",
        ),
        (
            "x: uint2[7, N], s: uint4[3, M]",
            "widen(x, s, table=[0, 1, -2, -1], axis=0, group=3)",
            r"scales uint4\[3, M\] is not known to have axis 1 of codes uint2\[7, N\]",
        ),
        (
            "x: uint2[7, N], s: uint4[3, N]",
            "widen(x, s, table=[0, 1, -2, -1], group=3)",
            r"axis 1 of codes uint2\[7, N\] has to be a number|not known to have axis 0",
        ),
        ("x: float32[N, 3]", "softmax(x, axis=2)", r"has no axis 2: -2\.\.1"),
        ("x: float32[N, M, 3], s: float32[3]", "layer_norm(x, s, axis=1)", "has to be a number"),
    ],
)
def test_refusals(params: str, call: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        graph(f"func @f({params}):\n  out = {call}\n  return out")
