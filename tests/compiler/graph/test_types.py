"""Types: text, symbols, and numbers for them."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Dim, FunctionType, TensorType, TupleType
from tandem.compiler.graph.types import (
    has_functions,
    part_names,
    specialised,
    stored,
    symbols_of,
    tensors_of,
)
from tandem.compiler.ir import FLOAT32, INT8

N = Dim(("N",))
BATCH = TensorType((N, 3), FLOAT32)
PAIR = TupleType((BATCH, TupleType((TensorType((), INT8),))))


def test_text() -> None:
    assert str(PAIR) == "(float32[N, 3], (int8[],))"
    assert str(FunctionType((BATCH,), TupleType(()))) == "fn(float32[N, 3]) -> ()"


def test_functions() -> None:
    function = FunctionType((BATCH, PAIR), FunctionType((), BATCH))
    assert str(function) == f"fn({BATCH}, {PAIR}) -> fn() -> {BATCH}"
    assert symbols_of(function) == {"N"}
    assert symbols_of(specialised(function, {"N": 2})) == frozenset()
    assert tensors_of(TupleType((function, BATCH))) == (BATCH,)
    assert part_names("f", TupleType((function, BATCH))) == ((), "f.1")
    assert stored(function) == function
    assert has_functions(TupleType((PAIR, TupleType((function,)))))
    assert not has_functions(PAIR)


def test_parts() -> None:
    assert tensors_of(PAIR) == (BATCH, TensorType((), INT8))
    assert symbols_of(PAIR) == {"N"}
    assert BATCH.size == Dim(("N",), 3)
    fixed = specialised(PAIR, {"N": 4, "M": 5})
    assert str(fixed) == "(float32[4, 3], (int8[],))"
    assert symbols_of(fixed) == frozenset()


def test_refusals() -> None:
    with pytest.raises(GraphError, match=r"int8\[2, -1\] has a negative extent"):
        TensorType((2, -1), INT8)
    with pytest.raises(GraphError, match=r"a tensor of int8 has 33 axes; at most 32 are"):
        TensorType((1,) * 33, INT8)
    with pytest.raises(GraphError, match=r"x float32\[N, 3\] has a symbolic extent"):
        BATCH.static_shape("x")
    assert TensorType((0, 3), INT8).static_shape("x") == (0, 3)
