"""Streams of operators, compiled and run on an engine, with every check on the way."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from tandem.compiler.machines.accelerator.lower.dram_layout import Operator
from tandem.compiler.machines.accelerator.lower.stream import Stream, compile_stream
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.te import Schedule
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.hazards import check_hazards
from tandem.hw.memory_model import parse_memory
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine
from tandem.sim.fill import fill_on_chip
from tandem.sim.memory import place_program
from tandem.sim.result import Result
from tests.support.compiler.machines.accelerator.vta import check_for_vta

Array = npt.NDArray[np.generic]

JUNK = 0xA5
"""Initial value of all on-chip bytes, so that tests detect reads of unwritten elements."""


def stream_of(
    schedule: Schedule,
    config: HardwareConfig,
    immediates: Mapping[str, int] = MappingProxyType({}),
) -> Stream:
    """The stream of one operator, whose tensors keep their names."""
    operator = Operator(schedule.program, {}, immediates=immediates)
    return compile_stream([operator], AcceleratorTarget.of(config))


def run_schedule(
    schedule: Schedule,
    config: HardwareConfig,
    values: Mapping[str, Array],
    engine: str,
    immediates: Mapping[str, int] = MappingProxyType({}),
) -> Array:
    """The output of a compiled and executed schedule with one output."""
    (output,) = schedule.program.outputs
    outputs, _ = run_stream(stream_of(schedule, config, immediates), values, engine)
    return outputs[output.name]


def run_stream(
    stream: Stream, values: Mapping[str, Array], engine: str = "functional", memory: str = "fast"
) -> tuple[dict[str, Array], Result]:
    """Prove that tokens order the stream, and run it on a machine with `JUNK` in its memories.

    Parameters
    ----------
    values
        Tensors by name; all other tensors are zero.
    engine, memory
        The names of the command line.

    Returns
    -------
    tuple
        Every tensor that an operator computes, by name, and the engine's result. All other memory
        is checked to be unchanged.
    """
    config = stream.target.config
    image = stream.image(values)
    dram, address = place_program(image, stream.program)
    check_for_vta(stream.program)
    end = address + len(stream.program) * INSTRUCTION_BYTES
    check_hazards(stream.program, image=dram, program_bytes=range(address, end)).raise_if_any()
    machine = make_engine(engine, config, parse_memory(memory))
    try:
        fill_on_chip(machine, JUNK)
        result = machine.launch(stream.program, dram, Launch(address=address))
    finally:
        machine.close()
    names = [
        operator.tensors.get(output.name, output.name)
        for operator, _ in stream.elaborated
        for output in operator.program.outputs
    ]
    untouched = np.ones(len(image), dtype=np.bool_)
    for name in names:
        place_of_it = stream.tensors[name]
        untouched[place_of_it.address : place_of_it.address + place_of_it.size] = False
    np.testing.assert_array_equal(dram[: len(image)][untouched], image[untouched])
    return {name: stream.read(dram, name) for name in names}, result
