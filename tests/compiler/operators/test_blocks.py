"""Packing as tensor expressions does what packing of arrays does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import TensorError
from compiler.ir import interpreter
from compiler.ir.dtypes import INT8, INT32
from compiler.machines.accelerator.templates import packing
from compiler.operators.blocks import (
    byte_planes,
    join_planes,
    pack_data,
    pack_weight,
    pack_windows,
    unpack_data,
)
from compiler.te import Tensor, placeholder
from compiler.te.build import program_of
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_workloads import convolve
from tests.support.compiler.machines.accelerator.templates.streams import Array

SHAPES = st.tuples(*[st.integers(1, high) for high in (3, 9, 4, 4)])
MACHINES = st.sampled_from(["tiny", "small8", "batch2", "tall"])


def _run(output: Tensor, source: Tensor, data: Array) -> Array:
    (found,) = interpreter.run(program_of([output], [source]), [data])
    return found


def _drawn(shape: tuple[int, ...]) -> tuple[Tensor, Array]:
    data = np.random.default_rng(0).integers(-128, 128, shape, dtype=np.int8)
    return placeholder(shape, INT8, "data"), data


@settings(max_examples=15)
@given(shape=SHAPES, config=MACHINES)
def test_packing_and_back(shape: tuple[int, ...], config: str) -> None:
    chosen = machine(config)
    source, data = _drawn(shape)
    packed = _run(pack_data(source, batch=chosen.batch, block=chosen.block_in), source, data)
    np.testing.assert_array_equal(packed, packing.pack_data(data, chosen))
    inner = placeholder(packed.shape, INT8, "packed")
    np.testing.assert_array_equal(_run(unpack_data(inner, shape=shape), inner, packed), data)


@settings(max_examples=15)
@given(shape=SHAPES, config=MACHINES)
def test_packing_of_weights(shape: tuple[int, ...], config: str) -> None:
    chosen = machine(config)
    source, data = _drawn(shape)
    made = pack_weight(source, lanes=chosen.block_out, block=chosen.block_in)
    np.testing.assert_array_equal(_run(made, source, data), packing.pack_weight(data, chosen))


@settings(max_examples=15)
@given(
    size=st.integers(3, 7),
    channels=st.integers(1, 5),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 2)),
    padding=st.tuples(*[st.integers(0, 2)] * 4),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    config=MACHINES,
)
def test_a_convolution_of_windows_is_one_of_1x1(
    size: int,
    channels: int,
    kernel: tuple[int, int],
    strides: tuple[int, int],
    padding: tuple[int, int, int, int],
    dilation: tuple[int, int],
    config: str,
) -> None:
    chosen = machine(config)
    source, data = _drawn((2, channels, size + 2, size + 2))
    weight = np.random.default_rng(1).integers(-128, 128, (3, channels, *kernel), dtype=np.int8)
    packed = _run(
        pack_windows(
            source,
            kernel=kernel,
            strides=strides,
            padding=padding,
            dilation=dilation,
            batch=chosen.batch,
            block=chosen.block_in,
        ),
        source,
        data,
    )
    expected = convolve(data, weight, strides, padding, dilation)
    flat = weight.reshape(3, -1, 1, 1)
    seen = packing.unpack_data(packed, (2, flat.shape[1], *expected.shape[2:]))
    found = convolve(seen, flat, (1, 1), (0, 0, 0, 0), (1, 1))
    np.testing.assert_array_equal(found, expected)


def test_refuses() -> None:
    flat = placeholder((2, 3), INT8, "flat")
    image = placeholder((1, 3, 4, 4), INT8, "image")
    packed = placeholder((1, 1, 4, 4, 1, 4), INT8, "packed")
    with pytest.raises(TensorError, match=r"^pack_data p: flat int8\[2, 3\] has to have 4 dim"):
        pack_data(flat, batch=1, block=4, name="p")
    with pytest.raises(TensorError, match=r"blocks of 1 and 0: 1 or more are allowed$"):
        pack_data(image, batch=1, block=0)
    with pytest.raises(TensorError, match=r"^pack_weight w: blocks of 0 and 4: 1 or more"):
        pack_weight(image, lanes=0, block=4, name="w")
    with pytest.raises(TensorError, match=r"has to have 6 dimensions$"):
        unpack_data(image, shape=(1, 3, 4, 4))
    for shape in ((1, 3, 4), (1, 5, 4, 4), (2, 3, 4, 4), (1, 3, 4, 5)):
        with pytest.raises(TensorError, match=r"packed int8.* is not .* in blocks$"):
            unpack_data(packed, shape=shape)
    with pytest.raises(TensorError, match=r"^pack_windows pack_windows: axis 2 of image"):
        pack_windows(image, kernel=(5, 1), batch=1, block=4)
    with pytest.raises(TensorError, match=r"blocks of 0 and 4"):
        pack_windows(image, kernel=(1, 1), batch=0, block=4)


@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
def test_planes_of_bytes_and_back(shape: tuple[int, ...]) -> None:
    data = np.random.default_rng(2).integers(-(2**31), 2**31, shape, np.int32)
    source = placeholder(shape, INT32, "sums")
    planes = _run(byte_planes(source), source, data)
    np.testing.assert_array_equal(planes[: shape[0]], data.astype(np.int8))
    inner = placeholder(planes.shape, INT8, "planes")
    np.testing.assert_array_equal(_run(join_planes(inner), inner, planes), data)


def test_refuses_what_has_no_planes() -> None:
    with pytest.raises(TensorError, match=r"flat int8\[2, 3\] has to be int32, with a first axis$"):
        byte_planes(placeholder((2, 3), INT8, "flat"))
    for planes in (placeholder((6,), INT8, "planes"), placeholder((4,), INT32, "planes")):
        with pytest.raises(TensorError, match=r"has to be int8\[4 \* N, ...\]$"):
            join_planes(planes)
