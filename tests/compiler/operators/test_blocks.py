"""Packed windows: a convolution of 1x1 remains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.accelerator.templates import packing
from tandem.compiler.operators.blocks import pack_windows
from tandem.compiler.te import Tensor, placeholder
from tandem.compiler.te.build import program_of
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_workloads import convolve
from tests.support.compiler.machines.accelerator.templates.streams import Array

MACHINES = st.sampled_from(["tiny", "small8", "batch2", "tall"])


def _run(output: Tensor, source: Tensor, data: Array) -> Array:
    (found,) = interpreter.run(program_of([output], [source]), [data])
    return found


def _drawn(shape: tuple[int, ...]) -> tuple[Tensor, Array]:
    data = np.random.default_rng(0).integers(-128, 128, shape, dtype=np.int8)
    return placeholder(shape, INT8, "data"), data


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
    image = placeholder((1, 3, 4, 4), INT8, "image")
    with pytest.raises(TensorError, match=r"^pack_windows pack_windows: axis 2 of image"):
        pack_windows(image, kernel=(5, 1), batch=1, block=4)
    with pytest.raises(TensorError, match=r"blocks of 0 and 4: 1 or more are allowed$"):
        pack_windows(image, kernel=(1, 1), batch=0, block=4)
    flat = placeholder((2, 3), INT8, "flat")
    with pytest.raises(TensorError, match=r"^pack_windows p: flat int8\[2, 3\] has to have 4 dim"):
        pack_windows(flat, kernel=(1, 1), batch=1, block=4, name="p")
