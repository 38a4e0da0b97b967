"""Plans: which template does a kernel, its best choice, and what a refusal says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import pytest

from tandem.compiler.errors import Refusal, ReplayError, ScheduleError
from tandem.compiler.graph import Atom, Call, Constant, Function, Var
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.passes import InferTypes
from tandem.compiler.graph.reasons import describe
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolOnAlu, MaxPoolWorkload
from tandem.compiler.plan.pattern import Apply, Operand
from tandem.compiler.plan.planner import Planner, best_choice, candidates
from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.plan.target import CostModel, Target
from tandem.hw.topology import MemoryId
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.quantised_graphs import Net

B4 = "{0, 1/4, 2, 3, _, 1%4}"
ROWS = "{0, 1/4, _, _, _, 1%4}"
PLANES = "{bytes, 0, 1/4, _, _, _, 1%4}"
TINY = accelerator(machine("tiny"))
POOL = MaxPoolOnAlu()
REAL = "the accelerator has integers only, so that the CPU converts real numbers"
MOVES = (
    "elements change their places within blocks of channels, which LOAD and STORE move as they are"
)


def reasons(function: Function, target: Target[Any] = TINY) -> dict[str, str | None]:
    _, found = candidates(target, function.body, infer(function))
    return {name: describe([reason]) for name, reason in found.items()}


def matched(function: Function, target: Target[Any] = TINY) -> list[tuple[str, tuple[str, ...]]]:
    """The templates, and the names of the values that they take."""
    found, _ = candidates(target, function.body, infer(function))
    return [(each.template.name, tuple(let.name for let in each.match.lets)) for each in found]


# What is matched ---------------------------------------------------------------------------------


def test_candidates() -> None:
    net = Net()
    x = net.quantise("x8", Var("x"))
    y = net.max_pool("p", net.conv("c", x, (3, 4)))
    out = net.logits("out", net.mean("m", y, 4), 4, 2)
    assert matched(net.function((1, 3, 4, 4), out)) == [
        ("conv2d", ("c_acc", "c")),
        ("max_pool", ("p",)),
        ("global_average_pool", ("m_wide", "m_acc", "m")),
        ("dense_wide", ("out_acc",)),
    ]
    assert reasons(net.function((1, 3, 4, 4), out)) == {
        "x8": f"quantise: {REAL}",
        "out_flat": f"flatten: {MOVES}",
        "out": f"dequantise: {REAL}",
    }


@pytest.mark.parametrize(
    ("lines", "name", "reason"),
    [
        (["s = relu(x)"], "s", "relu: the accelerator has no schedule template for it"),
        (
            ["w = cast(x, to=int32)", "s = negative(w)"],
            "w",
            "cast: it is done together with requantise or requantise_add only, and negative reads "
            "its result",
        ),
        (["s = cast(x, to=int16)"], "s", "cast: it is done to int32 only"),
        (
            ["s = conv2d(f, float32[1, 2, 1, 1](1.0, 2.0))"],
            "s",
            "conv2d: its data is float32, not int8: quantisation, by --quantize multiplier or "
            "pow2, would help",
        ),
        (
            ["s = requantise(a, int32[1](1), int64[1](0), shift=4, low=0, high=9)"],
            "s",
            "requantise: its acc comes from an input, not from "
            "conv2d or dense or matmul or reduce_sum or cast",
        ),
        (
            [
                "w = cast(x, to=int32)",
                "t = reduce_sum(w, axes=[1], keepdims=True)",
                "s = requantise(t, int32[1](1), int64[1](0), shift=4, low=0, high=9)",
            ],
            "s",
            "requantise: reduce_sum is done over the axes 2 and 3 only, kept as 1",
        ),
    ],
)
def test_reasons(lines: list[str], name: str, reason: str) -> None:
    body = "".join(f"  {line}\n" for line in lines)
    function = graph(
        "func @f(x: int8[1, 2, 3, 3], f: float32[1, 2, 3, 3], a: int32[1, 2, 3, 3]):\n"
        f"{body}  return s\n"
    )
    assert reasons(function)[name] == reason


def test_kernels_of_other_targets_need_no_reason() -> None:
    function = graph(
        "kernel[other] @k(p: int8[4]) -> int8[4]:\n  r = relu(p)\n  return r\n\n"
        "func @f(x: int8[4]) -> int8[4]:\n  a = @k(x)\n  b = relu(a)\n  return b\n"
    )
    assert reasons(function) == {"b": "relu: the accelerator has no schedule template for it"}


# Choices -----------------------------------------------------------------------------------------


def workload(size: int = 6, blocks: int = 2) -> MaxPoolWorkload:
    config = TINY.machine.config
    call = pooling(size, blocks * config.block_out)
    return Planner(TINY).plan(call).workload


def pooling(size: int = 6, channels: int = 8, name: str = "k", target: str = "accelerator") -> Call:
    """A call of a kernel that pools."""
    out = (size + 1) // 2
    before, after = f"[1, {channels}, {size}, {size}]", f"[1, {channels}, {out}, {out}]"
    kernel = InferTypes().apply(
        graph(
            f"kernel[{target}] @{name}(p: int8{before}{B4}) -> int8{after}{B4}:\n"
            f"  x = convert(p, shape={before}, source={B4})\n"
            "  y = max_pool(x, kernel=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])\n"
            f"  q = convert(y, shape={after}, target={B4})\n  return q\n"
        )
    )
    return Call(kernel, (Var("v"),))


def test_the_least_cost_wins_and_the_first_of_equals() -> None:
    @dataclass(frozen=True)
    class Wanted(CostModel):
        def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
            return np.where(choices["y"] == 2, 1.0, np.inf)

    found = best_choice(replace(TINY, cost=Wanted()), POOL, workload())
    fitting = POOL.space(workload(), TINY.machine).choices()
    fitting = fitting.where(POOL.fits(workload(), fitting, TINY.machine) & (fitting["y"] == 2))
    assert found == fitting.choice(0)


def test_knobs_that_are_held() -> None:
    held = best_choice(TINY, POOL, workload(), {"y": (1,), "along": ("x",)})
    assert (held["y"], held["along"], held["threads"]) == (1, "x", 2)
    once = accelerator(machine("tiny"), hiding=False)
    assert best_choice(once, POOL, workload())["threads"] == 1
    assert best_choice(once, POOL, workload(), {"threads": (2,)})["threads"] == 2


def test_settings_of_knobs_that_a_template_does_not_have() -> None:
    target = replace(TINY, settings=(("ways", (1,)),))
    assert best_choice(target, POOL, workload()) == best_choice(TINY, POOL, workload())


def test_nothing_fits() -> None:
    acc = machine("tiny").depth(MemoryId.ACC)
    pattern = (
        rf"^tiny is too small for the smallest tiles: ACC has {acc} elements and they take \d+, "
        r"for which log_acc_buffer would have to be \d+$"
    )
    with pytest.raises(Refusal, match=pattern):
        best_choice(TINY, POOL, workload(), {"y": (3,), "x": (3,), "oc": (2,)})


@pytest.mark.parametrize(
    ("costs", "shown"),
    [(np.zeros(1), r"float64\[1\]"), (np.array(True), r"bool\[\]")],
)
def test_costs_that_are_no_column(costs: Floats, shown: str) -> None:
    @dataclass(frozen=True)
    class Wrong(CostModel):
        def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
            return costs

    with pytest.raises(ScheduleError, match=rf"max_pool: costs of [\d,]+ choices are {shown}"):
        best_choice(replace(TINY, cost=Wrong()), POOL, workload())


# Plans -------------------------------------------------------------------------------------------


class CountingPool(MaxPoolOnAlu):
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def fits(self, *given: Any) -> Any:
        self.asked.append("fits")
        return super().fits(*given)

    def schedule(self, *given: Any) -> Any:
        self.asked.append("schedule")
        return super().schedule(*given)


def test_equal_workloads_are_chosen_for_and_scheduled_once() -> None:
    template = CountingPool()
    planner = Planner(replace(TINY, templates=(template,)))
    calls = [pooling(), pooling(name="other"), replace(pooling(), args=(Var("w"),)), pooling(7)]
    plans = [planner.plan(call) for call in calls]
    schedules = [planner.schedule(plan) for plan in plans]
    assert plans[0].workload == plans[1].workload == plans[2].workload != plans[3].workload
    assert schedules[0] is schedules[1] is schedules[2] is not schedules[3]
    assert sorted(template.asked) == ["fits", "fits", "schedule", "schedule"]
    assert [plan.found.call for plan in plans] == calls
    assert plans[2].found.tensors == {"data": "w"}


def test_a_refusal_is_kept_like_a_choice() -> None:
    class Full(CountingPool):
        def fits(self, workload: Any, choices: Choices, machine: Any) -> Any:
            return super().fits(workload, choices, machine) & False

    template = Full()
    planner = Planner(replace(TINY, templates=(template,)))
    for call in (pooling(), pooling(name="other")):
        with pytest.raises(Refusal, match="tiny is too small"):
            planner.plan(call)
    assert template.asked == ["fits"]


def test_other_weights_are_other_plans_of_one_workload() -> None:
    """Only their arguments differ."""
    kernel = InferTypes().apply(
        graph(
            f"kernel[accelerator] @k(p: int8[1, 4]{ROWS}, w: int8[3, 4]) -> int32[1, 3]{PLANES}:\n"
            f"  x = convert(p, shape=[1, 4], source={ROWS})\n"
            "  d = dense(x, w, out_dtype=int32)\n"
            f"  q = convert(d, shape=[1, 3], target={PLANES})\n  return q\n"
        )
    )
    planner = Planner(TINY)

    def plan(value: int) -> Any:
        args: tuple[Atom, ...] = (Var("v"), Constant(np.full((3, 4), value, np.int8)))
        return planner.plan(Call(kernel, args))

    one, two = plan(1), plan(2)
    assert one.workload == two.workload
    assert planner.schedule(one) is planner.schedule(two)
    assert one.arguments.tensors["weight"].max() == 1
    assert two.arguments.tensors["weight"].max() == 2


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        ("  y = negative(x)\n", "kernel k: the result comes from negative, not from requantise"),
        ("  m = relu(x)\n  y = max_pool(m, kernel=[1, 1])\n", "it computes more than max_pool"),
    ],
)
def test_what_no_template_does(operators: str, message: str) -> None:
    kernel = InferTypes().apply(
        graph(
            f"kernel[accelerator] @k(p: int8[1, 4, 2, 2]{B4}) -> int8[1, 4, 2, 2]{B4}:\n"
            f"  x = convert(p, shape=[1, 4, 2, 2], source={B4})\n{operators}"
            f"  q = convert(y, shape=[1, 4, 2, 2], target={B4})\n  return q\n"
        )
    )
    with pytest.raises(Refusal, match=message):
        Planner(TINY).plan(Call(kernel, (Var("v"),)))


@pytest.mark.parametrize("error", [KeyError, ReplayError, AssertionError])
def test_errors_of_templates_are_no_refusals(error: type[Exception]) -> None:
    class Broken(MaxPoolOnAlu):
        def bind(self, *_: Any) -> NoReturn:
            raise error("planted")

    with pytest.raises(error, match="planted"):
        Planner(replace(TINY, templates=(Broken(), MaxPoolOnAlu()))).plan(pooling())


def test_the_next_template_is_asked_where_a_pattern_does_not_match() -> None:
    class Negatives(MaxPoolOnAlu):
        patterns = (Apply("negative", (Operand("data"),)),)

    planner = Planner(replace(TINY, templates=(Negatives(), POOL)))
    assert planner.plan(pooling()).template is POOL
