"""Two threads beside one: `python -m tandem.scripts.bench.thread_counts`.

A network that is too small for a second thread must not lose by it. The artifacts are compiled for
their number of threads and run in alternating rounds of 10 ms; what is compared is the time that
passes, of which the quickest quarter of the calls counts. The second thread needs a processor of
its own: on a machine that does other work beside, these figures say nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Final

import numpy as np
from onnx import ModelProto

import tandem
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.bench.small.kinds import KINDS
from tandem.scripts.bench.small.quantised import quantised

TARGET: Final = 1.05
"""The greatest time on two threads, relative to one."""
ROUNDS: Final = 60
ROUND_SECONDS: Final = 0.01


def measure(
    names: Sequence[str], int8: bool = False, rounds: int = ROUNDS
) -> Iterator[Measurement]:
    """The times of the networks of these names on one thread and on two."""
    for name in names:
        model = KINDS[name]()
        one, two = race(quantised(model) if int8 else model, "multiplier" if int8 else None, rounds)
        yield Measurement(f"{name}, one thread", one * 1e6, "us")
        yield Measurement(f"{name}, two threads", two * 1e6, "us")
        yield Measurement(name, two / one, "times one thread's time", TARGET, at_most=True)


def race(model: ModelProto, mode: str | None, rounds: int) -> tuple[float, float]:
    """The seconds of a run on one thread and on two.

    Integers are the same bits; floats are summed in other tiles, and nearly the same.
    """
    sessions = []
    for threads in 1, 2:
        artifact = tandem.compile(model, tandem.Cpu(threads=threads), quantize=mode)
        sessions.append(tandem.Session(artifact, threads=threads))
    inputs = artifact.noise()
    single, double = (session.run(inputs) for session in sessions)
    for output, expected in single.outputs.items():
        np.testing.assert_allclose(double[output], expected, rtol=0, atol=1e-4)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for session, found in zip(sessions, times, strict=True):
            end = perf_counter() + ROUND_SECONDS
            session.run(inputs)
            while (begun := perf_counter()) < end:
                session.run(inputs)
                found.append(perf_counter() - begun)
    one, two = (float(np.percentile(found, 25)) for found in times)
    return one, two


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
