"""ONNX's node tests on a GPU, by OpenCL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnx.backend.test.case.test_case import TestCase

from tandem.compiler.driver.build import build
from tandem.compiler.frontends.onnx import Imported
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.target import gpu
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice, Device
from tandem.runtime.executor import Executor
from tests.support.compiler.frontends.onnx_nodes import Array, Outcome, run_case


def run_on(case: TestCase, device: Device) -> Outcome:
    """Import a test's model, run it on a device and compare; inputs become constants if need be."""

    def run(case: TestCase, imported: Imported, arrays: Mapping[str, Array]) -> Sequence[Any]:
        artifact = build(
            imported.function,
            [gpu(GpuMachine())],
            Provenance(case.name),
            inputs=imported.inputs,
            outputs=imported.outputs,
            counts=imported.counts,
        )
        outputs = Executor(artifact, [device, CpuDevice(1)]).run(arrays).outputs
        return [outputs[name] for name in imported.outputs]

    return run_case(case, run)
