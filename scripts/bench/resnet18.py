"""ResNet-18 beside ONNX Runtime, in float32 and in int8: `python -m tandem.scripts.bench.resnet18`.

Both libraries run the same model on one image and one thread (`--threads N`: on N of each), in this
process; in int8 it is a QDQ model, which ONNX Runtime's own quantiser makes: weights per channel in
int8, activations in uint8, for which its kernels are fastest. Times of one thread are CPU time,
which excludes waiting for other programs; of several, wall-clock time: the machine must be quiet.
The libraries run alternately, and medians are compared: each waits until the threads of the other,
which look for work for a while, sleep, and the second of two runs is timed. The time of compiling
from ONNX to an artifact and then the peak memory of this process are measured before. `--json`
prints both races as a JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto

from tandem.compiler.driver.compile_onnx import compile_network, import_network
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.models import built_in
from tandem.compiler.quantise.options import Mode
from tandem.compiler.quantise.samples import synthetic
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.runtime.inputs import random_inputs
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.bench.qdq import qdq_model

MOST = {"float32": 0.95, "int8": 1.0}
"""The maximum time per image, relative to ONNX Runtime's, by element type."""
TOLERANCE = {"float32": 1e-3, "int8": 5e-2}
"""The greatest difference of outputs, relative to the largest: in int8 both round requantised
sums, by different rules."""
MOST_SECONDS = 20.0
MOST_MEBIBYTES = 2048.0
ROUNDS = 15
UNTIL_ASLEEP = 0.1
"""Seconds after which a library's idle threads sleep."""
SAMPLES = 2
"""Inputs of noise that the QDQ model is calibrated with."""


@dataclass(frozen=True, slots=True)
class Race:
    """The median times of a run, in seconds: Tandem's and ONNX Runtime's."""

    seconds: float
    rival_seconds: float

    @property
    def ratio(self) -> float:
        """Tandem's time relative to ONNX Runtime's."""
        return self.seconds / self.rival_seconds

    def as_json(self) -> dict[str, float]:
        """The times and their ratio."""
        return {
            "seconds": self.seconds,
            "rival_seconds": self.rival_seconds,
            "ratio": self.ratio,
        }


def measure(model: ModelProto, threads: int = 1) -> Iterator[Measurement]:
    """Measure compiling `model`, and running it on so many threads."""
    begun = process_time()
    artifact = _compiled(model, None, threads)
    taken = process_time() - begun
    yield Measurement("ONNX to artifact", taken, "s", MOST_SECONDS, at_most=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Measurement("memory of this process", peak, "MiB", MOST_MEBIBYTES, at_most=True)
    for kind, found in races(model, artifact, threads):
        yield Measurement(f"{kind}, an image", found.seconds * 1e3, "ms")
        yield Measurement(f"{kind}, ONNX Runtime", found.rival_seconds * 1e3, "ms")
        unit = "times ONNX Runtime's time"
        yield Measurement(f"{kind}, an image", found.ratio, unit, MOST[kind], at_most=True)


def races(
    model: ModelProto, artifact: Artifact | None = None, threads: int = 1
) -> Iterator[tuple[str, Race]]:
    """The race in each element type, by its name; `artifact` is the model's in float32."""
    artifact = artifact or _compiled(model, None, threads)
    yield "float32", _race(model, artifact, TOLERANCE["float32"], threads)
    quantised = qdq_model(model, noise(model))
    artifact = _compiled(quantised, Mode.MULTIPLIER, threads)
    yield "int8", _race(quantised, artifact, TOLERANCE["int8"], threads)


def _compiled(model: ModelProto, mode: Mode | None, threads: int) -> Artifact:
    options = compile_options(quantise=mode)
    return compile_network(model, Provenance("resnet18"), options, [cpu(CpuTarget.host(threads))])


def _race(model: ModelProto, artifact: Artifact, tolerance: float, threads: int) -> Race:
    executor = Executor(artifact, [CpuDevice(threads=threads)])
    inputs = random_inputs(executor.inputs, seed=0)
    rival = _rival(model, threads)
    clock = process_time if threads == 1 else perf_counter
    (ours,) = executor.run(inputs).outputs.values()
    (theirs,) = rival.run(None, inputs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * float(np.abs(theirs).max()))

    def ours_once() -> object:
        return executor.run(inputs)

    def rival_once() -> object:
        return rival.run(None, inputs)

    rounds = [tuple(_seconds(run, clock) for run in (ours_once, rival_once)) for _ in range(ROUNDS)]
    return Race(*(median(seconds) for seconds in zip(*rounds, strict=True)))


def _seconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    sleep(UNTIL_ASLEEP)
    call()
    begun = clock()
    call()
    return clock() - begun


def noise(model: ModelProto) -> Iterator[Mapping[str, Any]]:
    """Samples for the calibration: noise by the names of inputs."""
    imported = import_network(model)
    for arrays in synthetic(imported.function, SAMPLES):
        yield dict(zip(imported.inputs, arrays, strict=True))


def _rival(model: ModelProto, threads: int) -> onnxruntime.InferenceSession:
    """ONNX Runtime on so many threads, with all of its optimisations."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def main(arguments: list[str]) -> int:
    """Print the report, 1 where a target is missed; or with `--json` the races."""
    parser = argparse.ArgumentParser(prog="python -m tandem.scripts.bench.resnet18")
    parser.add_argument("--json", action="store_true", help="print the races as a JSON object")
    parser.add_argument("--threads", type=_positive, default=1, metavar="N", help="default: 1")
    asked = parser.parse_args(arguments)
    model = built_in("resnet18")
    if not asked.json:
        return print_measurements(measure(model, asked.threads))
    found = {kind: race.as_json() for kind, race in races(model, None, asked.threads)}
    print(json.dumps({"threads": asked.threads, **found}, indent=2))
    return 0


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"one thread or more, not {number}")
    return number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
