"""The bytes that an operator cannot do without, counted by trying every element."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.compiler.graph import Body, Call, Function, Let, Param, TensorType, Var
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.operators.reductions import MaxPool
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.elementwise import (
    ElementwiseOnAlu,
    ElementwiseWorkload,
)
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolOnAlu, MaxPoolWorkload
from tandem.compiler.machines.accelerator.templates.traffic import (
    loaded_elements,
    needed_parts,
    taps_on_data,
)
from tandem.compiler.operators.window import Window
from tandem.runtime.layer_profiles import StreamRun
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import both, image, run_on
from tests.support.compiler.plan.quantised_graphs import Net, residual_net


def computed(operator: str, given: Attributes, *arrays: NDArray[Any]) -> NDArray[Any]:
    """What the operator gives, by the loop language's interpreter."""
    params = [
        Param(f"x{at}", TensorType(array.shape, INT8 if array.dtype == np.int8 else INT32))
        for at, array in enumerate(arrays)
    ]
    call = Call(OPERATORS[operator], tuple(Var(each.name) for each in params), given)
    found = evaluate(Function("f", tuple(params), Body((Let("y", call),), Var("y"))), arrays)
    assert isinstance(found, np.ndarray)
    return found


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
PADDING = st.tuples(*[st.integers(0, 2)] * 4)


@given(
    size=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    kernel=pairs,
    strides=pairs,
    dilation=pairs,
    padding=PADDING,
)
@settings(max_examples=60, deadline=None)
def test_a_convolution(
    size: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilation: tuple[int, int],
    padding: tuple[int, int, int, int],
) -> None:
    how = Conv2d(strides, padding, dilation, out_dtype=INT32)
    span = [1 + step * (taps - 1) for step, taps in zip(dilation, kernel, strict=True)]
    padded = [size[0] + padding[0] + padding[2], size[1] + padding[1] + padding[3]]
    if any(window > whole for window, whole in zip(span, padded, strict=True)):
        return
    ones = np.ones((1, 1, *size), np.int8), np.ones((1, 1, *kernel), np.int8)

    def matter(which: int) -> Fraction:
        """The part of an operand's elements that some result depends on."""
        seen = 0
        for at in np.ndindex(ones[which].shape):
            alone = np.zeros_like(ones[which])
            alone[at] = 1
            arrays = (alone, ones[1]) if which == 0 else (ones[0], alone)
            seen += bool(computed("conv2d", how, *arrays).any())
        return Fraction(seen, ones[which].size)

    workload = Conv2dWorkload(
        (1, 1, *size, 1, 4), (1, 1, *kernel, 4, 4), strides, padding, dilation, 1, ()
    )
    assert Conv2dOnArray().minimum_traffic(workload) == {"data": matter(0), "weight": matter(1)}


@given(
    size=pairs.map(lambda extents: (extents[0] + 3, extents[1] + 3)), kernel=pairs, strides=pairs
)
@settings(max_examples=25, deadline=None)
def test_a_pool(size: tuple[int, int], kernel: tuple[int, int], strides: tuple[int, int]) -> None:
    low = np.full((1, 1, *size), -5, np.int8)
    for how in (MaxPool(kernel, strides), MaxPool(kernel, strides, ceil_mode=True)):
        seen = 0
        for at in np.ndindex(low.shape):
            alone = low.copy()
            alone[at] = 5
            seen += bool((computed("max_pool", how, alone) == 5).any())
        workload = MaxPoolWorkload((1, 1, *size, 1, 4), how)
        assert MaxPoolOnAlu().minimum_traffic(workload) == {"data": Fraction(seen, low.size)}


def test_elements_are_needed_all() -> None:
    assert not ElementwiseOnAlu().minimum_traffic(ElementwiseWorkload((1, 1, 4, 4, 1, 4), ()))


