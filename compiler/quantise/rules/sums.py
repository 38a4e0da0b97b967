"""What is done to sums before they are int8 again: a bias, a residual, limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from compiler.graph.constant import Constant
from compiler.graph.nodes import Atom, Call
from compiler.graph.operators.elementwise import Clip
from compiler.ir.dtypes import INT8, INT32
from compiler.quantise.fold_affine import affine_of, by_channel
from compiler.quantise.forms import Sums
from compiler.quantise.walk import Rule, Walk, attributes_of
from compiler.quantise.weights import LARGEST_BIAS

__all__ = ["SUMS"]


def _add(walk: Walk, name: str, call: Call) -> bool:
    left, right = call.args
    for sums, other in ((left, right), (right, left)):
        form = walk.form(sums)
        if isinstance(form, Sums) and isinstance(other, Constant):
            return _bias(walk, name, sums, form, other)
    if isinstance(left, Constant) or isinstance(right, Constant):
        return False
    if walk.type(left) != walk.type(right):
        return False
    for sums, other in ((left, right), (right, left)):
        form = walk.form(sums)
        if isinstance(form, Sums) and form.plain and walk.once(sums):
            skip = walk.small(other)
            if skip is not None:
                return walk.set_form(name, replace(form, skip=skip))
    one = walk.small(left) if walk.may_be_small(right) else None
    if one is None:
        return False
    skip = walk.small(right)
    return walk.set_form(name, replace(walk.sums_of(one), skip=skip))


def _bias(walk: Walk, name: str, atom: Atom, sums: Sums, added: Constant) -> bool:
    """A number for each channel, added to sums."""
    numbers = by_channel(added, walk.type(atom).shape)
    if numbers is None or not sums.plain or not walk.once(atom):
        return False
    units = np.rint(numbers / sums.scales)
    if not (np.abs(units) + np.abs(sums.bias) <= INT32.high).all():
        return False
    return walk.set_form(name, replace(sums, bias=sums.bias + units.astype(np.int64)))


def _total(walk: Walk, name: str, call: Call) -> bool:
    return len(call.args) == 2 and _add(walk, name, call)


def _batch_norm(walk: Walk, name: str, call: Call) -> bool:
    """Where no layer is before it whose weights could take it."""
    found = affine_of(call, walk.types)
    if found is None or not found.factor.all():
        return False
    small = walk.small(found.data)
    if small is None:
        return False
    sums = walk.sums_of(small)
    scales = small.scale.step * np.abs(found.factor)
    signs = np.sign(found.factor).astype(np.int64)
    bias = np.rint(found.addend / scales) + signs * sums.bias
    if not (np.abs(bias) <= LARGEST_BIAS).all():
        return False
    acc = sums.acc
    if (signs < 0).any():
        # Multipliers of sums are never negative.
        shape = (-1, *(1,) * (len(walk.type(found.data).shape) - 2))
        flips = Constant(signs.astype(np.int32).reshape(shape))
        acc = walk.builder.call(name, "_acc", "multiply", [acc, flips])
    return walk.set_form(name, replace(sums, acc=acc, scales=scales, bias=bias.astype(np.int64)))


def _relu(walk: Walk, name: str, call: Call) -> bool:
    return _clipped(walk, name, call.args[0], 0.0, None)


def _clip(walk: Walk, name: str, call: Call) -> bool:
    given = attributes_of(call, Clip)
    low = None if given.min is None else float(given.min)
    high = None if given.max is None else float(given.max)
    return _clipped(walk, name, call.args[0], low, high)


def _clipped(walk: Walk, name: str, data: Atom, low: float | None, high: float | None) -> bool:
    form = walk.form(data)
    if isinstance(form, Sums):
        return walk.set_form(name, form.within(low, high))
    small = walk.small(data) if form is not None or walk.is_small(data) else None
    if small is None:
        return False
    limits = [
        None if each is None else min(max(small.scale.nearest(each), INT8.low), INT8.high)
        for each in (low, high)
    ]
    clipped = walk.builder.call(name, "_int8", "clip", [small.var], Clip(*limits))
    return walk.set_own(name, clipped, small.scale)


SUMS: Mapping[str, Rule] = MappingProxyType(
    {"add": _add, "batch_norm": _batch_norm, "clip": _clip, "relu": _relu, "total": _total}
)
