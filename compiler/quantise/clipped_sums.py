"""One scale for the sums of a layer and for what clips them, if several of these become int8."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tandem.compiler.graph.nodes import Call, Function, Let, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.visit import all_lets, use_counts
from tandem.compiler.quantise.forms import Scale

_SUMS = frozenset(
    {
        *("conv2d", "dense", "gemm", "matmul"),
        *("average_pool", "global_average_pool", "reduce_mean"),
    }
)
_CLIPS = frozenset({"clip", "relu"})
_ADDITIONS = frozenset({"add", "total"})
LARGEST_RATIO = 4
"""A value gets a scale at most so many times its own: it loses two bits."""


def with_common_scales(function: Function, chosen: Mapping[str, Scale]) -> dict[str, Scale]:
    """The chosen scales, of which sums and what clips them share the coarsest.

    An accelerator gives sums as int8 once: with one scale, a ReLU or clip of them is made from this
    tensor without another rounding. It would have their step in any case. Values that are clipped
    to a small part of the sums' range keep a finer scale of their own; of those that are all zeros,
    as a ReLU of negative sums, nothing is known, and they take the others' scale.
    """
    families: dict[str, list[str]] = {}
    for name, sums in _read(function).items():
        if name in chosen:
            families.setdefault(sums, []).append(name)
    found = dict(chosen)
    for sums, names in families.items():
        scales = [chosen[name] for name in names]
        known = [scale for scale in scales if not scale.of_zeros] or scales
        coarsest = max(known, key=lambda scale: scale.step)
        for name, own in zip(names, scales, strict=True):
            if name == sums or own.of_zeros or own.step * LARGEST_RATIO >= coarsest.step:
                found[name] = coarsest
    return found


def _read(function: Function) -> dict[str, str]:
    """The values that are sums or clip them, and have other users than clips, with the name of the
    sums."""
    uses = use_counts(function.body)
    other_uses = Counter(uses)
    sums: dict[str, str] = {}
    for let in all_lets(function.body):
        operator, operands = _called(let)
        if operator in _SUMS:
            sums[let.name] = let.name
        elif operator in _ADDITIONS:
            # A bias or a residual joins the accumulator of sums that have no other user.
            joined = [each for each in operands if sums.get(each) == each and uses[each] == 1]
            if joined:
                sums[let.name] = let.name
                other_uses[joined[0]] -= 1
        elif operator in _CLIPS and operands and operands[0] in sums:
            sums[let.name] = sums[operands[0]]
            other_uses[operands[0]] -= 1
    return {name: of for name, of in sums.items() if other_uses[name]}


def _called(let: Let) -> tuple[str, tuple[str, ...]]:
    """The operator that computes a value, and the names of its operands; "" for other values."""
    value = let.value
    if not isinstance(value, Call) or not isinstance(value.callee, OpSpec):
        return "", ()
    return value.callee.name, tuple(each.name for each in value.args if isinstance(each, Var))
