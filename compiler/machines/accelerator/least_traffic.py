"""What a layer has to move at least: each element of its tensors that matters, once."""

from __future__ import annotations

from fractions import Fraction

from tandem.compiler.machines.accelerator.lower import Stream
from tandem.compiler.machines.accelerator.planned_calls import PlannedCall, template_of


def needed_bytes(stream: Stream, call: PlannedCall) -> dict[str, Fraction]:
    """The fewest bytes of each tensor that the call moves to or from DRAM, by the tensor's name in
    the stream: elements that its result depends on are read once, the result is written once."""
    parts = template_of(call.plan).minimum_traffic(call.plan.workload)
    least: dict[str, Fraction] = {}
    for operand, tensor in call.named.items():
        part = parts.get(operand, Fraction(1)) * stream.tensors[tensor].size
        # A tensor that is bound to two operands is read once: take the larger fraction.
        least[tensor] = max(part, least.get(tensor, Fraction(0)))
    return least
