"""ONNX's node tests, imported and run on the CPU by Tandem."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx import Imported, import_model
from tandem.compiler.frontends.onnx.node import qualified_name
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.types import TensorType
from tandem.compiler.machines.cpu.runner import NativeRunner

Array = NDArray[Any]

UNITS = 2
"""Units in the last place by which a float of 16 bits may differ: ONNX's expected results come from
many roundings to 16 bits, in an order that the standard does not fix."""
_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a node test.

    Attributes
    ----------
    operators
        Operators of the test's model.
    refusal
        Why the import refuses the model; empty if it does not.
    failure
        How the results differ; empty if they are equal.
    """

    name: str
    operators: frozenset[str]
    refusal: str = ""
    failure: str = ""

    @property
    def passed(self) -> bool:
        """Whether the model was imported and gave ONNX's results."""
        return not self.refusal and not self.failure


@cache
def node_cases() -> tuple[TestCase, ...]:
    """All node tests of ONNX, sorted by name."""
    with warnings.catch_warnings():
        # Building some tests overflows or divides by zero on purpose.
        warnings.simplefilter("ignore")
        return tuple(sorted(load_model_tests(kind="node"), key=lambda case: case.name))


def chosen_cases(limit: int) -> Sequence[TestCase]:
    """For each operator at most `limit` cases of it alone.

    Cases that differ in attributes of numbers and names, in the operands that are given or in the
    opset; of those that do not, the first.
    """
    found: dict[str, dict[Hashable, TestCase]] = {}
    for case in node_cases():
        assert case.model is not None
        (first, *rest) = case.model.graph.node
        if rest:
            continue
        attributes = frozenset((each.name, each.i, each.s) for each in first.attribute)
        opset = case.model.opset_import[0].version
        key = (attributes, tuple(map(bool, first.input)), len(first.output), opset)
        found.setdefault(qualified_name(first), {}).setdefault(key, case)
    return [case for cases in found.values() for case in [*cases.values()][:limit]]


Runner = Callable[[TestCase, Imported, Mapping[str, Array]], Sequence[Any]]
"""Runs an imported model on arrays by the names of inputs; returns its outputs in their order."""


def run_case(case: TestCase, run: Runner | None = None) -> Outcome:
    """Import a test's model, run it and compare, on the CPU by default; inputs become constants if
    need be."""
    assert case.model is not None
    assert case.data_sets is not None
    operators = frozenset(node.op_type for node in case.model.graph.node)
    names = [each.name for each in case.model.graph.input]
    for given, expected in case.data_sets:
        feeds = dict(zip(names, map(array_of, given), strict=True))
        try:
            imported = imported_case(case, feeds)
        except FrontendError as error:
            return Outcome(case.name, operators, refusal=str(error))
        arrays = {}
        for name, param in zip(imported.inputs, imported.function.params, strict=True):
            assert isinstance(param.type, TensorType), "imported as such"
            arrays[name] = np.array(feeds[name], param.type.dtype.numpy, order="C")
        found = (run or _on_cpu)(case, imported, arrays)
        failure = difference(case, found, [array_of(each) for each in expected])
        if failure:
            return Outcome(case.name, operators, failure=failure)
    return Outcome(case.name, operators)


def array_of(given: Any) -> Any:
    """The array of a tensor message or scalar; sequences, which are unsupported, are unchanged."""
    if isinstance(given, TensorProto):
        return numpy_helper.to_array(given)
    return np.asarray(given) if isinstance(given, np.generic) else given


def imported_case(case: TestCase, feeds: Mapping[str, Any]) -> Imported:
    """The imported model, in which inputs are constants whose values have to be known."""
    assert case.model is not None
    arrays = {name: each for name, each in feeds.items() if isinstance(each, np.ndarray)}
    return import_model(case.model, offered=arrays)


def _on_cpu(case: TestCase, imported: Imported, arrays: Mapping[str, Array]) -> Sequence[Any]:
    found = evaluate(imported.function, [*arrays.values()], NativeRunner(reassociate=False))
    return [*imported.by_name(found).values()]


def difference(case: TestCase, found: Sequence[Any], expected: Sequence[Array]) -> str:
    for ours, theirs in zip(found, expected, strict=True):
        if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
            return f"{ours.dtype}{ours.shape} for {theirs.dtype}{theirs.shape}"
        atol = case.atol
        assert case.model is not None
        if set(each.op_type for each in case.model.graph.node) == {"DFT"}:
            # The expected zeros are what remains of sums in float32 that cancel.
            atol = max(atol, 2.0**-23 * float(np.abs(theirs).max()))
        rtol = max(case.rtol, UNITS * _EPSILON.get(ours.dtype.name, 0))
        if ours.dtype.name in _EPSILON:
            ours, theirs = (each.astype(np.float64) for each in (ours, theirs))
        if not np.allclose(ours, theirs, rtol, atol, equal_nan=True):
            return f"{ours} for {theirs}"
    return ""
