"""The chains of a network's layers as JSON, for the memory of judgements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem.compiler.machines.accelerator.discovery.chains import Chain, LayerChains
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainStep,
    Operand,
    Residual,
    Values,
)
from tandem.hw.operations import AluOp


def chains_to_json(layers: Sequence[LayerChains]) -> list[Any]:
    """A row for each layer: its name, vectors and chains."""
    return [
        [one.layer, one.vectors, [_steps_to_json(chain) for chain in one.chains]] for one in layers
    ]


def chains_from_json(rows: Sequence[Any]) -> tuple[LayerChains, ...]:
    """The layers of such rows."""
    return tuple(
        LayerChains(layer, vectors, tuple(map(_steps_from_json, chains)))
        for layer, vectors, chains in rows
    )


def _steps_to_json(chain: Chain) -> list[Any]:
    return [
        [step.op.name, *_operand_to_json(step.operand), step.identity, step.cut] for step in chain
    ]


def _steps_from_json(rows: Sequence[Any]) -> Chain:
    return tuple(
        ChainStep(
            AluOp[op],
            Residual(numbers[0]) if residual else Values(tuple(numbers)),
            identity,
            cut,
        )
        for op, residual, numbers, identity, cut in rows
    )


def _operand_to_json(operand: Operand) -> tuple[bool, list[int]]:
    """Whether it is a residual; and its numbers."""
    match operand:
        case Residual(multiplier=multiplier):
            return True, [int(multiplier)]
        case Values(numbers=numbers):
            return False, [*map(int, numbers)]
