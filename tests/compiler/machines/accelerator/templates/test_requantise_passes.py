"""Passes of requantisations: their names and operands, and what they compute, number by number."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import Refusal
from tandem.compiler.graph import Call, Constant, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.quantised import Requantise
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.machines.accelerator.templates.alu_lowering import is_exact
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, OperandKind
from tandem.compiler.machines.accelerator.templates.noted_requantisations import noted
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.machines.accelerator.templates.requantise_passes import (
    alu_passes,
    epilogue_passes,
    requantisation,
    requantise_passes,
    requantise_pattern,
)
from tandem.compiler.plan.pattern import Apply, Match, Operand
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.requantisation import RequantSpec, Residual, ScaledResidual
from tandem.hw.config import HardwareConfig
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.hw.custom_operations import Described
from tests.support.hw.custom_operations import machine as machine_with

TINY = machine("tiny")
"""Blocks of four channels."""
CLIP: Described = (
    ("CLIP", "min(max(int32(a + b) >> shift, low), 127)", {"shift": "uint5", "low": "int8"}),
)
SCALES: Described = (("SCALE", "int32(a + b * n)", {"n": "uint12"}),)
UNARY: Described = (("BYTE", "sat8(a >> n)", {"n": "uint5"}),)


def applied(
    passes: Sequence[Any], numbers: Arguments, sums: int, skip: int, channel: int, lanes: int
) -> int:
    """What passes make of a sum and a residual of a channel."""
    for one in passes:
        match one.kind:
            case OperandKind.IMMEDIATE:
                second = numbers.immediates[one.operand]
            case OperandKind.CHANNEL:
                second = int(numbers.tensors[one.operand][channel // lanes, 0, channel % lanes])
            case OperandKind.ELEMENT:
                assert (one.operand, one.dtype) == ("skip", INT8)
                second = applied(one.before, numbers, skip, 0, channel, lanes)
            case _:
                assert one.operand == ""
                second = 0
        if isinstance(one.op, AluOp):
            assert one.parameters is None
            sums = int(one.op.apply(sums, second))
        else:
            parameters = 0 if one.parameters is None else numbers.immediates[one.parameters]
            sums = int(one.op.apply(sums, second, parameters))
    return sums


def check(spec: RequantSpec, channels: int, config: HardwareConfig, seed: int) -> tuple[Any, ...]:
    """Passes compute what integers without bounds do; returns them."""
    passes, numbers = alu_passes(spec, channels, config)
    rng = np.random.default_rng(seed)
    least, greatest = spec.limits
    sums = rng.integers(least, greatest + 1, (7, channels))
    skips = rng.integers(-128, 128, sums.shape)
    wanted = spec.reference(sums, 1, [skips] if spec.residuals else [])
    lanes = config.block_out
    found = [
        [
            applied(passes, numbers, *both, channel, lanes)
            for channel, both in enumerate(zip(row, skip, strict=True))
        ]
        for row, skip in zip(sums.tolist(), skips.tolist(), strict=True)
    ]
    assert found == wanted.tolist()
    names = {*numbers.tensors, *numbers.immediates}
    assert names == {name for name in named(passes) if name != "skip"}
    return passes


def named(passes: Sequence[AluPass]) -> set[str]:
    """The operands of passes, and the parameters of operations of a machine's own."""
    found = {each.operand for each in passes} | {each.parameters for each in passes}
    return {each for each in found if each}.union(*(named(each.before) for each in passes))


def specification(seed: int, channels: int, *, residual: bool, bound: int = 1 << 14) -> RequantSpec:
    rng = np.random.default_rng(seed)
    scales = rng.uniform(2**-11, 2**-8, channels).tolist()
    bias = rng.integers(-999, 999, channels).tolist()
    residuals = [ScaledResidual(float(rng.uniform(0.1, 1)))] if residual else []
    return RequantSpec.from_scales(
        scales, bias, bound=bound, residuals=residuals, is_exact=is_exact
    )


# Matches --------------------------------------------------------------------------------------


def test_patterns() -> None:
    sums = Apply("matmul", (Operand("a", INT8), Operand("b", INT8)))
    numbers = Operand("multiplier", constant=True), Operand("addend", constant=True)
    assert requantise_pattern(sums) == Apply("requantise", (sums, *numbers))
    skips = Operand("skip", INT8, (4,)), Operand("factor", constant=True)
    assert requantise_pattern(sums, 4) == Apply("requantise_add", (sums, *numbers, *skips))


def matched(multiplier: Any, addend: Any, factor: int | None = None) -> Match:
    """A match that ends with a requantisation, or one with a residual."""
    arrays = {"multiplier": multiplier, "addend": addend}
    operands: dict[str, Any] = {name: Constant(np.array(each)) for name, each in arrays.items()}
    name = "requantise"
    if factor is not None:
        name, operands["skip"] = "requantise_add", Var("skip")
        operands["factor"] = Constant(np.array([factor]))
    call = Call(OPERATORS[name], (Var("acc"), *operands.values()), Requantise(4, -100, 99))
    return Match((Let("y", call),), operands)


def test_specifications_of_matches() -> None:
    """One number is that of the tensor."""
    assert requantisation(matched([5], [8]), 1 << 12) == RequantSpec(5, 8, 4, -100, 99, 1 << 12)
    found = requantisation(matched([[5], [6]], [[8], [-9]], factor=7), 300)
    assert found == RequantSpec((5, 6), (8, -9), 4, -100, 99, 300, (Residual(7),))


