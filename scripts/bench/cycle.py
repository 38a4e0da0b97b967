"""Speed of the `cycle` engine beside the others: `python -m scripts.bench.cycle`.

Every engine runs the whole of ResNet-18 on `pynq`, without checks: `rtl` once, the others several
times, of which the fastest counts. Times are CPU time, which excludes waiting for other programs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import process_time

import numpy as np

from hw.config import HardwareConfig
from hw.config_files import load_config
from hw.isa import MemoryId, Program, validate
from hw.memory_model import DEFAULT_MEMORY, MemoryModel
from runtime.inputs import PixelNormalisation
from scripts.bench.functional import TABLE, tile_program
from scripts.bench.measurements import Measurement, print_measurements
from scripts.model_options import Quantise
from scripts.run.machine import open_model
from scripts.sources import Accelerator, ModelOptions
from sim.cycle.machine import Machine, make_machine
from sim.cycle.prepare import Prepared, make_run, prepare
from sim.cycle.reads import make_reads
from sim.cycle.run import make_runner
from sim.cycle.state import LAST
from sim.cycle.stores import make_stores
from sim.engine import Bytes, Launch
from sim.engines import make_engine
from sim.memory import place_program

MOST_SECONDS = 0.04
"""For the time of ResNet-18 alone, prepared."""
MOST_SECONDS_WITH_DATA = 0.3
"""More than the functional engine takes."""
LEAST_GEMM = 1e9
"""Cycles per second of a GEMM."""
ROUNDS = 7


def network(model: str, config: str) -> tuple[Program, Bytes]:
    """The program of a network, which must be one stream, and its image of memory."""
    options = ModelOptions(Quantise.MULTIPLIER, None, PixelNormalisation.IMAGENET, 0)
    accelerator = Accelerator(load_config(config), DEFAULT_MEMORY, True)
    artifact = open_model(model, options, None).network(accelerator, None).artifact
    (stream,) = artifact.streams.values()
    return Program(load_config(config), stream.program), np.asarray(stream.image)


def measure(program: Program, image: Bytes, *, rtl: bool = True) -> Iterator[Measurement]:
    """Measure every engine on a program."""
    config = program.config
    machine = make_machine(config, DEFAULT_MEMORY)
    memory, address = place_program(image, program)
    yield Measurement("validation", _seconds(lambda: validate(program)), "s")
    yield Measurement("tables", _seconds(lambda: prepare(config, program.columns())), "s")
    prepared = prepare(config, program.columns())
    seconds, cycles = _time_alone(machine, prepared, memory, address)
    yield Measurement("time alone, prepared", seconds, "s", MOST_SECONDS, at_most=True)
    yield Measurement("time alone, prepared", cycles / seconds, "cycles/s")
    quick = Launch(address=address, validate=False)
    functional = _launches("functional", program, image, quick)
    yield Measurement("functional", cycles / functional, "cycles/s")
    whole = _launches("cycle", program, image, quick)
    yield Measurement("cycle", cycles / whole, "cycles/s")
    yield Measurement(
        "cycle, beyond functional", whole - functional, "s", MOST_SECONDS_WITH_DATA, at_most=True
    )
    alone = _launches("cycle", program, image, Launch(address=address, validate=False, data=False))
    yield Measurement("cycle without data", cycles / alone, "cycles/s")
    if rtl:
        taken = _launches("rtl", program, image, quick, rounds=1)
        yield Measurement("rtl", cycles / taken, "cycles/s")


def measure_gemm(config: HardwareConfig) -> Measurement:
    """The time of a GEMM like those of compiled programs, alone."""
    program, table = tile_program(config)
    image = np.zeros(1 << 20, np.uint8)
    image[TABLE : TABLE + len(table)] = np.frombuffer(table, np.uint8)
    memory, address = place_program(image, program)
    machine = make_machine(config, MemoryModel(1, 1, 16))
    seconds, cycles = _time_alone(machine, prepare(config, program.columns()), memory, address)
    return Measurement("GEMM, time alone", cycles / seconds, "cycles/s", LEAST_GEMM)


def _time_alone(
    machine: Machine, prepared: Prepared, memory: Bytes, address: int
) -> tuple[float, int]:
    """The seconds in which the time of a prepared program is computed, and its last end."""
    best, last = float("inf"), 0
    for _ in range(ROUNDS):
        begun = process_time()
        uops = np.zeros(prepared.config.depth(MemoryId.UOP), np.int64)
        run = make_run(prepared, address, (0,) * 6, memory, uops)
        make_runner()(machine, run, make_reads(machine), make_stores(machine))
        best, last = min(best, process_time() - begun), int(run.state[LAST])
    return best, last


def _launches(
    name: str, program: Program, image: Bytes, how: Launch, rounds: int = ROUNDS
) -> float:
    """The seconds of an engine's fastest launch."""
    engine = make_engine(name, program.config)
    best = float("inf")
    for _ in range(rounds):
        memory, _ = place_program(image, program)
        begun = process_time()
        engine.launch(program, memory, how)
        best = min(best, process_time() - begun)
    engine.close()
    return best


def _seconds(work: object) -> float:
    assert callable(work)
    begun = process_time()
    work()
    return process_time() - begun


def _all() -> Iterator[Measurement]:
    yield from measure(*network("resnet18", "pynq"))
    yield measure_gemm(load_config("pynq"))


def main() -> int:
    """Print the report; 1 where a target is missed."""
    return print_measurements(_all())


if __name__ == "__main__":
    sys.exit(main())