@given(
    extent=st.integers(1, 9),
    results=st.integers(1, 9),
    stride=st.integers(1, 4),
    before=st.integers(0, 3),
    step=st.integers(1, 3),
    taps=st.integers(1, 4),
)
def test_taps_on_data(
    extent: int, results: int, stride: int, before: int, step: int, taps: int
) -> None:
    """Window by window and tap by tap."""
    every = [
        [window * stride + tap * step - before for tap in range(taps)] for window in range(results)
    ]
    window = Window(extent, taps, stride, step, before, 0, results)
    places, inside = taps_on_data(window)
    assert places.tolist() == every
    assert inside.tolist() == [[0 <= place < extent for place in row] for row in every]
    pixels = {place for row in every for place in row if 0 <= place < extent}
    met = [tap for tap in zip(*every, strict=True) if any(0 <= place < extent for place in tap)]
    expected = Fraction(len(pixels), extent), Fraction(len(met), taps)
    assert needed_parts((window,)) == expected


def test_loaded_elements_are_no_padding() -> None:
    window = Window(extent=8, kernel=3, stride=2, dilation=1, before=1, after=0, count=4)
    # Rows -1..1, 1..3, 3..5, 5..7; and of two at a time -1..3, 3..7.
    found = loaded_elements(window, np.array([1, 2, 4]))
    np.testing.assert_array_equal(found, [2 + 3 + 3 + 3, 4 + 5, 8])


@pytest.mark.parametrize(("twice", "pixels"), [(False, 9), (True, 25)])
def test_what_is_added_as_well_is_read_whole(twice: bool, pixels: int) -> None:
    """Windows of one pixel, two apart, with so much padding that the image keeps its size."""
    net = Net()
    x = net.quantise("x8", Var("x"))
    other = net.conv("z", x, (8, 8), 1, 1, 0)
    y = net.conv("a", x, (8, 8), 1, 2, 2, skip=x if twice else other)
    out = net.logits("out", net.mean("mean", y, 25), 8, 3)
    (run,) = streams_of(net.function((1, 8, 5, 5), out), (1, 8, 5, 5))
    layer = next(each.layer for each in run.layers if each.layer.name == "a")
    assert layer.least_bytes == 8 * pixels + (0 if twice else 8 * 25) + 8 * 25 + _constants(run)


def _constants(run: StreamRun) -> int:
    """Bytes of the weight, which is 8 by 8, and of the numbers of each channel of layer `a`."""
    numbers = [
        run.stream.view(run.stream.image, tensor).nbytes
        for tensor in run.stream.contents
        if tensor.name.startswith("a_blocks.") and tensor.name != "a_blocks.weight"
    ]
    return 8 * 8 + sum(numbers)


def streams_of(function: Function, shape: tuple[int, ...]) -> list[StreamRun]:
    _, shared = both(function, machine("small8"))
    return [*run_on(shared, "functional", image(shape)).profile.streams]


@pytest.mark.parametrize(("stride", "pixels"), [(1, 64), (2, 16), (3, 9)])
def test_bytes_of_a_strided_convolution(stride: int, pixels: int) -> None:
    """Of 16 channels to 8, in blocks of 8: pixels, weights, numbers of each channel, results."""
    net = Net()
    x = net.quantise("x8", Var("x"))
    y = net.conv("a", x, (16, 8), 1, stride, 0)
    out = net.logits("out", net.mean("mean", y, pixels), 8, 3)
    (run,) = streams_of(net.function((1, 16, 8, 8), out), (1, 16, 8, 8))
    numbers = [
        run.stream.view(run.stream.image, tensor).nbytes
        for tensor in run.stream.contents
        if tensor.name.startswith("a_blocks.") and tensor.name != "a_blocks.weight"
    ]
    assert set(numbers) == {8 * 4}
    assert run.layers[0].layer.name == "a"
    least = 16 * pixels + 16 * 8 + sum(numbers) + 8 * pixels
    assert run.layers[0].layer.least_bytes == least


def test_nothing_moves_less() -> None:
    (run,) = streams_of(residual_net(), (1, 3, 16, 16))
    for layer_run in run.layers:
        assert 0 < layer_run.layer.least_bytes <= layer_run.loaded + layer_run.stored