def test_refuses_numbers_that_no_specification_has() -> None:
    with pytest.raises(Refusal, match=r"^channels: multiplier 2, addend 3; one count for all"):
        requantisation(matched([1, 2], [1, 2, 3]), 10)
    with pytest.raises(Refusal, match=r"^residual multiplier is -1: "):
        requantisation(matched([1], [2], factor=-1), 10)


@pytest.mark.parametrize("name", ["tiny", "extended"])
def test_passes_of_a_match(name: str) -> None:
    """Of as many channels as the result has: six, in blocks of four. What is bound is noted."""
    found: Any = SimpleNamespace(match=matched([3] * 5 + [4], [8]), result_shape=(1, 6, 2, 2))
    with noted() as bound:
        passes, numbers = requantise_passes(found, 500, machine(name))
    spec = RequantSpec((3,) * 5 + (4,), 8, 4, -100, 99, 500)
    assert bound == [spec]
    if name == "extended":
        assert passes == (RequantisePass(),)
        assert numbers.tensors["parameters"].shape == (2, 4)
    else:
        assert (passes, numbers.immediates) == (
            alu_passes(spec, 6, TINY)[0],
            alu_passes(spec, 6, TINY)[1].immediates,
        )
        assert {each.shape for each in numbers.tensors.values()} == {(2, 1, 4)}
    assert epilogue_passes(spec, 6, machine(name))[0] == passes


# Passes of the ALU ----------------------------------------------------------------------------


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.booleans())
def test_passes_compute_the_specification(seed: int, channels: int, residual: bool) -> None:
    check(specification(seed, channels, residual=residual), channels, TINY, seed)


def test_names_of_operands() -> None:
    """By the part of the sum that a pass belongs to; the residual is added between."""
    passes = check(specification(3, 5, residual=True), 5, TINY, 1)
    at = [each.operand for each in passes].index("skip")
    assert [each.operand for each in passes[:at]] == [f"operand_sum_{n}" for n in range(at)]
    ends = [f"operand_total_{n}" for n in range(len(passes) - at - 1)]
    assert [each.operand for each in passes[at + 1 :]] == ends
    skip = passes[at]
    assert (skip.op, skip.kind, skip.dtype) == (AluOp.ADD, OperandKind.ELEMENT, INT8)
    assert [each.operand for each in skip.before] == [
        f"operand_skip_{n}" for n in range(len(skip.before))
    ]
    assert skip.before
    plain = check(specification(3, 5, residual=False), 5, TINY, 1)
    assert [each.operand for each in plain] == [f"operand_{n}" for n in range(len(plain))]
    assert {each.dtype for each in plain} == {INT32}


def test_refuses_two_residuals() -> None:
    spec = RequantSpec(1, 0, 4, -100, 99, 100, (Residual(1), Residual(2)))
    with pytest.raises(Refusal, match=r"^2 residuals: an epilogue adds one at most$"):
        alu_passes(spec, 4, TINY)


# Operations of a machine's own ----------------------------------------------------------------


@settings(max_examples=15)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.booleans(),
    st.sampled_from([CLIP, SCALES, UNARY, (*CLIP, *SCALES)]),
)
def test_passes_of_own_operations(
    seed: int, channels: int, residual: bool, operations: Described
) -> None:
    config = machine_with(operations, 3)
    check(specification(seed, channels, residual=residual), channels, config, seed)


def test_an_operation_of_everything() -> None:
    """One addend in ACC for a machine's own operation, and its parameters by their number."""
    config = machine_with(CLIP, 3)
    spec = RequantSpec.pow2(6, [3, -4], bound=1 << 12)
    passes, numbers = alu_passes(spec, 2, config)
    (one,) = passes
    assert (one.name, one.kind, one.operand) == ("clip", OperandKind.CHANNEL, "operand_0")
    assert (one.before, one.dtype, one.parameters) == ((), INT32, "parameters_0")
    values = config.alu_operations[0].values_of(numbers.immediates["parameters_0"])
    assert values == {"shift": 6, "low": -128}
    tensor = numbers.tensors["operand_0"]
    assert tensor.shape == (1, 1, 16)
    assert tensor.reshape(-1).tolist() == [3 + 32, -4 + 32, *[0] * 14]


def test_one_number_for_all_channels() -> None:
    """It is an immediate of base operations, and a tensor for a machine's own."""
    config = machine_with(CLIP, 3)
    spec = RequantSpec(3, 40, 6, -128, 127, 1 << 12)
    passes, numbers = alu_passes(spec, 20, config)
    assert [(each.name, each.kind) for each in passes] == [
        ("mul", OperandKind.IMMEDIATE),
        ("clip", OperandKind.CHANNEL),
    ]
    assert numbers.immediates["operand_0"] == 3
    tensor = numbers.tensors["operand_1"].reshape(-1)
    assert tensor.tolist() == [40] * 20 + [0] * 12
    assert numbers.tensors["operand_1"].shape == (2, 1, 16)


def test_a_residual_ahead_of_which_passes_come() -> None:
    config = machine_with(CLIP, 3)
    spec = RequantSpec((3, 5), (7, 9), 6, -128, 127, 1 << 12, (Residual(11),))
    passes = check(spec, 2, config, 0)
    (skip,) = (each for each in passes if each.kind is OperandKind.ELEMENT)
    number = passes.index(skip)
    assert [each.operand for each in skip.before] == [
        f"operand_{number}_skip_{at}" for at in range(len(skip.before))
    ]
    assert skip.before


def test_an_operation_without_an_operand() -> None:
    config = machine_with(UNARY, 3)
    passes = check(RequantSpec(1, 0, 5, -128, 127, 1 << 12), 2, config, 0)
    (one,) = passes
    assert (one.kind, one.operand, one.parameters) == (OperandKind.NONE, "", "parameters_0")
