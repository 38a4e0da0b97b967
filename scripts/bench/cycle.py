"""Speed of the `cycle` engine beside the others: `python -m tandem.scripts.bench.cycle`.

Three programs on `pynq`: the whole of ResNet-18, one of its layers, and GEMMs like those of
compiled programs. For each the cycles simulated per second by `rtl`, `cycle` and `functional`;
`cycle` also without data, and its time alone, of tables that are made once for a program. Checks
(of a program before its launch) are included and left out. Times are CPU time, which excludes
waiting for other programs: of `rtl` one run, of the others the fastest of several.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import process_time

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import MemoryId, Program, TokenQueue, validate
from tandem.hw.isa.columns import Columns
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.hw.topology import BASE_REGISTERS, POPS, PUSHES, TOKEN_FLAGS
from tandem.runtime.artifact import streams_of
from tandem.runtime.artifact.stream import StreamCode
from tandem.scripts.bench.functional import TABLE, tile_program
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.sim.cycle.machine import make_machine
from tandem.sim.cycle.prepare import make_run, prepare
from tandem.sim.cycle.reads import make_reads
from tandem.sim.cycle.run import run_program
from tandem.sim.cycle.state import LAST
from tandem.sim.cycle.stores import make_stores
from tandem.sim.engine import Bytes, Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tandem.workbench.devices import Accelerator
from tandem.workbench.models import ModelOptions
from tandem.workbench.opened import open_model

CONFIG = "pynq"
LAYER = "layer3_1_relu1"
MOST_VALIDATION = 0.01
MOST_SECONDS = 0.04
"""For the time of ResNet-18 alone, prepared."""
MOST_SECONDS_WITH_DATA = 0.3
LEAST_LAYER = 4e8
"""Cycles per second of the layer's time alone."""
LEAST_GEMM = 1e9
LEAST_GEMM_WITH_DATA = 1e8
ROUNDS = 9


@dataclass(frozen=True, slots=True)
class Subject:
    """A program to measure, and its image of memory.

    Attributes
    ----------
    least, least_with_data
        Targets in cycles per second: of the time alone, and of a launch of `cycle` without checks.
    """

    name: str
    program: Program
    image: Bytes
    least: float | None = None
    least_with_data: float | None = None


def network(model: str, config: str) -> tuple[StreamCode, Program]:
    """The stream of a network, which must have one, and its program."""
    options = ModelOptions()
    accelerator = Accelerator(load_config(config), DEFAULT_MEMORY, True)
    artifact = open_model(model, options, None).network(accelerator, None).artifact
    (stream,) = streams_of(artifact).values()
    return stream, Program(load_config(config), stream.program)


def layer_program(stream: StreamCode, program: Program, name: str) -> Program:
    """The instructions of one layer and FINISH, without the tokens that other layers push or pop.

    Of a layer alone the time means something, but not its results.
    """
    number = [layer.name for layer in stream.layers].index(name)
    kept = np.flatnonzero(stream.layer_of == number)
    columns, units = program.columns(), program.units()
    names = Columns.__dataclass_fields__
    fields = {field: getattr(columns, field).copy() for field in names}
    for queue in TokenQueue:
        push = TOKEN_FLAGS[2 + PUSHES[queue.producer].index(queue)]
        pop = TOKEN_FLAGS[POPS[queue.consumer].index(queue)]
        pushes = np.flatnonzero((units == queue.producer) & (fields[push] == 1))
        pops = np.flatnonzero((units == queue.consumer) & (fields[pop] == 1))
        # The n-th token pushed is the n-th popped.
        whole = np.isin(pushes, kept) & np.isin(pops, kept)
        fields[push][pushes[~whole]] = 0
        fields[pop][pops[~whole]] = 0
    last = np.append(kept, len(program) - 1)
    return Program.from_columns(
        program.config, Columns(**{field: column[last] for field, column in fields.items()})
    )


