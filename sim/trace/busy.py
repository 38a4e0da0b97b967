"""The utilisation of the multipliers over time, as a counter track."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tandem.hw.isa import Program
from tandem.sim.trace.tracks import PROCESS, Slice, Track, number_of

WINDOWS = 1000
"""Maximum number of time windows: more than a screen can show."""


def busy_records(
    slices: Iterable[Slice], program: Program, cycles: int
) -> Iterator[dict[str, Any]]:
    """Counter records: multiplications in each time window, in percent of the array's capacity.

    The products of a GEMM are assumed to be spread evenly over its slice. Resets use no multiplier.
    Products with padding count, unlike in a layer's utilisation.
    """
    gemms = [item for item in slices if item.track is Track.GEMM]
    columns = program.columns()
    at = np.array([item.instruction for item in gemms], np.int64)
    products = columns.iter_out * columns.iter_in * (columns.uop_end - columns.uop_bgn)
    work = np.where(columns.reset_reg, 0, products)[at]
    if not work.any():
        return
    start = np.array([item.start for item in gemms], np.float64)
    end = np.array([item.end for item in gemms], np.float64)
    # The rate changes where a slice starts or ends; its integral is the work done.
    times = np.concatenate([start, end])
    changes = np.concatenate([work / (end - start), -work / (end - start)])
    order = np.argsort(times, kind="stable")
    times, rates = times[order], np.cumsum(changes[order])
    done = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(times))])
    windows = min(WINDOWS, cycles)
    edges = np.arange(windows + 1) * cycles // windows
    shares = np.diff(np.interp(edges, times, done)) / np.diff(edges)
    before = -1.0
    for time, share in zip(edges.tolist(), [*shares.tolist(), 0.0], strict=True):
        percent = round(100 * share, 1)
        if percent != before:
            yield {
                "ph": "C",
                "pid": PROCESS,
                "tid": number_of(Track.GEMM),
                "ts": time,
                "name": "multipliers busy",
                "args": {"%": percent},
            }
        before = percent
