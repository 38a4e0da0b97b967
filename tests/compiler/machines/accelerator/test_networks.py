"""Whole networks on the accelerator give what they give on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph import Function, Var
from tandem.runtime.artifact import from_bytes, streams_of, to_bytes
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import both, image, run_on
from tests.support.compiler.plan.quantised_graphs import Net, residual_net


@pytest.mark.parametrize(
    ("config", "engine", "threads"),
    [
        ("small8", "functional", 2),
        ("batch2", "functional", 1),
        pytest.param("tall", "functional", 2, marks=pytest.mark.exhaustive),
        pytest.param("extended", "functional", 2, marks=pytest.mark.exhaustive),
        ("extended_batch", "functional", 1),
        ("requantising", "functional", 2),
        # Where some layers fit only once.
        ("tiny", "rtl", 2),
        pytest.param("extended", "rtl", 2, marks=pytest.mark.exhaustive),
        ("tiny-x", "rtl", 2),
    ],
)
def test_a_residual_network(config: str, engine: str, threads: int) -> None:
    alone, shared = both(residual_net(), machine(config), threads)
    x = image((1, 3, 16, 16))
    wanted = Executor(alone, [CpuDevice(1)]).run({"x": x}).outputs["out"]
    found = run_on(from_bytes(to_bytes(shared)), engine, x)
    np.testing.assert_array_equal(found.outputs["out"], wanted)


def test_on_rtl_with_hiding_and_without() -> None:
    x = image((1, 3, 16, 16), seed=3)
    cycles = []
    for threads in (1, 2):
        alone, shared = both(residual_net(seed=4), machine("small8"), threads)
        devices = [each.device for each in shared.manifest.steps]
        assert devices.count("accelerator") == 1
        assert devices[0] == devices[-1] == "cpu"
        found = run_on(shared, "rtl", x)
        wanted = Executor(alone, [CpuDevice(1)]).run({"x": x}).outputs["out"]
        np.testing.assert_array_equal(found.outputs["out"], wanted)
        cycles.append(found.profile.cycles)
    without, with_hiding = cycles
    assert without is not None
    assert with_hiding is not None
    assert with_hiding < without


def separable_net(seed: int = 6) -> Function:
    """Convolutions in groups: depthwise, of whole blocks, and of neither; with a residual sum."""
    net = Net(seed)
    x = net.quantise("x8", Var("x"))
    y = net.conv("c1", x, (2, 16), 3, 2, groups=2)
    y = net.conv("c2", y, (16, 16), groups=16, skip=y)
    y = net.conv("c3", y, (16, 32), 1, 1, 0, groups=2)
    y = net.conv("c4", y, (32, 12), 3, 2, groups=4)
    y = net.conv("c5", y, (12, 12), groups=12)
    return net.function((1, 2, 13, 11), net.logits("out", net.mean("mean", y, 12), 12, 5))


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("config", "engine", "threads"),
    [
        ("small8", "rtl", 2),
        ("block4", "functional", 2),
        ("batch2", "functional", 1),
        ("pynq", "rtl", 2),
    ],
)
def test_groups(config: str, engine: str, threads: int) -> None:
    alone, shared = both(separable_net(), machine(config), threads)
    (stream,) = streams_of(shared).values()
    assert len(stream.layers) == 7, "all of it"
    x = image((1, 2, 13, 11), seed=2)
    wanted = Executor(alone, [CpuDevice(1)]).run({"x": x}).outputs["out"]
    np.testing.assert_array_equal(run_on(shared, engine, x).outputs["out"], wanted)


def test_several_streams_and_results() -> None:
    """The CPU takes the larger of two convolutions, and the accelerator goes on from there."""
    net = Net(seed=5)
    x = net.quantise("x8", Var("x"))
    a, b = net.conv("a", x, (4, 4)), net.conv("b", x, (4, 4), 1, 1, 0)
    both_of_them = net.call("both", "maximum", a, b)
    y = net.conv("c", both_of_them, (4, 8), 3, 2)
    function = net.function((1, 4, 6, 6), net.logits("out", net.mean("mean", y, 9), 8, 3))
    alone, shared = both(function, machine("small8"))
    assert len(streams_of(shared)) == 2
    x_value = image((1, 4, 6, 6))
    wanted = Executor(alone, [CpuDevice(1)]).run({"x": x_value}).outputs["out"]
    np.testing.assert_array_equal(run_on(shared, "functional", x_value).outputs["out"], wanted)


@pytest.mark.parametrize("config", ["small8", "tall"])
def test_a_tensor_and_what_comes_of_it(config: str) -> None:
    """The array reads it, in windows or in blocks, and the ALU adds it."""
    net = Net(seed=6)
    x = net.quantise("x8", Var("x"))
    y = net.conv("a", x, (3, 3), skip=x)
    function = net.function((1, 3, 6, 5), net.conv("b", y, (3, 3), 1, 1, 0, skip=y))
    alone, shared = both(function, machine(config))
    layers = [each.operators for code in streams_of(shared).values() for each in code.layers]
    assert layers == [("conv2d", "requantise_add")] * 2
    x_value = image((1, 3, 6, 5))
    wanted = Executor(alone, [CpuDevice(1)]).run({"x": x_value}).outputs["b"]
    np.testing.assert_array_equal(run_on(shared, "functional", x_value).outputs["b"], wanted)


def test_a_tensor_is_added_to_itself() -> None:
    """Both operands are the ALU's."""
    net = Net(seed=7)
    x = net.quantise("x8", Var("x"))
    y = net.add("y", x, x)
    alone, shared = both(net.function((2, 5, 3, 4), y), machine("small8"))
    (stream,) = streams_of(shared).values()
    assert [each.operators for each in stream.layers] == [("cast", "requantise_add")]
    x_value = image((2, 5, 3, 4))
    wanted = Executor(alone, [CpuDevice(1)]).run({"x": x_value}).outputs["y"]
    np.testing.assert_array_equal(run_on(shared, "functional", x_value).outputs["y"], wanted)


def test_memory_is_shared_between_layers() -> None:
    """Eight layers of the same size take little more memory than three: weights."""

    def size(layers: int) -> int:
        net = Net()
        y = net.quantise("x8", Var("x"))
        for number in range(layers):
            y = net.conv(f"c{number}", y, (8, 8), 1, 1, 0)
        out = net.logits("out", net.mean("mean", y, 64 * 64), 8, 3)
        _, shared = both(net.function((1, 8, 64, 64), out), machine("small8"))
        (stream,) = streams_of(shared).values()
        return stream.image.size

    image_bytes = 64 * 64 * 8
    assert size(8) - size(3) < 4 * image_bytes
