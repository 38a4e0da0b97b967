"""Preflight of a launch, the same for every engine: checks, and the program copied into memory."""

from __future__ import annotations

from tandem.hw.bases import check_bases
from tandem.hw.config import HardwareConfig
from tandem.hw.errors import EncodingError
from tandem.hw.isa import Program, validate
from tandem.hw.registers import BUS_TIMEOUT_BITS
from tandem.sim.engine import Bytes, Launch
from tandem.sim.errors import EngineError
from tandem.sim.memory import load_program


def preflight(config: HardwareConfig, program: Program, memory: Bytes, how: Launch) -> None:
    """Check that a machine of configuration `config` can run `program`, and copy it into `memory`.

    Raises
    ------
    EngineError
        The program is for another configuration, a base register or the bus timeout is invalid, or
        `how` asks for time alone, which the cycle engine asks for in another way.
    ProgramError
        The program is illegal; only with `how.validate`.
    MemoryImageError
        `memory` cannot hold the program.
    """
    if not how.data:
        raise EngineError("no engine but cycle runs a program without its data")
    if program.config.replace(name=config.name) != config:
        raise EngineError(
            f"the program is for configuration {program.config.name}, "
            f"this engine was made for {config.name}"
        )
    if not 0 <= how.bus_timeout < 1 << BUS_TIMEOUT_BITS:
        raise EngineError(
            f"bus_timeout is {how.bus_timeout}: it must lie in 0..{(1 << BUS_TIMEOUT_BITS) - 1}"
        )
    try:
        check_bases(config, how.bases)
    except EncodingError as error:
        raise EngineError(str(error)) from None
    if how.validate:
        validate(program)
    load_program(program, memory, how)
