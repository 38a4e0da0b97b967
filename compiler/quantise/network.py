"""Quantisation of a network, with calibrated scales or with the scales of a QDQ network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.evaluate import NestedArray, Runner
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Call, Function
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.passes import (
    Defunctionalise,
    EliminateCommon,
    EliminateDead,
    FoldConstants,
    FoldNormalisation,
    transform,
)
from tandem.compiler.graph.types import TensorType
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import all_lets, functions, map_functions
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.builder import Builder
from tandem.compiler.quantise.calibrate import calibrate
from tandem.compiler.quantise.clipped_sums import with_common_scales
from tandem.compiler.quantise.compressed.compressor import Compression
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights
from tandem.compiler.quantise.compressed.results import with_results
from tandem.compiler.quantise.compressed.samples import DataSamples
from tandem.compiler.quantise.compressed_network import (
    LayerCosts,
    compressed_network,
    data_of,
    rules_of,
    tensors_of_products,
)
from tandem.compiler.quantise.equalise_results import EqualiseResults, results_of
from tandem.compiler.quantise.error_costs import error_costs
from tandem.compiler.quantise.fold_affine import FoldAffine
from tandem.compiler.quantise.forms import Scale, ValueForms
from tandem.compiler.quantise.histogram import Histogram, scale_of
from tandem.compiler.quantise.image_splits import SliceImages
from tandem.compiler.quantise.integer_moves import IntegerMoves
from tandem.compiler.quantise.integer_products import IntegerProducts
from tandem.compiler.quantise.interleaved_parts import ComputeOnParts
from tandem.compiler.quantise.keep_float import KeepFloat
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.points import int8_values, tensor_name
from tandem.compiler.quantise.quantised import Quantised
from tandem.compiler.quantise.rewriter import Rewriter
from tandem.compiler.quantise.rules import RULES
from tandem.compiler.quantise.scaled_products import ScaleProducts
from tandem.compiler.quantise.smooth_activations import SmoothActivations
from tandem.compiler.quantise.stated_constants import MoveDequantise
from tandem.compiler.quantise.token_layers import TokenLayers


def has_scales(function: Function) -> bool:
    """Whether the network states its own scales, as a QDQ model does."""
    return any(
        isinstance(let.value, Call)
        and isinstance(let.value.callee, OpSpec)
        and let.value.callee.name in ("quantise", "dequantise")
        for callee in functions(function)
        for let in all_lets(callee.body)
    )


def quantise_network(
    function: Function,
    samples: Iterable[Sequence[NestedArray]],
    run: Runner,
    options: QuantiseOptions | None = None,
    targets: Sequence[Target[Any]] = (),
    costs: LayerCosts | None = None,
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
    costs
        What layers cost on the machine for which they choose formats of weights; None to choose by
        the sizes of weights.

    Raises
    ------
    QuantisationError
        See `calibrate`; a tensor that has no elements; a name in `keep_float` that nothing has; a
        format of weights for a network that states its own scales, and keeps its weights.
    GraphError
        The function is not legal; a sample does not fit.
    """
    chosen_options = options if options is not None else QuantiseOptions()
    function = Defunctionalise().apply(function)
    _check_not_empty(function)
    weights = chosen_options.weights
    if has_scales(function):
        if weights.asks:
            raise QuantisationError(
                f"--weights {weights}: the model states its own scales, and keeps its weights"
            )
        stated = (
            *(EliminateDead(), EliminateCommon(), IntegerMoves(), MoveDequantise(run)),
            *(IntegerProducts(), TokenLayers(), ComputeOnParts(), SliceImages()),
            *(EliminateDead(), KeepFloat(chosen_options.keep_float, function)),
        )
        return apply_scales(transform(function, stated), {}, chosen_options, targets)
    passes = (
        *(EliminateDead(), EliminateCommon(), FoldConstants(run, keeps_compressed=False)),
        IntegerProducts(),
        *(ScaleProducts(), TokenLayers(), ComputeOnParts(), SliceImages()),
        *(FoldAffine(), EliminateDead(), FoldNormalisation(), EliminateDead()),
        KeepFloat(chosen_options.keep_float, function),
    )
    real = transform(function, passes)
    if not weights.asks and not weights.smooth:
        found = calibrate(real, samples, run)
        return apply_scales(real, scales_from(found, chosen_options), chosen_options, targets)
    kept = [list(sample) for sample in samples]
    if weights.smooth:
        seen = DataSamples(tensors_of_products(real) | results_of(real))
        calibrate(real, kept, run, seen.add)
        smoothing = (
            SmoothActivations(seen, chosen_options, rules_of(real, weights.rules)),
            *(EqualiseResults(seen, chosen_options), EliminateDead()),
        )
        real = transform(real, smoothing)
    data = DataSamples(set(data_of(real).values()))
    of_errors = error_costs(real) if weights.smooth else None
    chosen = scales_from(calibrate(real, kept, run, data.add, of_errors), chosen_options)

    def apply(compression: Compression) -> Quantised:
        return apply_scales(real, chosen, chosen_options, targets, compression)

    return compressed_network(real, kept, run, chosen_options, data, apply, costs)