def subjects() -> Iterator[Subject]:
    """The programs to measure."""
    stream, program = network("resnet18", CONFIG)
    image = np.asarray(stream.image)
    yield Subject("resnet18", program, image)
    yield Subject(LAYER, layer_program(stream, program, LAYER), image, LEAST_LAYER)
    yield gemm_subject(load_config(CONFIG))


def gemm_subject(config: HardwareConfig) -> Subject:
    """Two thousand GEMMs like those of compiled programs."""
    program, table = tile_program(config)
    image = np.zeros(1 << 20, np.uint8)
    image[TABLE : TABLE + len(table)] = np.frombuffer(table, np.uint8)
    return Subject("GEMM", program, image, LEAST_GEMM, LEAST_GEMM_WITH_DATA)


def measure(subject: Subject, *, rtl: bool = True) -> Iterator[Measurement]:
    """Measure every engine on a program."""
    seconds, cycles = _time_alone(subject)

    def rate(what: str, taken: float, target: float | None = None) -> Measurement:
        return Measurement(f"{subject.name}: {what}", cycles / taken, "cycles/s", target)

    yield rate("cycle, time alone, prepared", seconds, subject.least)
    for checked, checks in ((True, "with checks"), (False, "without")):
        if rtl:
            yield rate(f"rtl, {checks}", _launch("rtl", subject, checked, rounds=1))
        target = None if checked else subject.least_with_data
        yield rate(f"cycle, {checks}", _launch("cycle", subject, checked), target)
        alone = _launch("cycle", subject, checked, data=False)
        yield rate(f"cycle, no data, {checks}", alone)
        yield rate(f"functional, {checks}", _launch("functional", subject, checked))


def measure_seconds(subject: Subject) -> Iterator[Measurement]:
    """The parts of a launch of `cycle`, in seconds."""
    program, config = subject.program, subject.program.config
    checks = _seconds(lambda: validate(program))
    tables = _seconds(lambda: prepare(config, program.columns()))
    alone, _ = _time_alone(subject)
    with_data = _launch("cycle", subject, checked=False)
    for what, seconds, most in (
        ("validation", checks, MOST_VALIDATION),
        ("tables", tables, None),
        ("time alone, prepared", alone, MOST_SECONDS),
        ("with data, without checks", with_data, MOST_SECONDS_WITH_DATA),
    ):
        yield Measurement(f"{subject.name}: {what}", seconds, "s", most, at_most=True)


def _time_alone(subject: Subject) -> tuple[float, int]:
    """The seconds in which the time of a prepared program is computed, and its last end."""
    config = subject.program.config
    machine, prepared = (
        make_machine(config, DEFAULT_MEMORY),
        prepare(config, subject.program.columns()),
    )
    memory, address = place_program(subject.image, subject.program)
    last = 0

    def compute() -> None:
        nonlocal last
        uops = np.zeros(config.depth(MemoryId.UOP), np.int64)
        run = make_run(prepared, address, (0,) * BASE_REGISTERS, memory, uops)
        run_program(machine, run, make_reads(machine), make_stores(machine))
        last = int(run.state[LAST])

    return _seconds(compute), last


def _launch(
    name: str, subject: Subject, checked: bool, *, data: bool = True, rounds: int = ROUNDS
) -> float:
    """The seconds of an engine's fastest launch."""
    engine = make_engine(name, subject.program.config)
    memory, address = place_program(subject.image, subject.program)
    how = Launch(address=address, validate=checked, data=data)

    def launch() -> None:
        memory[: subject.image.size] = subject.image
        engine.launch(subject.program, memory, how)

    try:
        return _seconds(launch, rounds)
    finally:
        engine.close()


def _seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The CPU time of the fastest of several calls."""
    best = float("inf")
    for _ in range(rounds):
        begun = process_time()
        work()
        best = min(best, process_time() - begun)
    return best


def _all() -> Iterator[Measurement]:
    for number, subject in enumerate(subjects()):
        if not number:
            yield from measure_seconds(subject)
        yield from measure(subject)


def main() -> int:
    """Print the report; 1 where a target is missed."""
    return print_measurements(_all())


if __name__ == "__main__":
    sys.exit(main())
