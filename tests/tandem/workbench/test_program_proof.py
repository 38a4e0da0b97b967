"""What proofs say of programs: verdicts by hand, and where a program lies."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.hazards import HazardReport
from tandem.hw.hazards.hazard_report import Overwrite, Unchecked, Unknown
from tandem.hw.isa import Finish, MemoryId, Program
from tandem.hw.isa.instructions import Gemm, Store, Tokens
from tandem.sim.errors import MemoryImageError
from tandem.workbench.program_proof import Proof, prove
from tandem.workbench.programs import LoadedProgram

TINY = load_config("tiny")
FAULT = ProgramError(Fault.TOKENS_LEFT, None, "a token is left")
OVERWRITE, OTHER = Overwrite(3, 0x1000), Overwrite(4, 0x1010)
UNCHECKED = Unchecked(Unknown.NO_IMAGE, (1, 2))


def report(
    fault: ProgramError | None = None,
    overwrites: tuple[Overwrite, ...] = (),
    unchecked: tuple[Unchecked, ...] = (),
) -> HazardReport:
    return HazardReport(
        token_fault=fault, races=(), race_count=0, overwrites=overwrites, unchecked=unchecked
    )


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (report(), "verified: tokens balance, and order all that must be ordered"),
        (report(FAULT, (OVERWRITE,), (UNCHECKED,)), f"not verified: {FAULT}"),
        (report(None, (OVERWRITE, OTHER), (UNCHECKED,)), f"not verified: {OVERWRITE}"),
        (
            report(None, (), (UNCHECKED, Unchecked(Unknown.UNLOADED, (4,)))),
            "verified in part: tokens balance, and no race was found, but instruction 1 (and 1 "
            "more alike) uses micro-ops, and there is no memory image that holds them; "
            "instruction 4 uses micro-ops that the program never loaded",
        ),
    ],
)
def test_verdicts(found: HazardReport, verdict: str) -> None:
    proof = Proof(found, ())
    assert proof.verdict == repr(proof) == verdict
    assert proof.proved == verdict.startswith("verified:")


def test_json() -> None:
    assert Proof(report(FAULT, (OVERWRITE,), (UNCHECKED,)), ()).as_json() == {
        "proved": False,
        "tokens": str(FAULT),
        "races": [],
        "race_count": 0,
        "overwrites": [str(OVERWRITE)],
        "unchecked": [str(UNCHECKED)],
        "vta_warnings": [],
    }
    assert Proof(report(), ()).as_json()["tokens"] is None


def gemm() -> LoadedProgram:
    """A GEMM of a micro-op that no LOAD brought, and the end."""
    one = Gemm(
        reset=False,
        uop_bgn=0,
        uop_end=1,
        iter_out=1,
        iter_in=1,
        dst_factor_out=0,
        dst_factor_in=0,
        src_factor_out=0,
        src_factor_in=0,
        wgt_factor_out=0,
        wgt_factor_in=0,
    )
    return LoadedProgram(Program.from_instructions(TINY, [one, Finish()]), None)


def test_micro_ops_are_checked_with_an_image() -> None:
    without = prove(gemm(), None)
    assert [each.instructions for each in without.report.unchecked] == [(0,)]
    assert not without.proved
    assert without.verdict.startswith("verified in part")


def storing(address: int, image_bytes: int | None) -> LoadedProgram:
    """A STORE of one element to an address, and the end."""
    size = TINY.element_bytes(MemoryId.OUT)
    store = Store(
        memory=MemoryId.OUT,
        sram_base=0,
        dram_base=address // size,
        y_size=1,
        x_size=1,
        x_stride=1,
        tokens=Tokens(),
    )
    program = Program.from_instructions(TINY, [store, Finish()])
    image = None if image_bytes is None else np.zeros(image_bytes, np.uint8)
    return LoadedProgram(program, image)


def test_a_program_lies_above_its_image_unless_somebody_says_where() -> None:
    over = prove(storing(4096, 64), None)
    assert [each.address for each in over.report.overwrites] == [4096]
    assert not prove(storing(4096 - 64, 64), None).report.overwrites
    assert not prove(storing(4096, 64), 8192).report.overwrites
    assert prove(storing(8192, 64), 8192).report.overwrites
    # Without an image it lies nowhere, unless somebody says where.
    assert not prove(storing(4096, None), None).report.overwrites
    assert prove(storing(4096, None), 4096).report.overwrites
    with pytest.raises(MemoryImageError):
        prove(storing(0, 64), 16)
