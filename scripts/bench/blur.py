"""Halide's example, the 3x3 box filter of `docs/blur.md`: `python -m tandem.scripts.bench.blur`.

Three equivalent programs: the unscheduled loops, through the same back end, which does not
vectorize automatically; NumPy; and the scheduled loops, on one core and on all cores. The programs
run alternately, and the best time of each counts. On a busy machine one core may be faster than
all.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.ir.dtypes import UINT16
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.te import Schedule, Tensor, compute, placeholder
from tandem.scripts.bench.measurements import Measurement, print_measurements

LEAST = 10
"""The minimum speed-up over the unscheduled loops."""
SIDE = 1024
ROUNDS = 50
CALLS = 4

Image = NDArray[np.uint16]


def box_filter(side: int) -> Tensor:
    """The unscheduled 3x3 box filter for an image of `side` x `side` pixels and a border of two."""
    image = placeholder((side + 2, side + 2), UINT16, "image")
    blurx = compute(
        (side + 2, side),
        lambda y, x: (image[y, x] + image[y, x + 1] + image[y, x + 2]) // 3,
        "blurx",
    )
    return compute(
        (side, side),
        lambda y, x: (blurx[y, x] + blurx[y + 1, x] + blurx[y + 2, x]) // 3,
        "blury",
    )


def scheduled(blury: Tensor) -> Schedule:
    """Schedule that computes `blurx` per tile of `blury`, so that `blurx` stays in the cache."""
    return (
        Schedule.of(blury)
        .tile("blury", ("y", "x"), (32, 256), ("ty", "tx", "y", "x"))
        .compute_at("blurx", "blury", "tx")
        .vectorize("blurx", "x", 32)
        .vectorize("blury", "x", 32)
        .parallel("blury", "ty")
    )


def blur(image: Image) -> Image:
    """The box filter in NumPy."""
    rows = (image[:, :-2] + image[:, 1:-1] + image[:, 2:]) // 3
    return (rows[:-2] + rows[1:-1] + rows[2:]) // 3


def measure() -> Iterator[Measurement]:
    """Milliseconds of each program, and the speed-up of the scheduled loops."""
    image = np.random.default_rng(0).integers(0, 1 << 14, (SIDE + 2, SIDE + 2), np.uint16)
    one, every = CpuTarget.host(1), CpuTarget.host()
    blury = box_filter(SIDE)
    plain, fast = Schedule.of(blury).program, scheduled(blury).program
    expected = blur(image)
    calls = {
        "NumPy": lambda: blur(image),
        "unscheduled loops": _call(plain, one, image, expected),
        "scheduled, one core": _call(fast, one, image, expected),
        f"scheduled, {every.threads} threads": _call(fast, every, image, expected),
    }
    best = dict.fromkeys(calls, math.inf)
    for _ in range(ROUNDS):
        for name, call in calls.items():
            best[name] = min(best[name], *(_seconds(call) for _ in range(CALLS)))
    for name, seconds in best.items():
        yield Measurement(name, seconds * 1000, "ms")
    numpy, unscheduled, *ours = best.values()
    yield Measurement("against the unscheduled loops", unscheduled / min(ours), "times", LEAST)
    yield Measurement("against NumPy", numpy / min(ours), "times")


def _call(
    program: PrimFunc, target: CpuTarget, image: Image, expected: Image
) -> Callable[[], object]:
    """A function that runs the compiled program, after its result was compared with `expected`."""
    function, result = compile_function(program, target), np.empty_like(expected)
    function(image, out=(result,))
    np.testing.assert_array_equal(result, expected)
    return lambda: function(image, out=(result,))


def _seconds(call: Callable[[], object]) -> float:
    begun = perf_counter()
    call()
    return perf_counter() - begun


def main() -> int:
    """Print the report; 1 where the target is missed."""
    return print_measurements(measure())


if __name__ == "__main__":
    sys.exit(main())
