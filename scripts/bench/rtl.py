"""Speed of building and of running the `rtl` engine, and of running a machine with extensions:
`python -m tandem.scripts.bench.rtl`.

A machine with extensions is compared on equal work: it runs the programs of the machine without.
Its own programs take fewer cycles, and more work is done in each; what they reach is beside.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.runtime.artifact import Artifact, config_of
from tandem.runtime.devices import AcceleratorDevice, CpuDevice, Device
from tandem.runtime.executor import Executor
from tandem.runtime.inputs import random_inputs
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.matmul_demo import SIZE, run_product
from tandem.sim.rtl.design import verilog_of
from tandem.sim.rtl.engine import RtlEngine
from tandem.workbench.devices import Accelerator
from tandem.workbench.models import ModelOptions
from tandem.workbench.opened import open_model

MOST_SECONDS = 60
LEAST_CYCLES = 0.8e6
ROUNDS = 3
EXTENDED = "pynq-x"
NETWORK = "resnet18"
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
    """Run the product on both machines."""
    engines = (RtlEngine(config), RtlEngine(extended))
    try:
        for engine in engines:
            engine.prepare()
        base, rate = _in_turns(partial(_cycles_a_second, engine, size) for engine in engines)
    finally:
        for engine in engines:
            engine.close()
    yield Measurement(f"{extended.name} / {config.name}", rate / base, "", LEAST_SHARE)


def measure_network(
    config: HardwareConfig, extended: HardwareConfig, model: str = NETWORK
) -> Iterator[Measurement]:
    """Run a whole network on both machines, compiled for the first one and for each its own."""
    programs, own = _network(model, config), _network(model, extended)
    base, same, other = _in_turns(
        partial(_network_rate, compiled, machine)
        for compiled, machine in ((programs, config), (programs, extended), (own, extended))
    )
    name = f"{model}: {extended.name} / {config.name}"
    yield Measurement(f"{name}, the same programs", same / base, "", LEAST_SHARE)
    yield Measurement(f"{name}, its own programs", other / base, "")


def _in_turns(runs: Iterator[Callable[[], float]]) -> tuple[float, ...]:
    """The best of several rates of each run, in turns: what disturbs one disturbs the other."""
    every = list(runs)
    rounds = [[run() for run in every] for _ in range(ROUNDS)]
    return tuple(max(rates) for rates in zip(*rounds, strict=True))


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A network's programs, and inputs for them."""

    artifact: Artifact
    inputs: Mapping[str, NDArray[Any]]


def _network(model: str, config: HardwareConfig) -> _Compiled:
    options = ModelOptions()
    opened = open_model(model, options, None)
    artifact = opened.network(Accelerator(config, DEFAULT_MEMORY, True), None).artifact
    return _Compiled(artifact, random_inputs(opened.inputs, seed=0))


def _network_rate(network: _Compiled, machine: HardwareConfig) -> float:
    """Cycles a second of a network's programs on the RTL of `machine`.

    It may be another machine than they are for, if it encodes them alike: `pynq-x` does what `pynq`
    does; of smaller machines the fields of instructions lie elsewhere with extensions, and the RTL
    refuses the program.
    """
    config = config_of(network.artifact)
    assert config is not None, "compiled for an accelerator"
    engine = RtlEngine(config, design=verilog_of(machine))
    try:
        devices: list[Device] = [AcceleratorDevice(engine), CpuDevice(threads=1)]
        profile = Executor(network.artifact, devices, perf_counter).run(network.inputs).profile
    finally:
        engine.close()
    streams = [stream.result for stream in profile.streams]
    assert profile.cycles is not None, "the rtl engine has time"
    return profile.cycles / sum(result.seconds for result in streams)


def _cycles_a_second(engine: RtlEngine, size: int) -> float:
    result = run_product(engine, size, size, size, seed=0).result
    assert result.cycles is not None, "the rtl engine has time"
    return result.cycles / result.seconds


def main() -> int:
    """Print the report; 1 where a target is missed."""
    config, extended = HardwareConfig(), load_config(EXTENDED)
    return print_measurements(
        chain(
            measure(config),
            measure_extensions(config, extended),
            measure_network(config, extended),
        )
    )


if __name__ == "__main__":
    sys.exit(main())
