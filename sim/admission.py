"""What every engine does before a run: refuse what cannot be run, and put the program in memory."""

from __future__ import annotations

from hw.config import HardwareConfig
from hw.isa import Program, validate
from sim.engine import Bytes, Launch
from sim.errors import EngineError
from sim.memory import check_bases, load_program

__all__ = ["admit"]


def admit(config: HardwareConfig, program: Program, memory: Bytes, how: Launch) -> None:
    """Copy `program` into `memory`, where a machine of configuration `config` will find it.

    Raises
    ------
    EngineError
        The program is for another configuration, or a base register is impossible.
    ProgramError
        The program is illegal, and `how.validate` asks.
    MemoryImageError
        `memory` cannot hold the program.
    """
    if program.config.replace(name=config.name) != config:
        raise EngineError(
            f"the program is for configuration {program.config.name}, "
            f"this engine was made for {config.name}"
        )
    check_bases(config, how.bases)
    if how.validate:
        validate(program)
    load_program(program, memory, how)
