"""Ranges of a network's values, from samples of its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.errors import QuantisationError
from compiler.graph.evaluate import NestedArray, Runner, evaluate
from compiler.graph.nodes import Function
from compiler.graph.verify import verify
from compiler.quantise.histogram import Histogram
from compiler.quantise.points import int8_values, return_values


def calibrate(
    function: Function, samples: Iterable[Sequence[NestedArray]], run: Runner
) -> dict[str, Histogram]:
    """The histograms of the tensors that become int8 (`int8_values`), by name.

    Parameters
    ----------
    function
        The network in real numbers, with constants folded.
    samples
        Lists of values for the parameters, at least one list; fastest if shapes are all the same.
    run
        The runner of kernels: `native.NativeRunner` compiles every kernel once.

    Raises
    ------
    QuantisationError
        No sample; an infinite or NaN value: the message names the tensor.
    GraphError
        Samples that do not fit the parameters.
    """
    names = int8_values(function, verify(function))
    histograms = {name: Histogram() for name in names}
    watched = return_values(function, names)
    seen = False
    for sample in samples:
        seen = True
        values = evaluate(watched, sample, run)
        assert isinstance(values, tuple), "that is its result"
        for name, value in zip(names, values, strict=True):
            assert not isinstance(value, tuple), "points are tensors"
            try:
                histograms[name].add(value)
            except QuantisationError as error:
                raise QuantisationError(f"calibrating {name}: {error}") from None
    if not seen:
        raise QuantisationError("calibrating: there is no sample")
    return histograms
