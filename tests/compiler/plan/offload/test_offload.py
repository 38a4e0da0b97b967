"""Offloaded networks compute what they did, and what can be offloaded is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.driver import build
from tandem.compiler.errors import Refusal
from tandem.compiler.graph import Call, Constant, Function, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import FunctionKind
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.passes import Fuse, InferTypes, simplifying_passes, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import functions
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.plan.offload import Offload, Plans, offload_passes
from tandem.runtime.artifact import Provenance
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import HOST, image, run_on
from tests.support.compiler.plan.quantised_graphs import Net, residual_net

RUN = NativeRunner(reassociate=False)
REAL = "the accelerator has integers only, so that the CPU converts real numbers"
MOVES = (
    "elements change their places within blocks of channels, which LOAD and STORE move as they are"
)


def offloaded(
    function: Function, config: str = "tiny", plan: Plans = lambda _: None, name: str = ""
) -> Function:
    """With kernels for the accelerator, or a target of another name; the host's are fused."""
    target = accelerator(machine(config))
    target = replace(target, name=name or target.name)
    passes = (*simplifying_passes(RUN), *offload_passes(target, plan), Fuse(), InferTypes())
    return transform(function, passes)


def refuse(_: Call) -> None:
    raise Refusal("nothing fits")


def kernels(
    function: Function, kind: FunctionKind = FunctionKind.KERNEL, target: str = "accelerator"
) -> list[str]:
    return [each.name for each in functions(function) if (each.kind, each.target) == (kind, target)]


@pytest.mark.parametrize("config", ["tiny", "small8", "batch2", "tall"])
def test_the_result_stays(config: str) -> None:
    function = residual_net()
    found = offloaded(function, config)
    x = np.random.default_rng(1).normal(size=(1, 3, 16, 16)).astype(np.float32)
    np.testing.assert_array_equal(
        evaluate(found, [x], RUN),
        evaluate(function, [x], RUN),
    )
    # Where input and output blocks differ, the CPU repacks between.
    one = machine(config).block_in == machine(config).block_out
    assert (len(kernels(found, FunctionKind.STREAM)) == 1) == one


def test_the_text(golden: Callable[[str, str], None]) -> None:
    golden("graph/offload.txt", text(offloaded(residual_net())))


def test_what_is_refused_stays_with_the_cpu() -> None:
    asked: list[str] = []

    def plan(call: Call) -> None:
        asked.append(call.callee.name)
        if "max_pool" in call.callee.name:
            raise Refusal("windows are too large")

    found = offloaded(residual_net(), plan=plan)
    assert "max_pool" in asked
    assert not any("max_pool" in each for each in kernels(found))
    (let,) = (each for each in found.body.lets if each.reason == "max_pool: windows are too large")
    assert isinstance(let.value, Call)
    assert "max_pool" in let.value.callee.name
    assert len(kernels(found, FunctionKind.STREAM)) == 2


def test_nothing_accepted_nothing_changed() -> None:
    function = residual_net()
    found = offloaded(function, plan=refuse)
    assert not kernels(found)
    assert not kernels(found, FunctionKind.STREAM)
    assert text(found) == text(
        transform(function, (*simplifying_passes(RUN), Fuse(), InferTypes()))
    )
    reasons = {let.reason for let in found.body.lets}
    assert reasons == {
        f"quantise: {REAL}",
        "conv2d: nothing fits",
        "conv2d, requantise: nothing fits",
        "conv2d, requantise_add: nothing fits",
        "conv2d, requantise, requantise_add: nothing fits",
        "max_pool: nothing fits",
        "cast, reduce_sum: nothing fits",
        f"requantise: nothing fits; flatten: {MOVES}",
        f"dense: nothing fits; dequantise: {REAL}",
    }


