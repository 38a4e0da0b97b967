"""Samples for networks that come without any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.evaluate import Array
from tandem.compiler.graph.indices import rows_of_tables
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.types import TensorType, specialised, symbols_of
from tandem.compiler.ir.dtypes import BOOL


def synthetic(function: Function, count: int = 4, seed: int = 0) -> Iterator[Sequence[Array]]:
    """Samples for networks without samples; symbolic extents are 1.

    Floats are normal noise of mean 0 and variance 1, like standardised images. Integers that index
    a table, as tokens do an embedding, are drawn from its rows; other bytes are uniform, like
    pixels. All other integers and bools are 1, like a mask that hides nothing.

    Raises
    ------
    QuantisationError
        A parameter that is no tensor.
    """
    generator = np.random.default_rng(seed)
    tensors = []
    for param in function.params:
        type_ = specialised(param.type, dict.fromkeys(symbols_of(param.type), 1))
        if not isinstance(type_, TensorType):
            raise QuantisationError(
                f"parameter {param.name} is {param.type}: calibrating it takes samples"
            )
        tensors.append((type_, type_.static_shape(param.name)))
    rows = rows_of_tables(function)
    for _ in range(count):
        yield [
            _drawn(generator, type_, shape, rows.get(param.name, 0))
            for param, (type_, shape) in zip(function.params, tensors, strict=True)
        ]


def _drawn(
    generator: np.random.Generator, type_: TensorType, shape: tuple[int, ...], rows: int
) -> NDArray[Any]:
    dtype = type_.dtype.numpy
    if type_.dtype.is_float or type_.dtype.is_stored_float:
        return generator.standard_normal(shape).astype(dtype)
    if type_.dtype == BOOL:
        return np.ones(shape, dtype)
    if rows:
        return generator.integers(0, rows, shape).astype(dtype)
    if dtype.itemsize == 1:
        low, high = type_.dtype.low, type_.dtype.high
        # Drawn as bytes, so that a seed gives the bytes that it always gave.
        byte = np.int8 if low < 0 else np.uint8
        return generator.integers(low, high, shape, byte, endpoint=True).astype(dtype)
    return np.ones(shape, dtype)
