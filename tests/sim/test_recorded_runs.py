"""What runs of random programs and of damaged ones are stays what it was: cycles, events,
timelines, causes, faults.

Other tests compare engines with each other and with the RTL; here is what is made of their events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from random import Random
from typing import Any

import numpy as np

from tandem.hw.errors import HardwareError
from tandem.hw.isa import Load, Program, Unit, disassemble
from tandem.hw.isa.validate import validate
from tandem.hw.memory_model import MemoryModel
from tandem.sim.engine import Channel, Engine, Silence
from tandem.sim.engines import make_engine
from tandem.sim.errors import SimulationError
from tandem.sim.fill import fill_on_chip
from tandem.sim.result import Result
from tandem.sim.trace import Labels, timeline
from tandem.sim.why.causes import activities, layer_causes
from tandem.sim.why.critical_path import PathFinder
from tandem.sim.why.layer_paths import layer_paths
from tandem.sim.why.lone_loads import LoneLoads
from tandem.sim.why.times import RunTimes
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program

MACHINES = ("tiny", "small8", "batch2", "wide_bus", "extended", "requantising")
RUNS = 18
DAMAGED = 96
LENGTH = 30
"""Instructions of a program."""


def _of_result(result: Result) -> list[str]:
    units = {unit.name: str(cycles) for unit, cycles in (result.units or {}).items()}
    lines = [f"{result.engine} {result.cycles} cycles", str(units), str(result.work)]
    return [*lines, *map(str, result.events)]


def _labels(program: Program) -> Labels:
    """Three layers, of which the first and the last instruction have none."""
    numbers = np.array([at * 3 // len(program) for at in range(len(program))])
    numbers[[0, -1]] = -1
    places = [f"place {at % 5}" if at % 2 else "" for at in range(len(program))]
    return Labels(("one", "two", "three"), (10, 0, 300), numbers, places)


def _why(program: Program, result: Result, memory: MemoryModel) -> list[str]:
    """Causes of each layer's cycles, critical paths, and LOADs alone on the bus."""
    labels = _labels(program)
    numbers, layers = labels.layer_of.tolist(), len(labels.layers)
    times = RunTimes.of(program, result)
    alone = LoneLoads(program, memory)
    finder = PathFinder.of(program, times, alone)
    paths = layer_paths(program, result, labels, memory)
    lines = [str([each.name for each in activities(program)])]
    lines += [str(each) for each in layer_causes(program, times, numbers, layers)]
    lines += [str(each) for each in paths]
    lines += [str(each) for each in finder.path(0, times.cycles)]
    middle = times.streams[Unit.COMPUTE][len(times.streams[Unit.COMPUTE]) // 2]
    lines += [str(each) for each in finder.path(times.cycles // 5, times.end[middle])]
    loads = [at for at, each in enumerate(program) if isinstance(each, Load)]
    return lines + [f"LOAD {at}: {alone(at)}" for at in loads]


def _run(seed: int) -> str:
    rng = Random(f"run {seed}")
    config = machine(MACHINES[seed % len(MACHINES)])
    memory = MemoryModel(rng.choice((1, 3, 16, 90)), rng.choice((1, 2, 5)), rng.choice((1, 2, 16)))
    drawn = random_program(config, seed, LENGTH)
    program = drawn.program
    lines = [f"{config.name} {memory}", disassemble(program)]
    for name in ("functional", "cycle"):
        engine = make_engine(name, config, memory)
        result, after = launch(engine, program, drawn.image, events=True)
        engine.close()
        lines += [*_of_result(result), sha256(after.tobytes()).hexdigest()]
    lines += map(str, timeline(result, program))
    lines += map(str, timeline(result, program, _labels(program)))
    return "\n".join([*lines, *_why(program, result, memory)])


def test_runs(recorded: Callable[[str, Sequence[str]], None]) -> None:
    recorded("recorded/sim/runs.txt", [_run(seed) for seed in range(RUNS)])


def _outcome(engine: Engine, program: Program, image: Any, how: Mapping[str, Any]) -> list[str]:
    """How a launch ends, and what it leaves in memory."""
    try:
        result, after = launch(engine, program, image, **how)
    except (HardwareError, SimulationError) as error:
        return [f"{type(error).__name__}: {error}", *_fields(error)]
    return [*_of_result(result), sha256(after.tobytes()).hexdigest()]


def _fields(error: Exception) -> list[str]:
    """What an error knows beside its message."""
    return [f"{name} {value}" for name, value in sorted(vars(error).items()) if name != "result"]


def _damaged(seed: int) -> str:
    """A program with bits changed, or a launch with a limit, on both engines."""
    rng = Random(f"damaged {seed}")
    config = machine(MACHINES[seed % len(MACHINES)])
    drawn = random_program(config, seed % 6, 12)
    data = bytearray(drawn.program.data)
    how: dict[str, Any] = {"events": seed % 4 == 0}
    if seed % 5 == 0:
        how["max_cycles"] = rng.randint(1, 900)
    else:
        for _ in range(rng.randint(1, 2)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    if seed % 3:
        how["validate"] = False
    if seed % 7 == 0:
        how["bus_errors"] = ((4096, 4096 + rng.choice((16, 4096, 1 << 20))),)
    if seed % 11 == 0:
        channel = rng.choice([*Channel])
        silence = Silence(channel, rng.randint(10, 400), rng.choice((20, 90)))
        how |= {"bus_timeout": 40, "silence": silence}
    program = Program.from_bytes(config, bytes(data))
    lines = [f"{config.name} {how}"]
    try:
        lines.append(disassemble(program))
        validate(program)
    except HardwareError as error:
        lines.append(f"{type(error).__name__}: {error}")
    for name in ("functional", "cycle"):
        engine = make_engine(name, config, MemoryModel(5, 1, 4))
        fill_on_chip(engine, seed)
        lines += _outcome(engine, program, drawn.image, how)
        engine.close()
    return "\n".join(lines)


def test_damaged_programs(recorded: Callable[[str, Sequence[str]], None]) -> None:
    recorded("recorded/sim/damaged.txt", [_damaged(seed) for seed in range(DAMAGED)])
