"""The usual kernel is made, unless another one costs clearly less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import pytest

from tandem.compiler.graph import Call, Constant, Function, Var
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.operators.layouts import PackWindows
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.plan.offload import Offload
from tandem.compiler.plan.offload.kernel_costs import Decisions
from tandem.compiler.plan.planner import candidates, kernel_of
from tests.compiler.plan.offload.test_offload import kernels
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.quantised_graphs import Net

TARGET = accelerator(machine("small8"))


@dataclass(frozen=True)
class Costs:
    """Costs and bounds by a function of the kernel."""

    of: Callable[[Call], float]

    def cost(self, call: Call) -> float:
        return self.of(call)

    def bound(self, call: Call) -> float:
        return self.of(call)


@pytest.mark.parametrize(
    ("whole", "rows", "kernel"),
    [
        (100.0, 94.0, (2, 7)),
        (100.0, 96.0, (7, 7)),
        (100.0, inf, (7, 7)),
        (inf, 100.0, (2, 7)),
        (inf, inf, (7, 7)),
    ],
)
def test_the_best_packing(whole: float, rows: float, kernel: tuple[int, int]) -> None:
    net = Net()
    y = net.conv("c1", net.quantise("x8", Var("x")), (3, 8), 7, 2, 3)
    function = net.function((1, 3, 16, 16), y)

    def cost(call: Call) -> float:
        shapes = (arg.array.shape for arg in call.args if isinstance(arg, Constant))
        (shape,) = (shape for shape in shapes if len(shape) == 4 and shape[1] > 1)
        return rows if shape[2] > 1 else whole

    types = infer(function)
    (candidate,), _ = candidates(TARGET, function.body, types)
    for costs, wanted in ((Costs(cost), kernel), (None, (7, 7))):
        found = Decisions(TARGET, costs).packing(candidate, types)
        assert found is not None
        assert isinstance(found.attributes, PackWindows)
        assert found.attributes.kernel == wanted


def two_pools() -> Function:
    """Two convolutions, each with maxima over windows."""
    net = Net()
    x = net.quantise("x8", Var("x"))
    for number in (1, 2):
        x = net.max_pool(f"p{number}", net.conv(f"c{number}", x, (8, 8), 3, 1, 1))
    return net.function((1, 8, 16, 16), x)


def joined_at(size: int, joined: float, apart: float) -> Costs:
    """Costs of what joins two operators, and of others, where images have so many rows."""

    def cost(call: Call) -> float:
        kernel = kernel_of(call)
        if kernel.template != "conv2d_max_pool":
            return apart
        return joined if f", {size}, {size}" in str(kernel.params[0].type) else inf

    return Costs(cost)


@pytest.mark.parametrize(
    ("size", "joined", "wanted"),
    [
        (16, 189.0, ["conv2d_requantise_max_pool", "conv2d_requantise", "max_pool"]),
        (8, 189.0, ["conv2d_requantise", "max_pool", "conv2d_requantise_max_pool"]),
        (16, 191.0, ["conv2d_requantise", "max_pool"] * 2),
    ],
)
def test_operators_are_joined_where_that_costs_clearly_less(
    size: int, joined: float, wanted: list[str]
) -> None:
    found = Offload(TARGET, lambda _: None, joined_at(size, joined, 100.0)).apply(two_pools())
    called = [
        kernel_of(let.value).name.rstrip("_0123456789")
        for let in found.body.lets
        if isinstance(let.value, Call) and let.value.callee.name in kernels(found)
    ]
    assert called == wanted


def test_what_is_joined_keeps_its_names() -> None:
    """Those of the operators that would have kernels of their own; of others there are none."""
    found = Offload(TARGET, lambda _: None, joined_at(16, 189.0, 100.0)).apply(two_pools())
    named = {let.source: let.joined for let in found.body.lets if let.joined}
    ((pool, inside),) = named.items()
    assert pool == "p1"
    assert inside[-1] == "c1"
    assert pool not in inside


def test_operators_stay_apart_without_costs_and_where_knobs_are_restricted() -> None:
    cheap = joined_at(16, 0.0, 100.0)
    for target, costs in ((TARGET, None), (accelerator(machine("small8"), hiding=False), cheap)):
        found = Offload(target, lambda _: None, costs).apply(two_pools())
        assert not [name for name in kernels(found) if "max_pool" in name and "conv2d" in name]


def test_what_others_read_is_not_joined() -> None:
    net = Net()
    y = net.conv("c", net.quantise("x8", Var("x")), (8, 8), 3, 1, 1)
    pooled = net.max_pool("p", y)
    out = net.conv("last", y, (8, 8), 1, 2, 0, skip=pooled)
    function = net.function((1, 8, 16, 16), out)
    found = Offload(TARGET, lambda _: None, joined_at(16, 0.0, 100.0)).apply(function)
    assert len([name for name in kernels(found) if name.startswith("max_pool")]) == 1
