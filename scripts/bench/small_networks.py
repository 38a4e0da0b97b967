"""Small networks beside ONNX Runtime, in float32: `python -m tandem.scripts.bench.small_networks`.

Both libraries run the same models on one thread, in this process, in alternating rounds of 10 ms;
the quickest tenth of each one's runs counts, which nothing has disturbed. What is timed is a call
from Python: of these networks it is a large part.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from math import exp, log
from statistics import mean
from time import perf_counter
from typing import Any

import numpy as np
import onnxruntime

import tandem
from tandem.compiler.models import built_in
from tandem.scripts.bench.measurements import Measurement, print_measurements

NETWORKS = (
    *("digits", "mobilenet-v1-tiny", "mobilenet-v2-tiny", "dqn-tiny", "vit-tiny"),
    *("bert-tiny", "gpt2-tiny", "llama-tiny", "lstm-tiny"),
)
MEAN, MOST = 1.0, 1.4
"""The greatest geometric mean of times relative to ONNX Runtime's, and the greatest of one."""
TOLERANCE = 1e-3
"""The greatest difference of outputs, relative to the largest."""
ROUNDS, ROUND_SECONDS = 40, 0.01


def measure(names: Sequence[str]) -> Iterator[Measurement]:
    """The times of each network, and the geometric mean of their ratios."""
    ratios = []
    for name in names:
        ours, rival = race(name)
        ratios.append(ours / rival)
        yield Measurement(name, ours * 1e6, "us")
        yield Measurement(f"{name}, ONNX Runtime", rival * 1e6, "us")
        unit = "times ONNX Runtime's time"
        yield Measurement(name, ratios[-1], unit, MOST, at_most=True)
    together = exp(mean(log(ratio) for ratio in ratios))
    yield Measurement("geometric mean", together, "times ONNX Runtime's time", MEAN, at_most=True)


def race(name: str) -> tuple[float, float]:
    """The seconds of a run: Tandem's and ONNX Runtime's."""
    artifact = tandem.compile(name, tandem.Cpu(threads=1), quantize=None)
    session = tandem.Session(artifact, threads=1)
    inputs: dict[str, Any] = artifact.noise()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = built_in(name, 0).SerializeToString()
    rival = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [port.name for port in rival.get_outputs()]
    for output, theirs in zip(names, rival.run(names, inputs), strict=True):
        ours = session.run(inputs)[output]
        bound = TOLERANCE * float(np.abs(theirs).max())
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        times[0].extend(_seconds(lambda: session.run(inputs)))
        times[1].extend(_seconds(lambda: rival.run(names, inputs)))
    ours_seconds, rival_seconds = (float(np.percentile(each, 10)) for each in times)
    return ours_seconds, rival_seconds


def _seconds(run: Callable[[], object]) -> Iterator[float]:
    """The times of calls, for a round."""
    end = perf_counter() + ROUND_SECONDS
    run()
    while (begun := perf_counter()) < end:
        run()
        yield perf_counter() - begun


def main(arguments: Sequence[str] = ()) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("networks", nargs="*", default=NETWORKS, help="built-in networks")
    return print_measurements(measure(parser.parse_args(arguments).networks))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
