"""ONNX's node tests on a GPU, by OpenCL."""

from __future__ import annotations

import numpy as np
from onnx.backend.test.case.test_case import TestCase

from tandem.compiler.driver.build import build
from tandem.compiler.errors import FrontendError
from tandem.compiler.graph.types import TensorType
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.target import gpu
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice, Device
from tandem.runtime.executor import Executor
from tests.support.compiler.frontends.onnx_nodes import (
    Outcome,
    array_of,
    difference,
    imported_case,
)


def run_on(case: TestCase, device: Device) -> Outcome:
    """Import a test's model, run it on a device and compare; inputs become constants if need be."""
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
        artifact = build(
            imported.function,
            [gpu(GpuMachine())],
            Provenance(case.name),
            inputs=imported.inputs,
            outputs=imported.outputs,
            counts=imported.counts,
        )
        arrays = {}
        for name, param in zip(imported.inputs, imported.function.params, strict=True):
            assert isinstance(param.type, TensorType), "imported as such"
            arrays[name] = np.array(feeds[name], param.type.dtype.numpy, order="C")
        run = Executor(artifact, [device, CpuDevice(1)]).run(arrays)
        found = [run.outputs[name] for name in imported.outputs]
        failure = difference(case, found, [array_of(each) for each in expected])
        if failure:
            return Outcome(case.name, operators, failure=failure)
    return Outcome(case.name, operators)
