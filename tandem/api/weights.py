"""The arguments of compressed weights that several functions have."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index as as_index
from typing import SupportsIndex

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.weight_kinds import DEFAULT_GROUP, GROUPS, WeightKind
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule
from tandem.workbench.arguments import choice
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError


def weight_options(
    weights: object,
    weights_of: object,
    group: SupportsIndex | None,
    max_loss: object,
    *,
    smooth: bool,
    calibrated: bool,
    quantised: bool,
) -> WeightOptions:
    """How weights are compressed, of the arguments of `tandem.compile`.

    Parameters
    ----------
    calibrated
        Whether inputs for calibration are given.
    quantised
        Whether the network is quantised.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    """
    kind = WeightKind(choice("weights", weights, [each.value for each in WeightKind]))
    rules = _rules(weights_of)
    plain = {kind, *(rule.kind for rule in rules)} == {WeightKind.INT8}
    if plain and (group is not None or max_loss is not None):
        raise ArgumentValueError("weight_group and max_loss are for other weights than 'int8'")
    if group is not None and group not in GROUPS:
        raise ArgumentValueError(
            f"weight_group is {group!r}: {', '.join(map(str, GROUPS))} are allowed"
        )
    if max_loss is not None and (not isinstance(max_loss, int | float) or not max_loss >= 0):
        raise ArgumentValueError(f"max_loss is {max_loss!r}: decibels, 0 or more, are allowed")
    if plain and not rules and not smooth:
        return INT8_WEIGHTS
    if not quantised:
        raise ArgumentValueError("weights and smooth are for quantize='multiplier' and 'pow2'")
    size = DEFAULT_GROUP if group is None else as_index(group)
    loss = None if max_loss is None else float(max_loss)
    return WeightOptions(kind, size, loss, calibrated, bool(smooth), rules)


def _rules(weights_of: object) -> tuple[WeightRule, ...]:
    """The formats of layers by name, checked."""
    if weights_of is None:
        return ()
    if not isinstance(weights_of, Mapping):
        raise ArgumentTypeError(
            f"weights_of is {type(weights_of).__name__}: a mapping from names of layers to formats "
            "is allowed"
        )
    for name, form in weights_of.items():
        if not isinstance(name, str) or not isinstance(form, str):
            raise ArgumentTypeError(f"weights_of has {name!r}: {form!r}; strings are allowed")
    try:
        return tuple(WeightRule.of(name, form) for name, form in weights_of.items())
    except QuantisationError as error:
        raise ArgumentValueError(f"weights_of: {error}") from None
