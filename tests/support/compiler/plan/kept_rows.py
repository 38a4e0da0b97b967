"""Functions whose streams read old rows behind which new ones come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph import Function
from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.operators.layouts import PutRows
from tandem.runtime.artifact import RowsCode
from tests.support.compiler.graph.graphs import graph

STEP = 0.5
_RESULTS = {
    "": "",
    "sums": "float32[1, {heads}, 1, {features}]",
    "real": "float32[1, {heads}, {rows}, {features}]",
    "plain": "int8[1, {heads}, {features}, {rows}]",
}


def keys(
    heads: int = 2,
    rows: int = 7,
    new: int = 1,
    features: int = 4,
    block: int = 4,
    groups: int = 1,
    block_of_heads: int = 1,
    extra: str = "",
    also: str = "",
) -> Function:
    """A stream that reads keys as columns, in blocks of features.

    Parameters
    ----------
    extra, also
        Further lines, and the one of their values that is a result, too.
    """
    columns = f"int8[1, {heads * groups}, {features}, {rows + new}]"
    size = block_of_heads
    outer, inner = (f"1/{size}", f"1%{size}, ") if size > 1 else ("1", "")
    layout = f"{{0, {outer}, 2/{block}, 3, _, {inner}2%{block}}}"
    shared = (
        f"  apart = unsqueeze(whole, axes=[2])\n"
        f"  wide = expand(apart, shape=[1, {heads}, {groups}, {rows + new}, {features}])\n"
        f"  every = reshape(wide, shape=[1, {heads * groups}, {rows + new}, {features}])\n"
        if groups > 1
        else ""
    )
    result = _RESULTS[also].format(heads=heads, features=features, rows=rows + new)
    whole = f"({columns}, {result})" if also else columns
    return graph(
        _read(columns, layout)
        + _head(heads, rows, new, features, whole)
        + shared
        + f"  turned = transpose({'every' if groups > 1 else 'whole'}, perm=[0, 1, 3, 2])\n"
        + f"  keys = convert(turned, shape={columns[4:]}, target={layout})\n"
        + extra
        + "  y = @s(keys)\n"
        + (f"  both = (y, {also})\n  return both\n" if also else "  return y\n")
    )


def values(
    heads: int = 2, rows: int = 7, new: int = 1, features: int = 4, block: int = 4
) -> Function:
    """A stream that reads values in blocks of rows, whose padding is zero."""
    shape = f"int8[1, {heads}, {rows + new}, {features}]"
    layout = f"{{3/{block}, 2/{block}, 0, 1, _, 3%{block}, 2%{block}=0}}"
    return graph(
        _read(shape, layout)
        + _head(heads, rows, new, features, shape)
        + f"  values = convert(whole, shape={shape[4:]}, target={layout})\n"
        + "  y = @s(values)\n  return y\n"
    )


def code_of(function: Function) -> RowsCode:
    """The places of rows of a function that puts some."""
    (given,) = (
        let.value
        for let in function.body.lets
        if isinstance(let.value, Call) and isinstance(let.value.attributes, PutRows)
    )
    put: Any = given.attributes
    types: dict[str, Any] = {param.name: param.type for param in function.params}
    past, new = types["past"].static_shape("past"), types["new"].static_shape("new")
    return RowsCode(
        *("put", past, put.row_steps, put.element_steps, put.first, new[2], new[1] * new[3])
    )


def as_rows(array: NDArray[Any]) -> NDArray[Any]:
    """[1, heads, n, features] as [n, heads * features]."""
    return np.ascontiguousarray(array[0].transpose(1, 0, 2)).reshape(array.shape[2], -1)


def _read(shape: str, layout: str) -> str:
    """A stream of one kernel."""
    return (
        f"kernel[other] @k(p: {shape}{layout}) -> {shape}:\n"
        f"  x = convert(p, shape={shape[4:]}, source={layout})\n"
        "  y = relu(x)\n  return y\n\n"
        f"stream[other] @s(p: {shape}{layout}) -> {shape}:\n  y = @k(p)\n  return y\n\n"
    )


def _head(heads: int, rows: int, new: int, features: int, result: str) -> str:
    return (
        f"func @f(past: float32[1, {heads}, {rows}, {features}], "
        f"new: int8[1, {heads}, {new}, {features}]) -> {result}:\n"
        f"  old = quantise(past, float32[]({STEP}), int8[](0))\n"
        "  whole = concat(old, new, axis=2)\n"
    )