def test_reasons_of_several_targets() -> None:
    """Each says why it does not do what stays; who does something says nothing of it."""
    target = accelerator(machine("tiny"))
    net = Net()
    function = net.function((1, 3, 8, 8), net.max_pool("y", net.quantise("x8", Var("x"))))

    def offload(given: Function, name: str, reason: str | None) -> Function:
        def plan(_: Call) -> None:
            if reason:
                raise Refusal(reason)

        return Offload(replace(target, name=name), plan).apply(given)

    refused = offload(offload(function, "first", "too large"), "second", "too slow")
    reasons = {let.name: let.reason for let in refused.body.lets}
    assert reasons == {"x8": f"quantise: {REAL}", "y": "max_pool: too large; max_pool: too slow"}
    found = transform(offload(offload(function, "first", "too large"), "second", None), ())
    (kernel,) = (
        let.value.callee
        for let in found.body.lets
        if isinstance(let.value, Call) and isinstance(let.value.callee, Function)
    )
    assert kernel.target == "second"
    reasons = {let.name: let.reason for let in found.body.lets}
    assert reasons["y"] == "layout for the second"


def test_only_images_from_outside_have_their_windows_packed() -> None:
    net = Net()
    x = net.quantise("x8", Var("x"))
    y = net.conv("c2", net.conv("c1", x, (1, 2), 3, 1, 1), (2, 3), 3, 1, 1)
    out = net.logits("out", net.mean("mean", y, 64), 3, 2)
    found = text(offloaded(net.function((1, 1, 8, 8), out)))
    assert found.count("= pack_windows(") == 1
    assert "int8[2, 9, 1, 1]" in found
    assert "int8[3, 2, 3, 3]" in found


def test_small_processors_pack_no_windows() -> None:
    """The array reads the image as it is, with more products and the same results."""
    net = Net()
    y = net.conv("c1", net.quantise("x8", Var("x")), (1, 2), 3, 1, 1)
    function = net.function((1, 1, 8, 8), net.logits("out", net.mean("mean", y, 64), 2, 2))
    config = machine("tiny")
    given, results = image((1, 1, 8, 8)), []
    for is_small in (False, True):
        target = accelerator(config, small_host=is_small)
        artifact = build(function, [target, HOST], Provenance("test"))
        operators = {name for step in artifact.manifest.steps for name in step.operators}
        assert ("pack_windows" in operators) is not is_small
        results.append(run_on(artifact, "functional", given).outputs["out"])
    one, other = results
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("config", ["tiny", "tall"])
@pytest.mark.parametrize("kernel", [1, 3])
def test_a_tensor_that_is_read_twice(config: str, kernel: int) -> None:
    """By the array and by the ALU: in blocks of either, and in windows."""
    net = Net()
    x = net.quantise("x8", Var("x"))
    y = net.conv("c", x, (3, 3), kernel, 1, kernel // 2, skip=x)
    function = net.function((1, 3, 5, 4), y)
    found = offloaded(function, config)
    assert kernels(found) == ["conv2d_requantise_add"]
    image = np.random.default_rng(2).normal(size=(1, 3, 5, 4)).astype(np.float32)
    np.testing.assert_array_equal(
        evaluate(found, [image], RUN),
        evaluate(function, [image], RUN),
    )


def test_windows_are_of_all_channels_and_groups_see_their_own() -> None:
    net = Net()
    y = net.conv("c1", net.quantise("x8", Var("x")), (2, 2), 3, 1, 1, groups=2)
    out = net.logits("out", net.mean("mean", y, 64), 2, 2)
    found = text(offloaded(net.function((1, 2, 8, 8), out)))
    assert "pack_windows" not in found


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolutions_in_groups(groups: int) -> None:
    net = Net()
    x = net.quantise("x8", Var("x"))
    weight = Constant(net.weight(4, 4 // groups, 1, 1))
    given = Conv2d(groups=groups, out_dtype=INT32)
    acc = net.call("acc", "conv2d", x, weight, given=given)
    found = offloaded(net.function((1, 4, 3, 3), acc))
    assert not kernels(found), "nobody rounds it"
    net = Net()
    y = net.conv("c", net.quantise("x8", Var("x")), (4, 4), groups=groups)
    found = offloaded(net.function((1, 4, 3, 3), y))
    assert len(kernels(found)) == 1
