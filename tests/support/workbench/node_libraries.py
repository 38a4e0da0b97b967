"""ONNX's node tests as exported libraries, on emulated processors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx.backend.test.case.test_case import TestCase

from tandem.compiler.driver import build
from tandem.compiler.errors import FrontendError
from tandem.compiler.graph.types import TensorType
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, Provenance
from tandem.workbench.errors import ExportError
from tandem.workbench.export.library import code_of
from tests.support.compiler.frontends.onnx_nodes import (
    Outcome,
    array_of,
    difference,
    imported_case,
)
from tests.support.workbench.cross import CROSS
from tests.support.workbench.together import Arrays, Crash, run_together


def run_cases(cases: Sequence[TestCase], processor: str, folder: Path) -> list[Outcome]:
    """The outcomes of tests whose models run on a processor, all in one program.

    Of a test that the import or the export refuses the outcome has the reason.
    """
    refused: dict[str, str] = {}
    runs: list[tuple[TestCase, Sequence[Any], tuple[Artifact, Arrays]]] = []
    for case in cases:
        assert case.data_sets is not None
        try:
            runs += [
                (case, expected, _run(case, given, processor)) for given, expected in case.data_sets
            ]
        except (FrontendError, ExportError) as error:
            refused[case.name] = str(error)
    runs = [each for each in runs if each[0].name not in refused]
    failures: dict[str, str] = {}
    if runs:
        results = run_together([run for *_, run in runs], folder, CROSS[processor])
        for (case, expected, _), found in zip(runs, results, strict=True):
            if isinstance(found, Crash):
                failures[case.name] = found.message
            elif failure := difference(
                case, [*found.values()], [array_of(each) for each in expected]
            ):
                failures[case.name] = failure
    return [
        Outcome(
            case.name,
            frozenset(node.op_type for node in case.model.graph.node)
            if case.model
            else frozenset(),
            refused.get(case.name, ""),
            failures.get(case.name, ""),
        )
        for case in cases
    ]


def _run(case: TestCase, given: Sequence[Any], processor: str) -> tuple[Artifact, Arrays]:
    """The artifact of a test for a processor, and the arrays of its inputs."""
    assert case.model is not None
    names = [each.name for each in case.model.graph.input]
    feeds = dict(zip(names, map(array_of, given), strict=True))
    imported = imported_case(case, feeds)
    artifact = build(
        imported.function,
        [cpu(PROCESSORS[processor])],
        Provenance(case.name),
        name=case.name,
        inputs=imported.inputs,
        outputs=imported.outputs,
        counts=imported.counts,
    )
    code_of(artifact)  # refused here, if it is
    arrays = {}
    for name, param in zip(imported.inputs, imported.function.params, strict=True):
        assert isinstance(param.type, TensorType), "imported as such"
        arrays[name] = np.array(feeds[name], param.type.dtype.numpy, order="C")
    return artifact, arrays
