"""Samples for networks that come without any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.errors import QuantisationError
from compiler.graph.evaluate import Array
from compiler.graph.nodes import Atom, Call, Function, Var
from compiler.graph.operators.parts import Gather
from compiler.graph.opspec import OpSpec
from compiler.graph.types import TensorType, specialised, symbols_of
from compiler.graph.verify import verify
from compiler.graph.visit import all_lets
from compiler.ir.dtypes import BOOL

_SAME_NUMBERS = frozenset({"cast", "reshape", "flatten", "squeeze", "unsqueeze", "transpose"})
"""Operators whose results are indices if their operand is."""


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
    rows = _rows_of_tables(function)
    for _ in range(count):
        yield [
            _drawn(generator, type_, shape, rows.get(param.name, 0))
            for param, (type_, shape) in zip(function.params, tensors, strict=True)
        ]


def _drawn(
    generator: np.random.Generator, type_: TensorType, shape: tuple[int, ...], rows: int
) -> NDArray[Any]:
    dtype = type_.dtype.numpy
    if type_.dtype.is_float:
        return generator.standard_normal(shape).astype(dtype)
    if type_.dtype == BOOL:
        return np.ones(shape, dtype)
    if rows:
        return generator.integers(0, rows, shape).astype(dtype)
    if dtype.itemsize == 1:
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return np.ones(shape, dtype)


def _rows_of_tables(function: Function) -> dict[str, int]:
    """By the name of a parameter whose numbers are indices: how many numbers index all tables that
    they are used for."""
    types = verify(function)
    source = {param.name: param.name for param in function.params}
    rows: dict[str, int] = {}

    def parameter(atom: Atom) -> str | None:
        return source.get(atom.name) if isinstance(atom, Var) else None

    for let in all_lets(function.body):
        match let.value:
            case Call(callee=OpSpec(name=name), args=(operand, *_)) if name in _SAME_NUMBERS:
                found = parameter(operand)
                if found is not None:
                    source[let.name] = found
            case Call(
                callee=OpSpec(name="gather"), args=(table, indices), attributes=Gather(axis=axis)
            ):
                found = parameter(indices)
                type_ = types[table.name] if isinstance(table, Var) else table.type
                assert isinstance(type_, TensorType), "verified"
                extent = type_.shape[axis]
                if found is not None and isinstance(extent, int):
                    rows[found] = min(extent, rows.get(found, extent))
            case _:
                pass
    return rows
