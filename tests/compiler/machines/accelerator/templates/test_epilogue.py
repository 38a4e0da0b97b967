"""Passes after sums: their stages and operands, and the passes that requantisation becomes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import Refusal, ScheduleError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.quantised import Requantise
from tandem.compiler.ir.dtypes import INT8, INT32, INT64
from tandem.compiler.machines.accelerator.templates.alu_lowering import (
    is_exact,
    lower_requantisation,
)
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import (
    AluPass,
    Epilogue,
    OperandKind,
    in_accumulators,
)
from tandem.compiler.machines.accelerator.templates.packing import (
    pack_data,
    pack_weight,
    unpack_data,
)
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.machines.accelerator.templates.requantise_passes import (
    alu_passes,
    requantisation,
)
from tandem.compiler.operators.blocks import DATA_AXES
from tandem.compiler.plan.pattern import Match
from tandem.compiler.requantisation import RequantSpec, ScaledResidual
from tandem.compiler.te import Tensor, placeholder
from tandem.compiler.te.build import stages
from tandem.hw.config import HardwareConfig
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.alu_passes import (
    Passes,
    draw_passes,
    draw_values,
    low_bytes,
)
from tests.support.compiler.machines.accelerator.templates.random_operators import random_tests
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    RandomWorkload,
    check_of,
    convolve,
    pack_sums,
)

PYNQ = HardwareConfig()
SHAPE = (1, 2, 3, 3, 1, 4)


def _sums() -> Tensor:
    return in_accumulators(placeholder(SHAPE, INT32, "data"), "sums", DATA_AXES)


def test_stages_are_named_by_their_passes() -> None:
    scale = AluPass(AluOp.MUL, "scale", OperandKind.CHANNEL)
    own = (scale, AluPass(AluOp.SHR, "shift"))
    epilogue = Epilogue((scale, AluPass(AluOp.ADD, "residual", OperandKind.ELEMENT, INT8, own)))
    output, operands = epilogue.compute(_sums())
    assert [each.name for each in stages([output]) if each.source is not None] == [
        "sums",
        "out_0_mul",
        "out_1_add_operand",
        "out_1_add_operand_0_mul",
        "out_1_add_operand_1_shr",
        "out_1_add",
        "out",
    ]
    assert (output.dtype, output.shape) == (INT8, SHAPE)
    assert {each.name: (each.dtype, each.shape) for each in operands} == {
        "scale": (INT32, (2, 1, 4)),
        "residual": (INT8, SHAPE),
        "shift": (INT32, ()),
    }
    assert epilogue.channel_operands == ("scale",)
    assert (epilogue.element_operands, epilogue.immediate_passes) == (1, 1)
    assert epilogue.tensor_passes == 3


def test_a_requantisation_is_one_stage() -> None:
    """Behind other passes, too; the residual is no stage in ACC."""
    shift = AluPass(AluOp.SHR, "shift")
    epilogue = Epilogue((shift, RequantisePass("skip")))
    output, operands = epilogue.compute(_sums())
    names = [each.name for each in stages([output]) if each.source is not None]
    assert names == ["sums", "out_0_shr", "out_1_requantise_add", "out"]
    assert {each.name: (each.dtype, each.shape) for each in operands} == {
        "shift": (INT32, ()),
        "parameters": (INT64, (2, 4)),
        "skip": (INT8, SHAPE),
        **dict.fromkeys(("low", "high", "scale"), (INT32, ())),
    }
    assert (epilogue.input_operands, epilogue.element_operands) == (1, 0)
    assert (epilogue.immediate_passes, epilogue.tensor_passes) == (1, 0)
    assert epilogue.requantise == RequantisePass("skip")
    assert Epilogue((shift,)).requantise is None


def test_nothing_follows_a_requantisation() -> None:
    with pytest.raises(ScheduleError, match=r"^epilogue: a requantisation has to be last"):
        Epilogue((RequantisePass(), AluPass(AluOp.SHR, "shift"))).compute(_sums())


@pytest.mark.parametrize(
    ("passes", "elements"),
    [
        ((), [0, 0]),
        ((RequantisePass(),), [9, 9]),
        ((RequantisePass(resident=False),), [2, 4]),
    ],
)
def test_elements_of_parameters(passes: tuple[RequantisePass, ...], elements: list[int]) -> None:
    """Of nine blocks, in tiles of two and of four."""
    found = Epilogue(passes).parameter_elements(9, np.array([2, 4]))
    assert found.tolist() == elements


def _residual(rng: np.random.Generator, shape: tuple[int, ...]) -> Passes:
    """A shift, a residual with a scale of its own, and passes of all kinds around."""
    first, last = (draw_passes(rng, shape, 1, name=name) for name in ("first", "last"))
    own = draw_passes(rng, shape, 2, least=1, name="own")
    shift = Passes((AluPass(AluOp.SHR, "shift"),), {}, {"shift": int(rng.integers(0, 12))})
    added = AluPass(AluOp.ADD, "residual", OperandKind.ELEMENT, INT8, own.of_alu)
    values = {"residual": draw_values(rng, shape, INT8), **own.values}
    return first + shift + Passes((added,), values, own.immediates) + last


def _drawn(rng: np.random.Generator, config: HardwareConfig) -> RandomWorkload:
    """A small convolution with a residual."""
    height, width, tall = (int(rng.integers(1, 6)) for _ in range(3))
    tall = min(tall, 3, height + 2)
    image = draw_values(rng, (config.batch, 5, height, width), INT8)
    kernel = draw_values(rng, (9, 5, tall, 1), INT8)
    sums = pack_sums(convolve(image, kernel, (1, 1), (1, 0, 1, 0), (1, 1)), config)
    data, weight = pack_data(image, config), pack_weight(kernel, config)
    after = _residual(rng, sums.shape)
    workload = Conv2dWorkload(
        data.shape, weight.shape, (1, 1), (1, 0, 1, 0), (1, 1), 1, after.passes
    )
    values = {"data": data, "weight": weight, **after.values}
    return RandomWorkload(
        Conv2dOnArray(), workload, values, after.immediates, low_bytes(after.applied(sums))
    )


test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(
    check_of(_drawn), few=10, many=60, configs=("tiny", "small8", "batch2", "tall")
)


# Requantisation -----------------------------------------------------------------------------------


def test_a_power_of_two_for_the_whole_tensor_needs_no_tensor() -> None:
    passes, numbers = alu_passes(RequantSpec.pow2(3, bound=1 << 20), 20, PYNQ)
    assert passes == tuple(
        AluPass(op, f"operand_{number}")
        for number, op in enumerate((AluOp.ADD, AluOp.SHR, AluOp.MAX, AluOp.MIN))
    )
    assert [numbers.immediates[each.operand] for each in passes] == [4, 3, -128, 127]
    assert not numbers.tensors


def test_numbers_of_channels_are_tensors_named_by_their_pass() -> None:
    spec = RequantSpec.from_scales([0.01 + 0.001 * c for c in range(20)], list(range(20)))
    passes, numbers = alu_passes(spec, 20, PYNQ)
    lowered = lower_requantisation(spec)
    steps = [*lowered.accumulator, *lowered.output]
    assert [each.op for each in passes] == [each.op for each in steps]
    assert any(each.kind is OperandKind.CHANNEL for each in passes)
    for number, (step, alu_pass) in enumerate(zip(steps, passes, strict=True)):
        assert alu_pass.operand == f"operand_{number}"
        if isinstance(step.operand, int):
            assert (alu_pass.kind, numbers.immediates[alu_pass.operand]) == (
                OperandKind.IMMEDIATE,
                step.operand,
            )
            continue
        packed = numbers.tensors[alu_pass.operand]
        assert (alu_pass.kind, packed.shape) == (OperandKind.CHANNEL, (2, 1, 16))
        assert packed.dtype == np.int32
        np.testing.assert_array_equal(packed.reshape(-1)[:20], step.operand)
        assert not packed.reshape(-1)[20:].any()


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), config=st.sampled_from(["tiny", "small8", "batch2", "tall"]))
def test_passes_do_what_the_specification_says(seed: int, config: str) -> None:
    """With a residual and without."""
    rng, chosen = np.random.default_rng(seed), machine(config)
    channels = int(rng.integers(1, 10))
    sums = rng.integers(-(1 << 15), 1 << 15, (chosen.batch, channels, 2, 3))
    skip = draw_values(rng, sums.shape, INT8).astype(np.int64)
    scales = rng.uniform(2**-11, 2**-8, channels).tolist()
    bias = rng.integers(-999, 999, channels).tolist()
    plain = rng.random() < 0.5
    residuals = [] if plain else [ScaledResidual(float(rng.uniform(0.1, 1)))]
    spec = RequantSpec.from_scales(scales, bias, residuals=residuals, is_exact=is_exact)
    expected = spec.reference(sums, 1, [] if plain else [skip]).astype(np.int64)
    after = Passes.of(alu_passes(spec, channels, chosen))
    skips = pack_sums(skip, chosen).astype(np.int8)
    found = Passes(after.passes, {**after.values, "skip": skips}, after.immediates)
    applied = found.applied(pack_sums(sums, chosen))
    np.testing.assert_array_equal(unpack_data(applied, sums.shape), expected)


def _requantised(multiplier: int, shift: int, addend: int) -> Match:
    numbers = {"multiplier": multiplier, "addend": addend}
    constants = {name: Constant(np.array([number])) for name, number in numbers.items()}
    given = Requantise(shift, -128, 127)
    call = Call(OPERATORS["requantise"], (Var("acc"), *constants.values()), given)
    return Match((Let("y", call),), constants)


def test_the_specification_of_a_match() -> None:
    found = requantisation(_requantised(5, 4, 8), 1 << 12)
    assert found == RequantSpec(5, 8, 4, -128, 127, 1 << 12)


def test_what_is_not_exact_is_refused() -> None:
    """So many sums are not clipped that their products exceed 32 bits."""
    spec = requantisation(_requantised(30843466, 26, 22533), 26843619)
    with pytest.raises(Refusal, match=r"^not exact in 32 bits: acc \* M \+ C, M up to "):
        alu_passes(spec, 1, PYNQ)


def test_numbers_that_no_specification_has_are_refused() -> None:
    with pytest.raises(Refusal, match=r"^multiplier is -1: it has to lie in 0\.\."):
        requantisation(_requantised(-1, 26, 22533), 26843619)
