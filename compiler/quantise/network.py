"""Quantisation of a network, with calibrated scales or with the scales of a QDQ network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compiler.errors import QuantisationError
from compiler.graph.evaluate import NestedArray, Runner
from compiler.graph.infer import infer
from compiler.graph.nodes import Call, Function
from compiler.graph.opspec import OpSpec
from compiler.graph.passes import (
    EliminateCommon,
    EliminateDead,
    FoldConstants,
    FoldNormalisation,
    transform,
)
from compiler.graph.types import TensorType
from compiler.graph.verify import verify
from compiler.quantise.calibrate import calibrate
from compiler.quantise.fold_affine import FoldAffine
from compiler.quantise.forms import Scale
from compiler.quantise.histogram import Histogram, scale_of
from compiler.quantise.interleaved_parts import ComputeOnParts
from compiler.quantise.options import QuantiseOptions
from compiler.quantise.rewriter import Rewriter
from compiler.quantise.rules import RULES
from compiler.quantise.scaled_products import ScaleProducts
from compiler.quantise.token_layers import TokenLayers
from compiler.targets.target import Target


@dataclass(frozen=True, slots=True)
class Quantised:
    """A quantised network, and the network in real numbers.

    Attributes
    ----------
    function
        The quantised network, with the signature of `real`.
    real
        The network in real numbers; a QDQ network unchanged.
    scales
        By int8 tensor of `function`: the name of the value in `real` and the scale.
    """

    function: Function
    real: Function
    scales: Mapping[str, tuple[str, Scale]]


def has_scales(function: Function) -> bool:
    """Whether the network states its own scales, as a QDQ model does."""
    return any(
        isinstance(let.value, Call)
        and isinstance(let.value.callee, OpSpec)
        and let.value.callee.name in ("quantise", "dequantise")
        for let in function.body.lets
    )


def quantise_network(
    function: Function,
    samples: Iterable[Sequence[NestedArray]],
    run: Runner,
    options: QuantiseOptions | None = None,
    targets: Sequence[Target[Any]] = (),
) -> Quantised:
    """The network with int8 tensors and int32 accumulators wherever operators have rules.

    A network that has `quantise` and `dequantise` operators keeps its own scales, and `samples` are
    not read; constants must not have been folded, which would remove the integer weights.

    Parameters
    ----------
    samples
        Samples for `calibrate`: the user's, or `synthetic`.
    run
        The runner of kernels, in calibration and constant folding.
    targets
        The targets that have to compute every requantisation exactly.

    Raises
    ------
    QuantisationError
        See `calibrate`; a tensor that has no elements.
    GraphError
        The function is not legal; a sample does not fit.
    """
    chosen_options = options if options is not None else QuantiseOptions()
    _check_not_empty(function)
    if has_scales(function):
        return apply_scales(function, {}, chosen_options, targets)
    passes = (
        *(EliminateDead(), EliminateCommon(), FoldConstants(run)),
        *(ScaleProducts(), TokenLayers(), ComputeOnParts()),
        *(FoldAffine(), EliminateDead(), FoldNormalisation(), EliminateDead()),
    )
    real = transform(function, passes)
    found = calibrate(real, samples, run)
    return apply_scales(real, scales_from(found, chosen_options), chosen_options, targets)


def _check_not_empty(function: Function) -> None:
    """Raise `QuantisationError` for a tensor without elements, which has no range."""
    for name, type_ in infer(function).items():
        if isinstance(type_, TensorType) and type_.size == 0:
            raise QuantisationError(
                f"{name} is {type_}: a tensor without elements cannot be quantised"
            )


def scales_from(histograms: Mapping[str, Histogram], options: QuantiseOptions) -> dict[str, Scale]:
    """A symmetric scale for each tensor, rounded to float32.

    A tensor of which all values are smaller becomes zeros: a denormal scale would round to 0.
    """
    least = float(np.finfo(np.float32).smallest_normal)
    return {
        name: Scale(float(np.float32(max(scale_of(histogram, options), least))))
        for name, histogram in histograms.items()
    }


def apply_scales(
    function: Function,
    chosen: Mapping[str, Scale],
    options: QuantiseOptions,
    targets: Sequence[Target[Any]] = (),
) -> Quantised:
    """The function quantised with the scales `chosen`, and the scales stated in a QDQ network."""
    rewriter = Rewriter(function, verify(function), chosen, options, RULES, targets)
    body = rewriter.body(function.body)
    made = replace(function, body=body)
    made.reuse_analyses(function)
    found = transform(made, (EliminateCommon(), EliminateDead()))
    left = {let.name for let in found.body.lets}
    scales = {name: found for name, found in rewriter.builder.scales.items() if name in left}
    return Quantised(found, function, scales)
