"""Conversions of layouts do what packing of arrays does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.layouts.conversion import convert, view
from tandem.compiler.layouts.layout import Layout, Whole, image_blocks, in_blocks, row_blocks
from tandem.compiler.machines.accelerator.templates import packing
from tandem.compiler.te import Tensor, placeholder
from tandem.compiler.te.build import program_of
from tests.compiler.layouts.test_parse import layouts
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.streams import Array

SHAPES = st.tuples(*[st.integers(1, high) for high in (3, 9, 4, 4)])
MACHINES = st.sampled_from(["tiny", "small8", "batch2", "tall"])


def run(output: Tensor, source: Tensor, data: Array) -> Array:
    (found,) = interpreter.run(program_of([output], [source]), [data])
    return found


def drawn(shape: tuple[int, ...]) -> tuple[Tensor, Array]:
    data = np.random.default_rng(0).integers(-128, 128, shape, dtype=np.int8)
    return placeholder(shape, INT8, "data"), data


@settings(max_examples=15)
@given(shape=SHAPES, config=MACHINES)
def test_into_blocks_and_back(shape: tuple[int, ...], config: str) -> None:
    chosen = machine(config)
    source, data = drawn(shape)
    blocks = image_blocks(chosen.batch, chosen.block_in)
    packed = run(convert(source, shape=shape, target=blocks), source, data)
    np.testing.assert_array_equal(packed, packing.pack_data(data, chosen))
    inner = placeholder(packed.shape, INT8, "packed")
    back = convert(inner, shape=shape, source=blocks)
    np.testing.assert_array_equal(run(back, inner, packed), data)


@settings(max_examples=15)
@given(shape=SHAPES, config=MACHINES)
def test_into_blocks_of_weights(shape: tuple[int, ...], config: str) -> None:
    chosen = machine(config)
    source, data = drawn(shape)
    blocks = image_blocks(chosen.block_out, chosen.block_in)
    packed = run(convert(source, shape=shape, target=blocks), source, data)
    np.testing.assert_array_equal(packed, packing.pack_weight(data, chosen))


@settings(max_examples=40)
@given(one=layouts(), other=layouts(), seed=st.integers(0, 99))
def test_from_one_to_another(one: Layout, other: Layout, seed: int) -> None:
    """Every element is where `positions` says; what is behind the last is zero."""
    rank = min(one.rank, other.rank)
    if one.rank != other.rank:
        return
    generator = np.random.default_rng(seed)
    shape = tuple(int(extent) for extent in generator.integers(1, 6, rank))
    data = generator.integers(-(2**31), 2**31, shape, np.int32)
    plain = placeholder(shape, INT32, "data")
    stored = run(convert(plain, shape=shape, target=one), plain, data)
    source = placeholder(stored.shape, one.stored_dtype(INT32) or INT32, "stored")
    found = run(convert(source, shape=shape, source=one, target=other), source, stored)
    flat = found.reshape(4, -1).astype(np.uint8) if found.dtype == np.int8 else found.reshape(1, -1)
    values = sum(plane.astype(np.int64) << (8 * at) for at, plane in enumerate(flat))
    assert isinstance(values, np.ndarray)
    places = other.positions(shape)
    np.testing.assert_array_equal(values.astype(np.int32)[places], data)
    rest = np.delete(values, places.ravel())
    assert not rest.any()


def test_a_view_moves_nothing() -> None:
    source, data = drawn((1, 2, 1, 1, 1, 4))
    rows = row_blocks(1, 4)
    np.testing.assert_array_equal(run(view(source, shape=(1, 7), layout=rows), source, data), data)
    flat = run(view(source, shape=(8,)), source, data)
    np.testing.assert_array_equal(flat, data.ravel())


def test_refusals() -> None:
    image, _ = drawn((1, 3, 4, 4))
    blocks = image_blocks(1, 4)
    with pytest.raises(TensorError, match=r"^convert c: data .* is not .*row-major$"):
        convert(image, shape=(1, 4, 4, 4), target=blocks, name="c")
    with pytest.raises(TensorError, match=r"stored as \{0, 1/4, 2, 3, _, 1%4\}$"):
        convert(image, shape=(1, 3, 4, 4), source=blocks)
    with pytest.raises(TensorError, match=r"has to be int32, for planes of bytes$"):
        convert(image, shape=(1, 3, 4, 4), target=blocks.in_planes())
    first, second = in_blocks(0, 4)
    planes = Layout((first, second, Whole(1))).in_planes()
    with pytest.raises(TensorError, match="is not"):
        convert(placeholder((4, 1, 4, 2), INT32, "x"), shape=(3, 2), source=planes)
