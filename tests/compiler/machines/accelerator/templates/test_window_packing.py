"""Packed windows, whole and by rows, leave convolutions with the same results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tandem.compiler.graph import Call, Constant, Function, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.passes import Fuse, InferTypes, simplifying_passes, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.plan.offload import offload_passes
from tandem.compiler.requantisation import RequantSpec
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.quantised_graphs import Net

RUN = NativeRunner(reassociate=False)


def network(
    channels: int, kernel: tuple[int, int], image: tuple[int, int], given: Conv2d
) -> Function:
    """A requantised convolution of a quantised image."""
    net = Net(3)
    x = net.quantise("x8", Var("x"))
    weight = net.weight(5, channels, *kernel)
    acc = net.call("acc", "conv2d", x, Constant(weight), given=given)
    reach = int(np.abs(weight.astype(np.int64)).reshape(5, -1).sum(1).max()) * 128
    y = net._requantised("y", acc, RequantSpec.from_scales([0.002] * 5, 7, 0, 127, bound=reach))
    return net.function((1, channels, *image), y)


@dataclass(frozen=True)
class TallKernels:
    """Costs that are less the more rows the kernel has that is left."""

    def cost(self, call: Call) -> float:
        weights = [arg.array.shape for arg in call.args if isinstance(arg, Constant)]
        return 1.0 / max(shape[2] for shape in weights if len(shape) == 4)

    def bound(self, call: Call) -> float:
        raise AssertionError(call)


def offloaded(function: Function, costs: TallKernels | None, config: str = "small8") -> Function:
    target = accelerator(machine(config))
    passes = offload_passes(target, lambda _: None, costs)
    return transform(function, (*simplifying_passes(RUN), *passes, Fuse(), InferTypes()))


@pytest.mark.parametrize(
    ("channels", "kernel", "image", "given", "packed"),
    [
        (3, (7, 7), (17, 19), Conv2d((2, 2), (3, 3, 3, 3), out_dtype=INT32), "kernel=[2, 7]"),
        (3, (7, 7), (16, 12), Conv2d((2, 2), (3, 2, 2, 3), out_dtype=INT32), "kernel=[2, 7]"),
        (3, (5, 3), (9, 8), Conv2d((1, 2), (0, 1, 0, 1), out_dtype=INT32), "kernel=[1, 3]"),
        (1, (9, 4), (20, 9), Conv2d((3, 1), (2, 0, 1, 0), out_dtype=INT32), "kernel=[3, 4]"),
        (2, (5, 5), (11, 13), Conv2d((2, 1), (0, 0, 0, 0), (1, 2), out_dtype=INT32), "[2, 5]"),
        # Rows that no window reads.
        (3, (6, 5), (14, 9), Conv2d((3, 3), (0, 0, 2, 0), out_dtype=INT32), "kernel=[3, 5]"),
    ],
)
def test_rows_of_windows(
    channels: int, kernel: tuple[int, int], image: tuple[int, int], given: Conv2d, packed: str
) -> None:
    function = network(channels, kernel, image, given)
    found = offloaded(function, TallKernels())
    assert packed in text(found)
    x = np.random.default_rng(1).normal(size=(1, channels, *image)).astype(np.float32)
    wanted = evaluate(function, [x], RUN)
    np.testing.assert_array_equal(evaluate(found, [x], RUN), wanted)
    whole = offloaded(function, None)
    assert f"kernel=[{kernel[0]}, {kernel[1]}]" in text(whole)
    np.testing.assert_array_equal(evaluate(whole, [x], RUN), wanted)


@pytest.mark.parametrize(
    ("channels", "kernel", "given", "why"),
    [
        (3, (3, 7), Conv2d((3, 3), out_dtype=INT32), "the stride is as high as the kernel"),
        (3, (7, 7), Conv2d((2, 2), (6,) * 4, (2, 2), out_dtype=INT32), "rows have gaps"),
        (1, (3, 3), Conv2d(out_dtype=INT32), "rows of windows take as many bytes"),
    ],
)
def test_where_there_are_only_whole_windows(
    channels: int, kernel: tuple[int, int], given: Conv2d, why: str
) -> None:
    config = "small8" if channels > 1 else "pynq"
    found = text(offloaded(network(channels, kernel, (16, 16), given), TallKernels(), config))
    assert f"kernel=[{kernel[0]}, {kernel[1]}]" in found, why
