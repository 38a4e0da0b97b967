"""The passes of a requantisation that ends a match, and their numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError, Refusal
from tandem.compiler.graph.operators.quantised import Requantise
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.machines.accelerator.templates.alu_lowering import (
    AluOperation,
    lower_requantisation,
    requantisation_chains,
)
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainPass,
    ResidualSum,
    Values,
    chain_cost,
    cover,
    is_immediate,
)
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    Residual as ChainResidual,
)
from tandem.compiler.machines.accelerator.templates.cut_products import cut_chains
from tandem.compiler.machines.accelerator.templates.epilogue import (
    AluPass,
    EpiloguePass,
    OperandKind,
)
from tandem.compiler.machines.accelerator.templates.noted_requantisations import note
from tandem.compiler.machines.accelerator.templates.packing import pack_channels
from tandem.compiler.machines.accelerator.templates.parameter_passes import parameter_pass
from tandem.compiler.plan.pattern import Apply, Match, Operand
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.requantisation import RequantSpec, Residual
from tandem.hw.config import HardwareConfig
from tandem.hw.operations import AluOp


def requantise_pattern(sums: Apply, skip_rank: int | None = None) -> Apply:
    """The pattern of requantised sums; with `skip_rank`, plus a skip tensor of that rank."""
    operands = (sums, Operand("multiplier", constant=True), Operand("addend", constant=True))
    if skip_rank is None:
        return Apply("requantise", operands)
    skip = Operand("skip", INT8, (skip_rank,)), Operand("factor", constant=True)
    return Apply("requantise_add", (*operands, *skip))


def requantise_passes(
    found: KernelMatch, largest: int, config: HardwareConfig
) -> tuple[tuple[EpiloguePass, ...], Arguments]:
    """The passes and numbers of the requantisation that ends a match: `requantisation`, which has
    the parameters, and `epilogue_passes`; both may raise `Refusal`."""
    return epilogue_passes(requantisation(found.match, largest), found.result_shape[1], config)


def requantisation(match: Match, largest: int) -> RequantSpec:
    """The specification of the `requantise` or `requantise_add` at the end of a match.

    Parameters
    ----------
    largest
        The greatest absolute value of a sum.

    Raises
    ------
    Refusal
        A parameter is out of range for `RequantSpec`.
    """
    residual = "skip" in match.operands
    given = match.attributes("requantise_add" if residual else "requantise", Requantise)
    multiplier, addend = (_per_channel(match, each) for each in ("multiplier", "addend"))
    try:
        residuals: tuple[Residual, ...] = ()
        if residual:
            residuals = (Residual(int(match.constant("factor").array.item())),)
        limits = given.low, given.high, largest
        return RequantSpec(multiplier, addend, given.shift, *limits, residuals)
    except QuantisationError as error:
        raise Refusal(str(error)) from error


def epilogue_passes(
    spec: RequantSpec, channels: int, config: HardwareConfig
) -> tuple[tuple[EpiloguePass, ...], Arguments]:
    """The passes that compute `spec`, and their arguments: a `RequantisePass` where the machine has
    it and the numbers fit, else `alu_passes`, which may raise `Refusal`."""
    note(spec)
    found = parameter_pass(spec, channels, config)
    if found is None:
        return alu_passes(spec, channels, config)
    return (found[0],), found[1]


def alu_passes(
    spec: RequantSpec, channels: int, config: HardwareConfig
) -> tuple[tuple[AluPass, ...], Arguments]:
    """The ALU passes that compute `spec`, and their arguments.

    Parameters
    ----------
    channels
        Number of output channels, which are padded to blocks.

    Raises
    ------
    Refusal
        `spec` cannot be computed exactly in 32 bits, or has several residuals.
    """
    if len(spec.residuals) > 1:
        raise Refusal(f"{len(spec.residuals)} residuals: an epilogue adds one at most")
    lowered = lower_requantisation(spec)
    if config.alu_operations:
        return _covered_passes(spec, channels, config)
    if not spec.residuals:
        return _passes((*lowered.accumulator, *lowered.output), channels, config, "operand")
    (skip,) = lowered.residuals
    sums, skips, totals = (
        _passes(operations, channels, config, f"operand_{part}")
        for part, operations in (
            ("sum", lowered.accumulator),
            ("skip", skip),
            ("total", lowered.output),
        )
    )
    added = AluPass(AluOp.ADD, "skip", OperandKind.ELEMENT, INT8, skips[0])
    parts = [each for _, each in (sums, skips, totals)]
    return (*sums[0], added, *totals[0]), Arguments(
        {name: value for each in parts for name, value in each.tensors.items()},
        {name: value for each in parts for name, value in each.immediates.items()},
    )


def _covered_passes(
    spec: RequantSpec, channels: int, config: HardwareConfig
) -> tuple[tuple[AluPass, ...], Arguments]:
    """As `alu_passes`, on a machine with operations of its own."""
    operations = config.alu_operations
    chains = (*requantisation_chains(spec), *cut_chains(spec, operations))
    covers = (cover(steps, operations) for steps in chains)
    best = min((found for found in covers if found is not None), key=chain_cost)
    return _of_chain(best, channels, config, "operand")


def _of_chain(
    chain: Sequence[ChainPass], channels: int, config: HardwareConfig, prefix: str
) -> tuple[tuple[AluPass, ...], Arguments]:
    """Passes of a chain, and their arguments, whose names begin with `prefix`."""
    passes: list[AluPass] = []
    tensors: dict[str, NDArray[np.generic]] = {}
    immediates: dict[str, int] = {}
    for number, step in enumerate(chain):
        name, parameters = f"{prefix}_{number}", None
        if step.parameters is not None:
            parameters = name.replace("operand", "parameters", 1)
            immediates[parameters] = step.parameters
        match step.second:
            case ChainResidual() | ResidualSum():
                before, numbers = _of_chain(step.ahead, channels, config, f"{name}_skip")
                kind, dtype, operand = OperandKind.ELEMENT, INT8, "skip"
                tensors |= numbers.tensors
                immediates |= numbers.immediates
            case Values(numbers=values):
                before, dtype, operand = (), INT32, name
                common = step.second.common
                if parameters is None and common is not None and is_immediate(common):
                    kind, immediates[name] = OperandKind.IMMEDIATE, common
                else:
                    kind, tensors[name] = OperandKind.CHANNEL, _per_lane(values, channels, config)
            case None:
                kind, before, dtype, operand = OperandKind.NONE, (), INT32, ""
        passes.append(AluPass(step.op, operand, kind, dtype, before, parameters))
    return tuple(passes), Arguments(tensors, immediates)


def _per_lane(values: Sequence[int], channels: int, config: HardwareConfig) -> NDArray[np.generic]:
    """A value for each channel, or one for all, as an operand in ACC."""
    spread = np.broadcast_to(np.array(values, np.int32), (channels,)).copy()
    return pack_channels(spread, config)


def _passes(
    operations: Sequence[AluOperation], channels: int, config: HardwareConfig, prefix: str
) -> tuple[tuple[AluPass, ...], Arguments]:
    passes: list[AluPass] = []
    tensors: dict[str, NDArray[np.generic]] = {}
    immediates: dict[str, int] = {}
    for number, step in enumerate(operations):
        name = f"{prefix}_{number}"
        if isinstance(step.operand, int):
            immediates[name] = step.operand
            passes.append(AluPass(step.op, name))
        else:
            tensors[name] = _per_lane(step.operand, channels, config)
            passes.append(AluPass(step.op, name, OperandKind.CHANNEL))
    return tuple(passes), Arguments(tensors, immediates)


def _per_channel(match: Match, operand: str) -> int | tuple[int, ...]:
    flat = match.constant(operand).array.reshape(-1).tolist()
    return int(flat[0]) if len(flat) == 1 else tuple(int(each) for each in flat)