def _check_not_empty(function: Function) -> None:
    """Raise `QuantisationError` for a tensor without elements, which has no range."""
    values = (value for each in function.named.values() for value in infer(each).items())
    for name, type_ in values:
        if isinstance(type_, TensorType) and type_.size == 0:
            raise QuantisationError(
                f"{name} is {type_}: a tensor without elements cannot be quantised"
            )


def scales_from(histograms: Mapping[str, Histogram], options: QuantiseOptions) -> dict[str, Scale]:
    """A symmetric scale for each tensor that a sample has reached, rounded to float32.

    A tensor of which all values are smaller becomes zeros: a denormal scale would round to 0.
    """
    least = float(np.finfo(np.float32).smallest_normal)
    return {
        name: Scale(
            float(np.float32(max(scale_of(histogram, options), least))),
            of_zeros=histogram.largest == 0,
        )
        for name, histogram in histograms.items()
        if histogram.counts.any()
    }


def apply_scales(
    function: Function,
    chosen: Mapping[str, Scale],
    options: QuantiseOptions,
    targets: Sequence[Target[Any]] = (),
    compression: Compression | None = None,
) -> Quantised:
    """The function quantised with the scales `chosen`, and the scales stated in a QDQ network.

    Parameters
    ----------
    compression
        The formats of weights, by the names of their layers' tensors.
    """
    verify(function)
    scales: dict[str, tuple[str, Scale]] = {}
    weights: dict[str, LayerWeights] = {}

    def quantised(one: Function) -> Function:
        types, builder = infer(one), Builder(infer(one), targets)
        own = {
            name: chosen[tensor]
            for name in types
            if (tensor := tensor_name(function, one, name)) in chosen
        }
        own = with_common_scales(one, own)
        params = {param.name: ValueForms(None, emitted=True) for param in one.params}
        measured = frozenset(int8_values(one, types))
        formats = None
        if compression is not None:
            formats = compression.renamed(
                {name: tensor_name(function, one, name) for name in types}
            )
        rewriter = Rewriter(types, own, options, RULES, builder, params, measured, formats)
        body = rewriter.body(one.body)
        weights.update({each.layer: each for each in builder.weights})
        for name, (of, scale) in builder.scales.items():
            real = tensor_name(function, one, of)
            scales[tensor_name(function, one, name)] = (real, scale)
        return replace(one, body=body)

    made = map_functions(function, quantised)
    made.reuse_analyses(function)
    found = transform(made, (EliminateCommon(), EliminateDead()))
    left = {
        tensor_name(found, callee, let.name)
        for callee in found.named.values()
        for let in all_lets(callee.body)
    }
    kept = {name: scale for name, scale in scales.items() if name in left}
    return Quantised(found, function, kept, with_results(function, weights.values()))
