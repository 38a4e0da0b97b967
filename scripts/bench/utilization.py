"""The gain of latency hiding on the RTL: `python -m tandem.scripts.bench.utilization`.

ResNet-18's convolutions on `pynq` with memory `fast`. Results are cycles, which are the same on
every host.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.options import DEFAULT_CONFIG, DEFAULT_MEMORY
from tandem.scripts.utilization.table import print_rows
from tandem.sim.engines import make_engine
from tandem.workbench.utilization import RESNET18, ConvLayer, Row, measure, total

MOST_CYCLES = 7.4e6
"""Cycles of all layers, weighted by count: at least 6.62 million; VTA's best is 7.73 million."""
LEAST_BEST = 92
LEAST_HIDDEN = 1


def run(config: str, layers: Sequence[ConvLayer] = RESNET18) -> list[Row]:
    """Measure, and print the table."""
    engine = make_engine("rtl", load_config(config), parse_memory(DEFAULT_MEMORY))
    try:
        rows = list(measure(engine, layers))
    finally:
        engine.close()
    print_rows(rows, engine.name, engine.config.name, DEFAULT_MEMORY)
    return rows


def figures(rows: Sequence[Row]) -> Iterator[Measurement]:
    """The measurements that have targets, from rows of an engine that counts cycles."""
    whole = total(rows).cycles_with
    assert whole is not None, "the rtl engine has time"
    yield Measurement("cycles of all layers", whole, "cycles", MOST_CYCLES, at_most=True)
    best = max(row.times.utilization_with or 0 for row in rows)
    yield Measurement("best layer's utilisation", 100 * best, "%", LEAST_BEST)
    for row in rows:
        hidden = (row.times.cycles_without or 0) - (row.times.cycles_with or 0)
        yield Measurement(f"hidden in {row.layer.name}", hidden, "cycles", LEAST_HIDDEN)


def main() -> int:
    """Print the table and the report; 1 where a target is missed."""
    rows = run(DEFAULT_CONFIG)
    print()
    return print_measurements(figures(rows))


if __name__ == "__main__":
    sys.exit(main())
