"""Ranges of a network's values, from samples of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.evaluate import NestedArray, Runner, evaluate
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import bodies
from tandem.compiler.quantise.histogram import Histogram
from tandem.compiler.quantise.points import points, return_values


def calibrate(
    function: Function,
    samples: Iterable[Sequence[NestedArray]],
    run: Runner,
    also: Callable[[str, NDArray[Any]], None] | None = None,
    costs: Mapping[str, NDArray[np.float64]] | None = None,
) -> dict[str, Histogram]:
    """The histograms of the tensors that become int8 (`points`), by name.

    Of a network with control flow all iterations and calls count; a tensor that no sample reaches
    has an empty histogram.

    Parameters
    ----------
    function
        The network in real numbers, with constants folded.
    samples
        Lists of values for the parameters, at least one list; fastest if shapes are all the same.
    run
        The runner of kernels: `native.NativeRunner` compiles every kernel once.
    also
        Gets the name and each value of the tensors, too.
    costs
        What errors of some tensors cost (`error_costs`), by name; in others all cost the same.

    Raises
    ------
    QuantisationError
        No sample; an infinite or NaN value: the message names the tensor.
    GraphError
        Samples that do not fit the parameters.
    """
    verify(function)
    wanted = points(function)
    histograms = {name: Histogram() for name in wanted}
    own_costs = costs or {}

    def add(name: str, value: NestedArray) -> None:
        assert not isinstance(value, tuple), "points are tensors"
        try:
            histograms[name].add(value, own_costs.get(name))
        except QuantisationError as error:
            raise QuantisationError(f"calibrating {name}: {error}") from None
        if also is not None:
            also(name, value)

    names = {place: name for name, place in wanted.items()}

    def observe(of: str, name: str, value: NestedArray) -> None:
        if (of, name) in names:
            add(names[of, name], value)

    branches = bool(function.definitions) or any(bodies(let.value) for let in function.body.lets)
    watched = function if branches else return_values(function, [*wanted])
    seen = False
    for sample in samples:
        seen = True
        if branches:
            evaluate(function, sample, run, observe)
            continue
        values = evaluate(watched, sample, run)
        assert isinstance(values, tuple), "that is its result"
        for name, value in zip(wanted, values, strict=True):
            add(name, value)
    if not seen:
        raise QuantisationError("calibrating: there is no sample")
    return histograms
