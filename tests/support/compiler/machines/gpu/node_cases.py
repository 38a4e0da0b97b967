"""ONNX's node tests on a GPU, by OpenCL.

    python -m tests.support.compiler.machines.gpu.node_cases [--shard NUMBER/COUNT]

prints what does not pass, with the reason, and how many do; of a share of the tests, if asked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from onnx.backend.test.case.test_case import TestCase

from tandem.compiler.driver.build import build
from tandem.compiler.errors import CompilerError
from tandem.compiler.frontends.onnx import Imported
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.target import gpu
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice, Device
from tandem.runtime.devices.opencl import OpenClDevice
from tandem.runtime.errors import RunError
from tandem.runtime.executor import Executor
from tests.support.compiler.frontends.onnx_nodes import Array, Outcome, node_cases, run_case


def run_on(case: TestCase, device: Device) -> Outcome:
    """Import a test's model, run it on a device and compare; inputs become constants if need be.
    What the GPU's compiler or the device refuses is a failure."""

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

    try:
        return run_case(case, run)
    except (CompilerError, RunError) as error:
        return Outcome(case.name, frozenset(), failure=f"{type(error).__name__}: {error}")


def shard_of(number: int, count: int) -> tuple[TestCase, ...]:
    """One of so many shares of the tests, each with a test of every neighbourhood."""
    return node_cases()[number::count]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a share of the tests; returns 1 if one fails."""
    parser = argparse.ArgumentParser(description="ONNX's node tests by OpenCL")
    parser.add_argument("--shard", default="0/1", help="a share: its number, from 0, and the count")
    number, count = map(int, parser.parse_args(arguments).shard.split("/"))
    device = OpenClDevice()
    passed, failed = 0, 0
    for case in shard_of(number, count):
        outcome = run_on(case, device)
        passed += outcome.passed
        failed += bool(outcome.failure)
        if not outcome.passed:
            kind = "WRONG" if outcome.failure else "refused"
            print(f"{kind} {outcome.name}: {outcome.failure or outcome.refusal}", flush=True)
    print(f"{passed} pass, {failed} do not", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
