"""Tensor instructions of the machine's features: behaviours and steps, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.verify import verify
from tandem.compiler.machines.accelerator.intrinsics.base import (
    BINARY,
    AluStep,
    RequantiseStep,
    TensorInstruction,
    fill,
)
from tandem.compiler.machines.accelerator.intrinsics.extensions import (
    alu_input,
    extension_instructions,
    move_input,
    parameter_word,
    requantise,
    requantise_add,
)
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.streams import Array

CONFIGS = tuple(machine(name) for name in ("extended", "extended_batch"))
CONFIG = CONFIGS[0]
OPERANDS, REQUANTISE = Feature.INPUT_OPERANDS, Feature.REQUANTISE


def run(instruction: TensorInstruction, *arrays: Array) -> Array:
    verify(instruction.function)
    (found,) = interpreter.run(instruction.function, arrays)
    return found


Drawn = tuple[np.random.Generator, NDArray[np.int32], NDArray[np.int8], NDArray[np.int64]]


def drawn(config: HardwareConfig, seed: int) -> Drawn:
    """Accumulators, bytes, and a word of parameters for each channel."""
    rng, shape = np.random.default_rng(seed), (config.batch, config.block_out)
    words = [
        parameter_word(
            int(rng.integers(1 << 16)),
            int(rng.integers(-(1 << 31), 1 << 31)),
            int(rng.integers(32)),
        )
        for _ in range(config.block_out)
    ]
    acc = rng.integers(-(1 << 31), 1 << 31, shape, np.int64) >> rng.integers(0, 31, shape)
    inp = rng.integers(-128, 128, shape, np.int8)
    return rng, acc.astype(np.int32), inp, np.array(words, np.int64)


@pytest.mark.parametrize(
    ("features", "names"),
    [
        ((), []),
        ((Feature.OVERWRITE,), []),
        (
            (OPERANDS,),
            [*(f"alu_{op.name.lower()}_inp" for op in BINARY), "alu_move_inp"],
        ),
        ((REQUANTISE,), ["requantise"]),
    ],
)
def test_instructions_come_with_their_features(
    features: tuple[Feature, ...], names: list[str]
) -> None:
    config = CONFIG.replace(features=frozenset(features))
    found = extension_instructions(config)
    assert [each.name for each in found] == names
    assert all(each.features <= config.features for each in found)
    known = {each.name for each in AcceleratorTarget.of(config).instructions}
    assert {*names} <= known


def test_both_features_give_one_more() -> None:
    assert extension_instructions(CONFIG)[-1].name == "requantise_add"


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: str(config.name))
def test_operands_in_inp_are_bytes_with_a_sign(op: AluOp, config: HardwareConfig) -> None:
    _, acc, inp, _ = drawn(config, 7)
    inp = np.clip(inp, -31, 31) if op is AluOp.SHR else inp
    found = run(alu_input(config, op), acc, inp)
    np.testing.assert_array_equal(found, op.apply(acc, inp.astype(np.int32)))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: str(config.name))
def test_moves(config: HardwareConfig) -> None:
    _, _, inp, _ = drawn(config, 8)
    np.testing.assert_array_equal(run(move_input(config), inp), inp)


@given(seed=st.integers(0, 2**32 - 1), config=st.sampled_from(CONFIGS))
def test_requantisation_is_exact(seed: int, config: HardwareConfig) -> None:
    """Whatever the sums: 50 bits hold them."""
    rng, acc, inp, words = drawn(config, seed)
    low, high = sorted(int(each) for each in rng.integers(-128, 128, 2))
    scale = int(rng.integers(1 << 24))
    limits = np.array(low, np.int32), np.array(high, np.int32)
    multiplier, addend, shift = words >> 32 & 0xFFFF, words.astype(np.int32), words >> 48
    sums = acc.astype(np.int64) * multiplier + addend
    found = run(requantise(config), acc, words, *limits)
    np.testing.assert_array_equal(found, np.clip(sums >> shift, low, high))
    more = sums + inp.astype(np.int64) * scale
    found = run(requantise_add(config), acc, words, inp, *limits, np.array(scale, np.int32))
    np.testing.assert_array_equal(found, np.clip(more >> shift, low, high))


def test_words_of_parameters() -> None:
    assert parameter_word(0xABCD, -2, 31) == 31 << 48 | 0xABCD << 32 | 0xFFFFFFFE
    raw = np.array([parameter_word(3, 5, 7)], "<i8").tobytes()
    assert raw == bytes([5, 0, 0, 0, 3, 0, 7, 0])


def test_bits_beyond_the_shift_are_ignored() -> None:
    _, acc, _, words = drawn(CONFIG, 9)
    limits = np.array(-128, np.int32), np.array(127, np.int32)
    more = words | np.int64(0b10100000) << 48 | np.int64(77) << 56
    np.testing.assert_array_equal(
        run(requantise(CONFIG), acc, more, *limits), run(requantise(CONFIG), acc, words, *limits)
    )


def test_machines_with_moves_fill_in_one_step() -> None:
    assert fill(CONFIG, -128).steps == (AluStep(AluOp.MOVE, "C", -128),)
    assert len(fill(CONFIG.replace(features=frozenset()), -128).steps) == 2


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (RequantiseStep("C", "A", "L", "H"), "A, the parameters, is in acc, not in par$"),
        (RequantiseStep("C", "P", "A", "H"), "A, an immediate, is in acc, not in imm$"),
        (RequantiseStep("A", "P", "L", "H"), "requantise_add changes A; its output is C$"),
        (
            RequantiseStep("C", "P", "L", "H", "A", "N"),
            "A, an operand of the ALU, is in acc, not in inp$",
        ),
    ],
)
def test_operands_of_other_places_are_refused(step: RequantiseStep, message: str) -> None:
    function = requantise_add(CONFIG).function
    with pytest.raises(LoweringError, match=message):
        TensorInstruction(function, "A", (step,))
