"""Quantisation rules of operators on pending accumulators: bias, residual, clipping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Call
from tandem.compiler.graph.operators.elementwise import Clip
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.quantise.fold_affine import affine_of, by_channel
from tandem.compiler.quantise.forms import PendingAccumulator
from tandem.compiler.quantise.rewriter import (
    Rewriter,
    attributes_of,
)
from tandem.compiler.quantise.rule import (
    Rule,
)
from tandem.compiler.quantise.rules.refusals import never_reached, not_int8
from tandem.compiler.quantise.weights import LARGEST_BIAS


def _add(rewriter: Rewriter, name: str, call: Call) -> bool:
    left, right = call.args
    for operand, other in ((left, right), (right, left)):
        form = rewriter.form(operand)
        if isinstance(form, PendingAccumulator) and isinstance(other, Constant):
            return _bias(rewriter, name, operand, form, other)
    if isinstance(left, Constant) or isinstance(right, Constant):
        return rewriter.refuse(name, "it adds a constant to what is no sum of a layer")
    if rewriter.type(left) != rewriter.type(right):
        types = f"{rewriter.type(left)} and {rewriter.type(right)}"
        return rewriter.refuse(name, f"it adds {types}: operands of one shape would help")
    for operand, other in ((left, right), (right, left)):
        form = rewriter.form(operand)
        if (
            isinstance(form, PendingAccumulator)
            and form.is_plain
            and rewriter.is_unshared(operand)
            and (residual := rewriter.int8(other)) is not None
        ):
            return rewriter.set_form(name, replace(form, residual=residual))
    if not rewriter.may_be_int8(right):
        return rewriter.refuse(name, not_int8(rewriter, "second operand", right))
    first = rewriter.int8(left)
    if first is None:
        return rewriter.refuse(name, not_int8(rewriter, "first operand", left))
    residual = rewriter.int8(right)
    return rewriter.set_form(name, replace(rewriter.accumulator_of(first), residual=residual))


def _bias(
    rewriter: Rewriter, name: str, atom: Atom, pending: PendingAccumulator, added: Constant
) -> bool:
    """Adds a constant number for each channel to the bias of a pending accumulator."""
    numbers = by_channel(added, rewriter.type(atom).shape)
    if numbers is None:
        return rewriter.refuse(name, "the constant is not a finite number for each channel")
    if not pending.is_plain or not rewriter.is_unshared(atom):
        return rewriter.refuse(
            name, "the sums that it adds a constant to are clipped before, or read elsewhere, too"
        )
    units = np.rint(numbers / pending.scales)
    if not (np.abs(units) + np.abs(pending.bias) <= INT32.high).all():
        return rewriter.refuse(name, "the constant exceeds 32 bits in units of the sums")
    bias = pending.bias + units.astype(np.int64)
    return rewriter.set_form(name, replace(pending, bias=bias))


def _total(rewriter: Rewriter, name: str, call: Call) -> bool:
    if len(call.args) != 2:
        return rewriter.refuse(name, f"it adds {len(call.args)} values, and two are taken")
    return _add(rewriter, name, call)


def _batch_norm(rewriter: Rewriter, name: str, call: Call) -> bool:
    """Rewrites a normalisation that was not folded into the weights of a layer.

    A channel whose factor is tiny beside its addend gets a larger factor, with which the addend has
    24 bits: int8 data then move the result by at most 2^-17 of the addend.
    """
    found = affine_of(call, rewriter.types)
    if found is None:
        return rewriter.refuse(name, "its parameters are computed when the network runs")
    data = rewriter.int8(found.data)
    if data is None:
        return rewriter.refuse(name, never_reached(rewriter, "data", found.data))
    pending = rewriter.accumulator_of(data)
    least = np.abs(found.addend) / LARGEST_BIAS
    scales = np.maximum(data.scale.step * np.abs(found.factor), least)
    signs = np.where(found.factor < 0, -1, 1)
    # Without factor and addend, the channel is 0, whatever its bias.
    bias = np.rint(found.addend / np.where(scales, scales, 1)) + signs * pending.bias
    acc = pending.acc
    if (signs < 0).any():
        # Multipliers of accumulators are never negative.
        shape = (-1, *(1,) * (len(rewriter.type(found.data).shape) - 2))
        flips = Constant(signs.astype(np.int32).reshape(shape))
        acc = rewriter.builder.call(name, "_acc", "multiply", [acc, flips])
    pending = replace(pending, acc=acc, scales=scales, bias=bias.astype(np.int64))
    return rewriter.set_form(name, pending)


def _relu(rewriter: Rewriter, name: str, call: Call) -> bool:
    return _clipped(rewriter, name, call.args[0], 0.0, None)


def _clip(rewriter: Rewriter, name: str, call: Call) -> bool:
    limits = attributes_of(call, Clip)
    low = None if limits.min is None else float(limits.min)
    high = None if limits.max is None else float(limits.max)
    return _clipped(rewriter, name, call.args[0], low, high)


def _clipped(
    rewriter: Rewriter, name: str, data: Atom, low: float | None, high: float | None
) -> bool:
    form = rewriter.form(data)
    if isinstance(form, PendingAccumulator):
        if low is None and high is None:
            rewriter.repeats(name, data)
        return rewriter.set_form(name, form.within(low, high))
    value = rewriter.int8(data) if form is not None or rewriter.is_int8(data) else None
    if value is None:
        return rewriter.refuse(name, not_int8(rewriter, "data", data))
    limits = [
        None if limit is None else min(max(value.scale.nearest(limit), INT8.low), INT8.high)
        for limit in (low, high)
    ]
    clipped = rewriter.builder.call(name, "_int8", "clip", [value.var], Clip(*limits))
    return rewriter.set_int8(name, rewriter.builder.int8_value(name, clipped, value.scale))


ACCUMULATORS: Mapping[str, Rule[Rewriter]] = MappingProxyType(
    {
        "add": Rule(_add, on_demand=True, extends=True),
        "batch_norm": Rule(_batch_norm, lambda call: call.args[:1], on_demand=True),
        "clip": Rule(_clip, on_demand=True, extends=True),
        "relu": Rule(_relu, on_demand=True, extends=True),
        "total": Rule(_total, on_demand=True, extends=True),
    }
)
