"""Twelve small networks beside ONNX Runtime: `python -m tandem.scripts.bench.small_networks`.

Both libraries run the same models on one thread, in this process, in alternating rounds of 10 ms.
Times are CPU time of the thread, of which the quickest tenth of each one counts: nothing has
disturbed it. What is timed is a call from Python: of these networks it is a large part.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import mean
from time import perf_counter, thread_time
from typing import Any, Final

import numpy as np
import onnxruntime
from onnx import ModelProto

import tandem
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.bench.small.kinds import KINDS
from tandem.scripts.bench.small.quantised import quantised

TOLERANCE: Final = 1e-3
"""The greatest difference of float32 outputs, relative to the largest."""
ROUNDS: Final = 40
ROUND_SECONDS: Final = 0.01
_UNIT: Final = "times ONNX Runtime's time"


@dataclass(frozen=True, slots=True)
class Targets:
    """The greatest times relative to ONNX Runtime's.

    Attributes
    ----------
    mean
        Of all networks, the geometric mean.
    most
        Of one network.
    others
        Of networks that have a target of their own, by name.
    """

    mean: float
    most: float
    others: dict[str, float]


FLOAT32: Final = Targets(1.0, 1.4, {"GRU": 2.0})
INT8: Final = Targets(1.0, 1.5, {})


def measure(
    names: Sequence[str], int8: bool = False, rounds: int = ROUNDS
) -> Iterator[Measurement]:
    """The times of each network, and the geometric mean of their ratios."""
    targets = INT8 if int8 else FLOAT32
    ratios = []
    for name in names:
        model = KINDS[name]()
        ours, rival = race(quantised(model) if int8 else model, rounds, None if int8 else TOLERANCE)
        ratios.append(ours / rival)
        yield Measurement(name, ours * 1e6, "us")
        yield Measurement(f"{name}, ONNX Runtime", rival * 1e6, "us")
        most = targets.others.get(name, targets.most)
        yield Measurement(name, ratios[-1], _UNIT, most, at_most=True)
    together = exp(mean(log(ratio) for ratio in ratios))
    yield Measurement("geometric mean", together, _UNIT, targets.mean, at_most=True)


def race(model: ModelProto, rounds: int, tolerance: float | None) -> tuple[float, float]:
    """The seconds of a run: Tandem's and ONNX Runtime's.

    Parameters
    ----------
    tolerance
        The greatest difference of outputs, relative to the largest; None to compare networks of
        integers, whose roundings differ: `_close`.
    """
    mode = None if tolerance else "multiplier"
    artifact = tandem.compile(model, tandem.Cpu(threads=1), quantize=mode)
    session = tandem.Session(artifact, threads=1)
    inputs: dict[str, Any] = artifact.noise()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    rival = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers)
    names = [port.name for port in rival.get_outputs()]
    found = session.run(inputs)
    for output, theirs in zip(names, rival.run(names, inputs), strict=True):
        if tolerance is None:
            _close(found[output], theirs)
        else:
            bound = tolerance * float(np.abs(theirs).max())
            np.testing.assert_allclose(found[output], theirs, rtol=0, atol=bound)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        times[0].extend(_seconds(lambda: session.run(inputs)))
        times[1].extend(_seconds(lambda: rival.run(names, inputs)))
    ours_seconds, rival_seconds = (float(np.percentile(each, 10)) for each in times)
    return ours_seconds, rival_seconds


def _close(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> None:
    """Raise `AssertionError` unless two outputs of a quantised network are nearly the same: their
    difference has 1% of the energy."""
    error, energy = float(np.square(ours - theirs).sum()), float(np.square(theirs).sum())
    assert error <= 0.01 * energy, f"a difference of {error / energy:.1%} of the energy"


def _seconds(run: Callable[[], object]) -> Iterator[float]:
    """The times of calls, for a round."""
    end = perf_counter() + ROUND_SECONDS
    run()
    while perf_counter() < end:
        begun = thread_time()
        run()
        yield thread_time() - begun


def main(arguments: Sequence[str] = ()) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "networks", nargs="*", default=[*KINDS], metavar="NETWORK", help=f"of {', '.join(KINDS)}"
    )
    parser.add_argument("--int8", action="store_true", help="the same networks in int8, from QDQ")
    given = parser.parse_args(arguments)
    if unknown := set(given.networks) - KINDS.keys():
        parser.error(f"no network {', '.join(sorted(unknown))}: there are {', '.join(KINDS)}")
    return print_measurements(measure(given.networks, given.int8))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
