"""Measures choices on the accelerator: the exact cycles of a layer alone, by the `cycle` engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.base.errors import BaseError
from tandem.compiler.errors import CompilerError
from tandem.compiler.machines.accelerator.lower.dram_layout import Operator
from tandem.compiler.machines.accelerator.lower.stream import compile_stream
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.plan.schedule_template import ScheduleTemplate
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.trial import Outcome
from tandem.hw.config import HardwareConfig
from tandem.hw.errors import HardwareError
from tandem.hw.isa import Program
from tandem.hw.memory_model import MemoryModel
from tandem.sim.engine import Engine, Launch
from tandem.sim.engines import make_engine
from tandem.sim.errors import CycleLimitError, NeedsDataError, SimulationError
from tandem.sim.memory import place_program
from tandem.sim.result import Result


@dataclass(frozen=True, slots=True)
class MeasuredLayer:
    """A layer to compile and measure alone; it goes to any process that can import its template.

    Attributes
    ----------
    template
        The schedule template, ours or another.
    immediates
        The program's arguments that are immediates of instructions; time does not depend on them.
    channels
        Its arguments with a value for each channel, by name: shifts among them have to be valid.
    own
        For sketches of a layer: what is measured for the choice without settings, a layer of its
        template with a choice of its own.
    """

    config: HardwareConfig
    memory: MemoryModel
    template: ScheduleTemplate[Any, AcceleratorTarget]
    workload: Any
    immediates: Mapping[str, int]
    channels: Mapping[str, NDArray[np.generic]]
    own: tuple[MeasuredLayer, Choice] | None = None


def cycles_of(layer: MeasuredLayer, choice: Choice, limit: float) -> Outcome:
    """The exact cycles of `layer` with a choice, from launch to done; abandoned above `limit`."""
    engine = _engine(layer.config, layer.memory)
    try:
        program, image = compiled(layer, choice)
        most = int(limit) if np.isfinite(limit) else None
        return Outcome.measured(exact_cycles(engine, program, image, most))
    except CycleLimitError:
        return Outcome.abandoned()
    except (CompilerError, BaseError, HardwareError, SimulationError) as error:
        return Outcome.failed(f"{type(error).__name__}: {error}")


def compiled(layer: MeasuredLayer, choice: Choice) -> tuple[Program, NDArray[np.uint8]]:
    """The program of a layer alone, and the image of DRAM that it runs on.

    Raises
    ------
    CompilerError, BaseError, HardwareError
        The choice cannot be compiled.
    """
    if not choice and layer.own is not None:
        layer, choice = layer.own
    machine = _machine(layer.config)
    program = layer.template.schedule(layer.workload, choice, machine).program
    coded = layer.template.stored(layer.workload, machine)
    operator = Operator(program, {}, immediates=layer.immediates, coded=coded)
    stream = compile_stream([operator], machine)
    return stream.program, stream.image(layer.channels)


def exact_cycles(
    engine: Engine, program: Program, image: NDArray[np.uint8], limit: int | None = None
) -> int:
    """The cycles of a program, from launch to done, computed with data only if it needs them.

    The program is one that `compile_stream` has made, and thus validated.

    Raises the errors of `Engine.launch`.
    """
    cycles = timed_run(engine, program, image, limit).cycles
    assert cycles is not None, "the cycle engine knows time"
    return cycles


def timed_run(
    engine: Engine,
    program: Program,
    image: NDArray[np.uint8],
    limit: int | None = None,
    *,
    events: bool = False,
) -> Result:
    """A run of a program that `compile_stream` has made, with data only if its time needs them.

    Raises the errors of `Engine.launch`.
    """
    memory, address = place_program(image, program)
    how = Launch(address=address, data=False, max_cycles=limit, validate=False, events=events)
    try:
        return engine.launch(program, memory, how)
    except NeedsDataError:
        return engine.launch(program, memory, replace(how, data=True))


@cache
def _machine(config: HardwareConfig) -> AcceleratorTarget:
    return AcceleratorTarget.of(config)


@cache
def _engine(config: HardwareConfig, memory: MemoryModel) -> Engine:
    """An engine for all measurements of a process, on one machine."""
    return make_engine("cycle", config, memory)
