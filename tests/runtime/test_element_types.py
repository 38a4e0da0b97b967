"""Element types by name: NumPy's own, and those that a package adds."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.runtime.artifact import Input, Tensor
from tandem.runtime.element_types import DTYPES, dtype_of, is_float, limits_of
from tandem.runtime.inputs.random_inputs import random_inputs


def test_every_name_is_its_own() -> None:
    for name in DTYPES:
        assert dtype_of(name).name == name
        assert dtype_of(dtype_of(name)) == dtype_of(name)
    assert {name for name in DTYPES if is_float(dtype_of(name))} == {
        "bfloat16",
        "float16",
        "float32",
        "float4_e2m1fn",
        "float64",
    }


def test_what_is_no_type() -> None:
    for name in ("float4", "int3", "uint128", "half a byte"):
        with pytest.raises(TypeError):
            dtype_of(name)


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("int2", (-2, 1)),
        ("uint2", (0, 3)),
        ("int4", (-8, 7)),
        ("uint4", (0, 15)),
        ("int8", (-128, 127)),
        ("uint16", (0, 65535)),
        ("float4_e2m1fn", None),
        ("float32", None),
        ("bool", None),
    ],
)
def test_limits(name: str, limits: tuple[int, int] | None) -> None:
    assert limits_of(dtype_of(name)) == limits


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4", "int8", "uint8"])
def test_random_integers_have_all_values(name: str) -> None:
    low, high = limits_of(dtype_of(name)) or (0, 0)
    found = random_inputs([Tensor("x", (9999,), name, Input())], 3)["x"]
    assert found.dtype == dtype_of(name)
    assert sorted({*found.astype(np.int64).tolist()}) == [*range(low, high + 1)]
