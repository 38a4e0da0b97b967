"""Tensor instructions of a machine's own operations: where their second operands are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tandem.compiler.machines.accelerator.intrinsics.custom import custom_instructions
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.features import Feature


def operation(result: str, parameters: Mapping[str, str]) -> CustomOperation:
    return CustomOperation.from_json({"name": "OWN", "result": result, "parameters": parameters})


BINARY = operation("a ^ b", {})
BINARY_WITH_PARAMETER = operation("a + b >> shift", {"shift": "uint3"})
UNARY = operation("max(a, low)", {"low": "int8"})


@pytest.mark.parametrize(
    ("own", "features", "names"),
    [
        (UNARY, (), ["alu_own"]),
        (UNARY, (Feature.INPUT_OPERANDS,), ["alu_own"]),
        (BINARY, (), ["alu_own", "alu_own_imm"]),
        (BINARY, (Feature.INPUT_OPERANDS,), ["alu_own", "alu_own_imm", "alu_own_inp"]),
        # The immediate is the parameter's.
        (BINARY_WITH_PARAMETER, (), ["alu_own"]),
        (BINARY_WITH_PARAMETER, (Feature.INPUT_OPERANDS,), ["alu_own", "alu_own_inp"]),
    ],
)
def test_second_operands(
    own: CustomOperation, features: tuple[Feature, ...], names: list[str]
) -> None:
    config = HardwareConfig(features=frozenset(features), alu_operations=(own,))
    assert [each.function.name for each in custom_instructions(config)] == names


def test_a_machine_without_operations_has_none() -> None:
    assert not [*custom_instructions(HardwareConfig())]
