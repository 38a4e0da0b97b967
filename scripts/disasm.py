"""`tandem disasm`: print a raw program as text."""

from __future__ import annotations

import typer

from hw.config_files import load_config
from hw.isa import Program, disassemble
from scripts.options import (
    DEFAULT_CONFIG,
    ConfigOption,
    DebugOption,
    JsonOption,
    ProgramArgument,
)
from scripts.report import errors_in_one_line, print_json

__all__ = ["command"]


def command(
    program: ProgramArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print a raw program as text, one line an instruction.

    Illegal instructions are printed too, with what is wrong about them.
    """
    with errors_in_one_line(debug):
        machine = load_config(config)
        text = disassemble(Program.from_bytes(machine, program.read_bytes()))
        if as_json:
            print_json({"config": machine.name, "instructions": text.splitlines()})
        else:
            typer.echo(text.rstrip("\n"))
