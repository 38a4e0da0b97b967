"""The proof that the tokens of a program order all accesses that conflict."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.hw.hazards import HazardReport, check_hazards
from tandem.hw.vta_rules import VtaWarning, vta_warnings
from tandem.sim.memory import place_program
from tandem.workbench.programs import LoadedProgram


@dataclass(frozen=True, slots=True, repr=False)
class Proof:
    """The proof of a program, or what is wrong with it, and warnings for VTA's machines.

    Attributes
    ----------
    report
        The token fault, races, overwrites of the program, and what was not checked.
    warnings
        What VTA's machines do not have.
    """

    report: HazardReport
    warnings: tuple[VtaWarning, ...]

    @property
    def proved(self) -> bool:
        """Whether every order in which the machine can run the program has the same result."""
        return self.report.proved

    @property
    def verdict(self) -> str:
        """The result in a sentence: what is proved, what is not checked, or the first fault."""
        report = self.report
        if report.proved:
            return "verified: tokens balance, and order all that must be ordered"
        if report.token_fault is not None:
            return f"not verified: {report.token_fault}"
        if report.races or report.overwrites:
            return f"not verified: {(*report.races, *report.overwrites)[0]}"
        unchecked = "; ".join(map(str, report.unchecked))
        return f"verified in part: tokens balance, and no race was found, but {unchecked}"

    def as_json(self) -> dict[str, object]:
        """The entry `verification` of the command's JSON."""
        report = self.report
        fault = report.token_fault
        return {
            "proved": report.proved,
            "tokens": None if fault is None else str(fault),
            "races": [str(race) for race in report.races],
            "race_count": report.race_count,
            "overwrites": [str(overwrite) for overwrite in report.overwrites],
            "unchecked": [str(unchecked) for unchecked in report.unchecked],
            "vta_warnings": [str(warning) for warning in self.warnings],
        }

    def __repr__(self) -> str:
        return "\n".join([self.verdict, *(f"warning: {warning}" for warning in self.warnings)])


def prove(loaded: LoadedProgram, address: int | None) -> Proof:
    """Look for accesses that no token orders.

    The accesses of GEMM and ALU depend on micro-ops, which are in the memory image: without one
    they are not checked.

    Parameters
    ----------
    address
        Where the program lies in memory; None for the first page above the image.

    Raises
    ------
    MemoryImageError
        The program cannot be placed there.
    """
    program, memory = loaded.program, None
    if loaded.image is not None:
        memory, address = place_program(loaded.image, program, address)
    where = None if address is None else range(address, address + len(program.data))
    report = check_hazards(program, image=memory, program_bytes=where)
    return Proof(report, vta_warnings(program, program_bytes=where))
