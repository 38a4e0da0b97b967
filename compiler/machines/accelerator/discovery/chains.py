"""The chains of ALU steps that a network's vectors go through, layer by layer.

A layer that requantises has several chains that all compute the same (`requantisation_chains`), of
which a machine takes the one with the fewest passes; so they are gathered all. Chains with products
that are cut (`cut_products`) are those of the network quantised for a machine that has such an
operation: that machine is a probe. Another one has them with an addend in the factor's operand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import prod
from typing import TypeAlias

from tandem.compiler.graph.nodes import Call, Function, FunctionKind
from tandem.compiler.graph.passes import transform
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.machines.accelerator.backend import StreamBackend
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.planned_calls import PlannedCall, template_of
from tandem.compiler.machines.accelerator.templates.alu_lowering import requantisation_chains
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainStep,
    Residual,
    Values,
)
from tandem.compiler.machines.accelerator.templates.cut_products import cut_chains
from tandem.compiler.machines.accelerator.templates.noted_requantisations import noted
from tandem.compiler.machines.accelerator.templates.parameter_passes import parameter_pass
from tandem.compiler.plan.target import Target
from tandem.compiler.requantisation import RequantSpec
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.operations import AluOp

Chain: TypeAlias = tuple[ChainStep, ...]


FACTOR_BITS = 16
"""Bits of the factors for each channel of products that are cut."""
FIELD_BITS = 15
"""The same where the addend has the other bits of the operand: of an addend and of a residual's
factor, which have 22 or 23 bits behind the point, seven are left at least."""
PROBED_CUTS = (6, 8, 10)
"""Numbers of low bits that products of the probe lose."""


def probes_of(config: HardwareConfig) -> tuple[HardwareConfig, ...]:
    """The machines that networks are quantised for to see what products that are cut would bring,
    alone, and with an addend in the same operand; they have no other operations of their own."""
    high = f"(b >> {FIELD_BITS} << {FIELD_BITS})"
    terms = f"a * uint{FACTOR_BITS}(b)", f"a * uint{FIELD_BITS}(b) + {high}"
    return tuple(_probe(config, term) for term in terms)


def _probe(config: HardwareConfig, term: str) -> HardwareConfig:
    operations = (
        {"name": f"CUT_{cut}", "result": f"int32({term} >> {cut})"} for cut in PROBED_CUTS
    )
    return config.replace(alu_operations=(*map(CustomOperation.from_json, operations),))


@dataclass(frozen=True, slots=True)
class LayerChains:
    """What one requantisation of a layer has to do to each of its vectors.

    Attributes
    ----------
    layer
        Its name in reports.
    vectors
        Accumulators, of all lanes, that go through one of the chains.
    chains
        The steps, alternatively.
    """

    layer: str
    vectors: int
    chains: tuple[Chain, ...]


def layer_chains(function: Function, target: Target[AcceleratorTarget]) -> tuple[LayerChains, ...]:
    """The chains of a simplified network's layers on the base instruction set, in their order."""
    return tuple(_gathered(function, target, requantisation_chains))


def probed_chains(function: Function, target: Target[AcceleratorTarget]) -> tuple[LayerChains, ...]:
    """The chains with products that are cut, of a network quantised for a probe: those with factors
    that an operand of the probe's operations has."""
    operations = target.machine.config.alu_operations

    def chains_of(spec: RequantSpec) -> Iterator[Chain]:
        for chain in cut_chains(spec, operations):
            match chain[0].operand:
                case Values(numbers=numbers) if max(numbers) >> FACTOR_BITS == 0:
                    yield chain

    return tuple(_gathered(function, target, chains_of))


def packable(steps: Sequence[ChainStep]) -> bool:
    """Whether steps are a product that is cut and a sum of numbers, and maybe of the residual,
    which one operand for each element can have: the low `FIELD_BITS` are the factor."""
    product, *sums = steps
    cut = product.cut
    if cut is None or not 1 <= len(sums) <= 2 or any(step.op is not AluOp.ADD for step in sums):
        return False
    unit = 1 << max(FIELD_BITS - cut, 0)
    kinds = 0
    for step in sums:
        match step.operand:
            case Values(numbers=numbers):
                kinds += 1
            case Residual(multiplier=multiplier):
                numbers = (multiplier,)
            case _:
                return False
        if any(number % unit for number in numbers):
            return False
    match product.operand:
        case Values(numbers=factors):
            return kinds == 1 and 0 <= min(factors) and max(factors) >> FIELD_BITS == 0
        case _:
            return False


def joined(layers: Sequence[LayerChains], probed: Sequence[LayerChains]) -> tuple[LayerChains, ...]:
    """Layers with the chains of a probe beside their own. Where the probe has other layers, it says
    nothing of a layer."""
    theirs: dict[tuple[str, int], list[LayerChains]] = {}
    for one in probed:
        theirs.setdefault((one.layer, one.vectors), []).append(one)
    return tuple(
        replace(own, chains=(*own.chains, *found.pop(0).chains))
        if (found := theirs.get((own.layer, own.vectors)))
        else own
        for own in layers
    )


def _gathered(
    function: Function,
    target: Target[AcceleratorTarget],
    chains_of: Callable[[RequantSpec], Iterable[Chain]],
) -> Iterator[LayerChains]:
    backend = StreamBackend(target)
    function = transform(function, backend.passes())
    for one in (function, *function.definitions):
        for let in all_lets(one.body):
            match let.value:
                case Call(callee=Function(kind=FunctionKind.STREAM) as stream):
                    for call in backend.planned_stream(stream).calls:
                        yield from _of_call(call, target.machine, chains_of)


def _of_call(
    call: PlannedCall,
    machine: AcceleratorTarget,
    chains_of: Callable[[RequantSpec], Iterable[Chain]],
) -> Iterator[LayerChains]:
    with noted() as specs:
        template_of(call.plan).bind(call.plan.found, machine)
    elements = prod(call.type.stored.static_shape(call.name))
    vectors = -(-elements // machine.config.acc_lanes)
    channels = call.plan.found.result_shape[1]
    for spec in specs:
        if parameter_pass(spec, channels, machine.config) is not None:
            continue  # One pass does all.
        chains = dict.fromkeys(map(outlined, chains_of(spec)))
        yield LayerChains(call.source, vectors, (*chains,))


def outlined(steps: Chain) -> Chain:
    """The chain with a range of as few bits where channels have different numbers; low bits of
    addends that are zeros for a packed operand stay so."""
    summed = 1 + sum(1 for _ in takewhile(lambda step: step.op is AluOp.ADD, steps[1:]))
    cut = steps[0].cut
    zeros = max(FIELD_BITS - cut, 0) if cut is not None and packable(steps[:summed]) else 0
    return tuple(
        replace(step, operand=_extremes(step.operand, zeros if 0 < at < summed else 0))
        if isinstance(step.operand, Values)
        else step
        for at, step in enumerate(steps)
    )


def _extremes(values: Values, zeros: int) -> Values:
    low, high = min(values.numbers), max(values.numbers)
    if low == high:
        return Values((low,))
    return Values((_outwards(low, zeros), _outwards(high, zeros)))


def _outwards(number: int, zeros: int) -> int:
    """The number of as many bits that is farthest from 0, with as many low bits zeros."""
    bits = (1 << (number if number >= 0 else ~number).bit_length()) - 1
    return (bits if number >= 0 else ~bits) >> zeros << zeros
