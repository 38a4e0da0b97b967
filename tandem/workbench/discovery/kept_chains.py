"""The chains of a network's layers as JSON, for the memory of judgements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from tandem.compiler.machines.accelerator.discovery.chains import Chain, LayerChains
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainStep,
    Operand,
    Residual,
    ResidualSum,
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
        ChainStep(AluOp[op], _operand_from_json(numbers, residual), identity, cut)
        for op, numbers, residual, identity, cut in rows
    )


def _operand_to_json(operand: Operand) -> tuple[list[int] | None, list[int] | None]:
    """The numbers of channels, and the multiplier and limits of a residual: one of them, or both
    of a sum."""
    match operand:
        case Values(numbers=numbers):
            return [*map(int, numbers)], None
        case Residual(multiplier=multiplier, low=low, high=high):
            return None, [int(multiplier), low, high]
        case ResidualSum(values=values, residual=residual):
            return _operand_to_json(values)[0], _operand_to_json(residual)[1]
        case _:
            assert_never(operand)


def _operand_from_json(numbers: Sequence[int] | None, residual: Sequence[int] | None) -> Operand:
    if residual is None:
        assert numbers is not None, "written above"
        return Values(tuple(numbers))
    if numbers is None:
        return Residual(*residual)
    return ResidualSum(Values(tuple(numbers)), Residual(*residual))
