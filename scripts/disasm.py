"""`tandem disasm`: print a raw program as text, and verify the order of its instructions."""

from __future__ import annotations

from typing import Annotated

import typer

from tandem.hw.isa import disassemble
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.options import (
    DEFAULT_CONFIG,
    ConfigOption,
    DebugOption,
    JsonOption,
    parse_number,
)
from tandem.scripts.programs import (
    ImageOption,
    ProgramArgument,
    StreamOption,
    read_program,
)
from tandem.workbench.program_proof import prove


def command(
    context: typer.Context,
    program: ProgramArgument,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Prove that the tokens order all conflicting accesses, or fail. Warn of what "
            "VTA's machines do not have.",
        ),
    ] = False,
    image: ImageOption = None,
    program_address: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=parse_number,
            help="Where the program lies, in bytes (default: above the image).",
        ),
    ] = None,
    stream: StreamOption = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print a raw program as text, or an artifact's instruction stream, one line an instruction.

    Illegal instructions are printed too, with what is wrong about them. --verify fails where two
    unordered instructions access one location, or tokens do not balance. The accesses of GEMM and
    ALU depend on micro-ops: without a memory image they are not checked, and the verdict says so.

    After the verdict of --verify come warnings, for programs meant for VTA as well: its machines
    end at FINISH, have no page 0 (base registers are 0 here), and lack some operations.
    """
    with errors_in_one_line(debug):
        if not verify and (image is not None or program_address is not None):
            raise typer.BadParameter("--image and --program-address are for --verify")
        loaded = read_program(context, program, stream, image, config)
        text = disassemble(loaded.program)
        if as_json:
            result: dict[str, object] = {
                "config": loaded.config.name,
                "instructions": text.splitlines(),
            }
            found = prove(loaded, program_address) if verify else None
            if found is not None:
                result["verification"] = found.as_json()
            print_json(result)
        else:
            typer.echo(text.rstrip("\n"))
            found = prove(loaded, program_address) if verify else None
        if found is not None:
            found.report.raise_if_any(allow_unchecked=loaded.image is None)
            if not as_json:
                typer.echo(found.verdict)
                for warning in found.warnings:
                    typer.echo(f"warning: {warning}")
