"""ResNet-18 in float32 beside ONNX Runtime: `python -m scripts.bench.resnet18`.

Both libraries run the same model on one image and one thread, in this process. Times are CPU time,
which excludes waiting for other programs: runs alternate, and medians are compared. The time of
compiling from ONNX to an artifact and then the peak memory of this process are measured before.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator
from statistics import median
from time import process_time

import numpy as np
import onnxruntime
from onnx import ModelProto

from compiler.codegen import CpuTarget
from compiler.driver.compile_onnx import CompileOptions, compile_network
from compiler.models import built_in
from compiler.targets.cpu.target import cpu
from runtime.artifact import Provenance
from runtime.devices import CpuDevice
from runtime.executor import Executor
from runtime.inputs import random_inputs
from scripts.bench.measurements import Measurement, print_measurements

MOST = 2.0
"""The maximum time per image, relative to ONNX Runtime's."""
MOST_SECONDS = 20.0
MOST_MEBIBYTES = 2048.0
ROUNDS = 15


def measure(model: ModelProto) -> Iterator[Measurement]:
    """Measure compiling and running `model`."""
    begun = process_time()
    artifact = compile_network(
        model, Provenance("resnet18"), CompileOptions(quantise=None), [cpu(CpuTarget.host(1))]
    )
    taken = process_time() - begun
    yield Measurement("ONNX to artifact", taken, "s", MOST_SECONDS, at_most=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Measurement("memory of this process", peak, "MiB", MOST_MEBIBYTES, at_most=True)

    executor = Executor(artifact, [CpuDevice(threads=1)])
    inputs = random_inputs(executor.inputs, seed=0)
    rival = _rival(model)
    (ours,) = executor.run(inputs).outputs.values()
    (theirs,) = rival.run(None, inputs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * float(np.abs(theirs).max()))
    rounds = [
        (_seconds(lambda: executor.run(inputs)), _seconds(lambda: rival.run(None, inputs)))
        for _ in range(ROUNDS)
    ]
    one, other = (median(seconds) for seconds in zip(*rounds, strict=True))
    yield Measurement("an image", one * 1e3, "ms")
    yield Measurement("an image, ONNX Runtime", other * 1e3, "ms")
    yield Measurement("an image", one / other, "times ONNX Runtime's time", MOST, at_most=True)


def _seconds(call: Callable[[], object]) -> float:
    begun = process_time()
    call()
    return process_time() - begun


def _rival(model: ModelProto) -> onnxruntime.InferenceSession:
    """ONNX Runtime on one thread, with all of its optimisations."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def main() -> int:
    """Print the report; 1 where a target is missed."""
    return print_measurements(measure(built_in("resnet18")))


if __name__ == "__main__":
    sys.exit(main())
