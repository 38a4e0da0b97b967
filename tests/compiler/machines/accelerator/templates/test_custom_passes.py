"""Requantisations covered by a machine's own operations: by hand, exactly, and never by more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.templates.alu_lowering import (
    lower_requantisation,
    requantisation_chains,
)
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainPass,
    ChainStep,
    Residual,
    Values,
    chain_cost,
    match_operation,
)
from tandem.compiler.requantisation import RequantSpec
from tandem.compiler.requantisation import Residual as SpecResidual
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.custom_passes import covered, passed

Parameters = dict[str, str]
CLIP = "min(max(int32(a + b) >> shift, low), 127)"
BITS = {"shift": "uint5", "low": "int8"}


def operation(result: str, **parameters: str) -> CustomOperation:
    return CustomOperation.from_json({"name": "OWN", "result": result, "parameters": parameters})


def step(op: AluOp, *numbers: int, identity: bool = False) -> ChainStep:
    return ChainStep(op, Values(numbers), identity)


ENDS = (
    step(AluOp.ADD, 5, -7),
    step(AluOp.SHR, 9),
    step(AluOp.MAX, -128),
    step(AluOp.MIN, 127),
)


def test_a_whole_run() -> None:
    own = operation(CLIP, **BITS)
    found = match_operation(own, ENDS)
    assert found is not None
    assert found.second == Values((5, -7))
    assert own.values_of(found.parameters or 0) == {"shift": 9, "low": -128}
    (made,) = covered(ENDS, [own])
    assert made == found


@pytest.mark.parametrize(
    ("result", "parameters"),
    [
        # Another constant, a parameter that is too narrow, a sum that would not wrap.
        ("min(max(int32(a + b) >> shift, low), 126)", BITS),
        (CLIP, {"shift": "uint3", "low": "int8"}),
        (CLIP, {"shift": "uint5", "low": "uint8"}),
        ("min(max(a + b >> shift, low), 127)", BITS),
        # Other operators, another order, an operand in another place.
        ("max(min(int32(a + b) >> shift, 127), low)", BITS),
        ("min(max(int32(a - b) >> shift, low), 127)", BITS),
        ("min(max(b >> 9, -128), 127) + a", {}),
        # More than the run, and less.
        ("min(max(int32(a + b) >> shift, low), 127) + 1", BITS),
        ("max(int32(a + b) >> shift, low)", BITS),
        ("min(max(int32(a + a) >> shift, low), 127)", BITS),
    ],
)
def test_what_is_no_match(result: str, parameters: Parameters) -> None:
    assert match_operation(operation(result, **parameters), ENDS) is None


@pytest.mark.parametrize(
    ("result", "parameters"),
    [
        ("min(max(int32(a + b) >> 9, -128), 127)", {}),
        ("min(127, max(low, int32(b + a) >> 9))", {"low": "int9"}),
        # A product by 1 changes nothing.
        ("min(max(int32(a * n + b) >> s, -128), 127)", {"n": "uint4", "s": "uint4"}),
    ],
)
def test_other_matches(result: str, parameters: Parameters) -> None:
    assert match_operation(operation(result, **parameters), ENDS) is not None


def test_steps_that_change_nothing() -> None:
    steps = (*ENDS[:2], step(AluOp.MAX, -500, identity=True), ENDS[3])
    assert match_operation(operation("min(int32(a + b) >> s, 127)", s="uint5"), steps) is not None
    # The operation may do what changes nothing, if its parameters can.
    assert match_operation(operation(CLIP, **BITS), steps) is None
    wide = operation("min(max(int32(a + b) >> 9, low), 127)", low="int16")
    assert match_operation(wide, steps) is not None
    assert covered(steps[2:3], []) == ()


def test_residuals() -> None:
    steps = (ChainStep(AluOp.ADD, Residual(300)), step(AluOp.SHR, 4))
    plain, scaled = operation("a + b >> 4"), operation("a + b * n >> 4", n="uint12")
    assert match_operation(plain, steps) is None
    plain = operation("int32(a + b) >> 4")
    scaled = operation("int32(a + b * n) >> 4", n="uint12")
    assert match_operation(plain, steps) == ChainPass(plain, Residual(300))
    assert match_operation(scaled, steps) == ChainPass(scaled, Residual(1), 300)
    assert chain_cost(covered(steps, [plain])) == (2, 0)
    assert chain_cost(covered(steps, [plain, scaled])) == (1, 0)


OPERATIONS = (
    operation(CLIP, **BITS),
    operation("min(max(a, -128), 127)"),
    operation("int32(a * b) >> shift", shift="uint5"),
    operation("int32(a * b + c)", c="int16"),
    operation("int32(a + b * n) >> s", n="uint11", s="uint5"),
)


@st.composite
def specs(draw: st.DrawFn) -> RequantSpec:
    channels = draw(st.integers(1, 3))

    def numbers(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(channels))

    residuals = draw(st.lists(st.integers(1, 500).map(SpecResidual), max_size=1))
    low = draw(st.sampled_from([-128, 0, -3]))
    return RequantSpec(
        numbers(1, 400),
        numbers(-3000, 3000),
        draw(st.integers(4, 14)),
        low,
        127,
        1 << draw(st.integers(8, 15)),
        tuple(residuals),
    )


@given(specs(), st.data())
def test_covers_are_exact(spec: RequantSpec, data: st.DataObject) -> None:
    first, last = spec.limits
    count = data.draw(st.integers(0, len(OPERATIONS)))
    operations = data.draw(st.permutations(OPERATIONS))[:count]
    for steps in requantisation_chains(spec):
        made = covered(steps, operations)
        assert chain_cost(made) <= chain_cost(covered(steps, []))
        for _ in range(5):
            x = data.draw(st.sampled_from([first, last]) | st.integers(first, last))
            k = data.draw(st.integers(-128, 127)) if spec.residuals else 0
            for channel, one in enumerate(spec.per_channel):
                scale = spec.residuals[0].multiplier if spec.residuals else 0
                total = one.sum(x) + k * scale >> one.shift
                assert passed(x, k, channel, made) == spec.clip(total)


@given(specs())
def test_without_operations_the_passes_are_the_same(spec: RequantSpec) -> None:
    costs = [chain_cost(covered(steps, [])) for steps in requantisation_chains(spec)]
    # The addition of the residual is a pass of the chain.
    assert min(costs)[0] == lower_requantisation(spec).cost[0] + len(spec.residuals)
