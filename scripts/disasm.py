"""`tandem disasm`: print a raw program as text, and verify the order of its instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tandem.hw.hazards import HazardReport, check_hazards
from tandem.hw.isa import disassemble
from tandem.hw.vta_rules import VtaWarning, vta_warnings
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
    LoadedProgram,
    ProgramArgument,
    StreamOption,
    read_program,
)
from tandem.sim.memory import place_program


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
            found = _verify(loaded, program_address) if verify else None
            if found is not None:
                result["verification"] = _as_json(found)
            print_json(result)
        else:
            typer.echo(text.rstrip("\n"))
            found = _verify(loaded, program_address) if verify else None
        if found is not None:
            found.report.raise_if_any(allow_unchecked=loaded.image is None)
            if not as_json:
                typer.echo(_verdict(found.report))
                for warning in found.warnings:
                    typer.echo(f"warning: {warning}")


@dataclass(frozen=True, slots=True)
class _Verification:
    """The proof of a program, and warnings for VTA."""

    report: HazardReport
    warnings: tuple[VtaWarning, ...]


def _verify(loaded: LoadedProgram, address: int | None) -> _Verification:
    program, memory = loaded.program, None
    if loaded.image is not None:
        memory, address = place_program(loaded.image, program, address)
    where = None if address is None else range(address, address + len(program.data))
    report = check_hazards(program, image=memory, program_bytes=where)
    return _Verification(report, vta_warnings(program, program_bytes=where))


def _verdict(report: HazardReport) -> str:
    if report.proved:
        return "verified: tokens balance, and order all that must be ordered"
    unchecked = "; ".join(map(str, report.unchecked))
    return f"verified in part: tokens balance, and no race was found, but {unchecked}"


def _as_json(found: _Verification) -> dict[str, object]:
    report = found.report
    fault = report.token_fault
    return {
        "proved": report.proved,
        "tokens": None if fault is None else str(fault),
        "races": [str(race) for race in report.races],
        "race_count": report.race_count,
        "overwrites": [str(overwrite) for overwrite in report.overwrites],
        "unchecked": [str(unchecked) for unchecked in report.unchecked],
        "vta_warnings": [str(warning) for warning in found.warnings],
    }
