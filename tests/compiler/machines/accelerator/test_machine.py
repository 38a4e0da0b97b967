from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import cast

import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.machines.accelerator.intrinsics.base import (
    AluStep,
    TensorInstruction,
    alu_value,
    base_instructions,
    element_program,
    fill,
    immediate,
)
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TINY = machine("tiny")
TARGET = AcceleratorTarget.of(TINY)


class Later(Enum):
    """Features: no configuration has one yet."""

    WIDE = "wide"
    ANGULAR = "angular"


def doubling(name: str = "double", *features: Later) -> TensorInstruction:
    function = element_program(TINY, name, lambda a: alu_value(AluOp.ADD, a, a), "A")
    step = AluStep(AluOp.ADD, "C", "A")
    return TensorInstruction(function, "A", (step,), frozenset(cast(Feature, _) for _ in features))


def test_instructions_by_name() -> None:
    for intrinsic in base_instructions(TINY):
        assert TARGET.instruction(intrinsic.name) == intrinsic
    assert TARGET.instruction("alu_add_imm_m7") == immediate(TINY, AluOp.ADD, -7)
    assert TARGET.instruction("fill_9") == fill(TINY, 9)


def test_their_sizes_are_the_configurations() -> None:
    """Equal names do not make equal instructions."""
    mine, other = (AcceleratorTarget.of(machine(name)) for name in ("tiny", "batch2"))
    assert mine.instruction("gemm") != other.instruction("gemm")
    assert other.instruction("fill_1").function.outputs[0].shape == (2, 16)


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(
        LoweringError,
        match=r"^tiny has no tensor instruction conv; it has gemm, alu_min, alu_max, alu_add, "
        r"alu_shr, alu_mul, alu_min_imm, alu_max_imm, alu_add_imm, alu_shr_imm, alu_mul_imm, "
        r"alu_<op>_imm_<n> and fill_<n>$",
    ):
        TARGET.instruction("conv")
    with pytest.raises(LoweringError, match=r"has no tensor instruction double; .* fill_<n>$"):
        TARGET.instruction("double")


def test_further_ones_come_beside_the_others() -> None:
    more = TARGET.with_instructions(doubling(), doubling("again"))
    assert more.instruction("double") == doubling()
    assert more.instruction("again") == doubling("again")
    assert more.instructions[:-2] == TARGET.instructions
    assert more.instruction("fill_3") == TARGET.instruction("fill_3")
    assert TARGET == AcceleratorTarget.of(TINY), "a target is a value"


@pytest.mark.parametrize(
    "names", [("alu_add",), ("double", "double"), ("fill_3",), ("alu_shr_imm_4",), ("gemm",)]
)
def test_names_that_are_taken_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(LoweringError, match=f"^there is an instruction {names[-1]} already$"):
        TARGET.with_instructions(*(doubling(each) for each in names))


def test_names_that_were_given_before_are_taken() -> None:
    more = TARGET.with_instructions(doubling())
    with pytest.raises(LoweringError, match=r"^there is an instruction double already$"):
        more.with_instructions(doubling())


def test_features_that_a_configuration_does_not_have_are_refused() -> None:
    with pytest.raises(
        LoweringError, match=r"^double needs angular, wide, which tiny does not have$"
    ):
        TARGET.with_instructions(doubling("double", Later.WIDE, Later.ANGULAR))
    having = replace(TARGET, config=TINY.replace(features=frozenset({Later.WIDE})))
    assert having.with_instructions(doubling("double", Later.WIDE)).instruction("double")
    with pytest.raises(LoweringError, match=r"^double needs angular, which tiny"):
        having.with_instructions(doubling("double", Later.WIDE, Later.ANGULAR))


def test_which_memory_a_scope_is() -> None:
    found = {
        scope: TARGET.memory(scope) for scope in (OnChip.INP, OnChip.WGT, OnChip.ACC, Scope.GLOBAL)
    }
    assert found == {
        OnChip.INP: MemoryId.INP,
        OnChip.WGT: MemoryId.WGT,
        OnChip.ACC: MemoryId.ACC,
        Scope.GLOBAL: None,
    }


def test_parameters_lie_in_par_where_there_is_one() -> None:
    assert AcceleratorTarget.of(machine("extended")).memory(OnChip.PAR) is MemoryId.PAR
    with pytest.raises(LoweringError, match=r"^a buffer cannot lie in par of the accelerator: inp"):
        TARGET.memory(OnChip.PAR)


@pytest.mark.parametrize("scope", [Scope.LOCAL, Scope("uop"), Scope("moon")])
def test_scopes_that_buffers_cannot_have_are_refused(scope: Scope) -> None:
    with pytest.raises(
        LoweringError,
        match=f"^a buffer cannot lie in {scope.value} of the accelerator: inp, wgt, acc and global",
    ):
        TARGET.memory(scope)
