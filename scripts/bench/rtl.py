"""Speed of building and of running the `rtl` engine, and of running a machine with extensions:
`python -m scripts.bench.rtl`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from hw.config import HardwareConfig
from hw.config_files import load_config
from scripts.bench.measurements import Measurement, print_measurements
from scripts.matmul_demo import SIZE, run_product
from sim.rtl.engine import RtlEngine

MOST_SECONDS = 60
LEAST_CYCLES = 0.8e6
ROUNDS = 3
EXTENDED = "pynq-x"
LEAST_SHARE = 0.9


def measure(config: HardwareConfig, size: int = SIZE) -> Iterator[Measurement]:
    """Build the simulator from scratch, and run the matrix product of `make matmul` on it several
    times.
    """
    with TemporaryDirectory(prefix="tandem-bench-") as cache:
        engine = RtlEngine(config, cache=Path(cache))
        begun = perf_counter()
        engine.prepare()
        seconds = perf_counter() - begun
        yield Measurement("build of the RTL simulator", seconds, "s", MOST_SECONDS, at_most=True)
        try:
            rate = max(_cycles_a_second(engine, size) for _ in range(ROUNDS))
        finally:
            engine.close()
    yield Measurement(f"product {size}^3 on the RTL", rate, "cycles/s", LEAST_CYCLES)


def measure_extensions(
    config: HardwareConfig, extended: HardwareConfig, size: int = SIZE
) -> Iterator[Measurement]:
    """Run the product on both machines in turns: what disturbs one disturbs the other."""
    engines = (RtlEngine(config), RtlEngine(extended))
    try:
        for engine in engines:
            engine.prepare()
        rounds = [[_cycles_a_second(engine, size) for engine in engines] for _ in range(ROUNDS)]
    finally:
        for engine in engines:
            engine.close()
    base, rate = (max(rates) for rates in zip(*rounds, strict=True))
    yield Measurement(f"{extended.name} / {config.name}", rate / base, "", LEAST_SHARE)


def _cycles_a_second(engine: RtlEngine, size: int) -> float:
    result = run_product(engine, size, size, size, seed=0).result
    assert result.cycles is not None, "the rtl engine has time"
    return result.cycles / result.seconds


def main() -> int:
    """Print the report; 1 where a target is missed."""
    config = HardwareConfig()
    return print_measurements(
        chain(measure(config), measure_extensions(config, load_config(EXTENDED)))
    )


if __name__ == "__main__":
    sys.exit(main())
