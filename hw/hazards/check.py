"""The hazard checker: from a program and its memory image to a report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.errors import EncodingError, ProgramError
from tandem.hw.faults import Fault
from tandem.hw.hazards.conflicts import search
from tandem.hw.hazards.dram import Rectangles, rectangles_of
from tandem.hw.hazards.explain import race_of
from tandem.hw.hazards.hazard_report import HazardReport, Overwrite, Unchecked, Unknown
from tandem.hw.isa.columns import Columns, Ints, units_of
from tandem.hw.isa.program import Program
from tandem.hw.isa.validate import validate_columns
from tandem.hw.topology import BASE_REGISTERS

RACES_KEPT = 100
"""The most races that a report holds. A program without tokens has thousands of races."""

Bytes = npt.NDArray[np.uint8]


def check_hazards(
    program: Program,
    *,
    image: Bytes | bytes | None = None,
    bases: Sequence[int] = (0,) * BASE_REGISTERS,
    program_bytes: range | None = None,
) -> HazardReport:
    """Check that the tokens of `program` order all conflicting accesses, whatever the timing.

    Instructions of different units that access an element of an on-chip memory, or a byte of
    DRAM, one of them writing, must be ordered by tokens (`order`, `conflicts`). On-chip memory
    counts as not loaded when the program starts. DRAM accesses are assumed to stay inside memory.

    Parameters
    ----------
    image
        Memory at launch, index == physical address: it holds the micro-ops. Without it, or where
        micro-ops are not known for another reason, GEMM and ALU are unchecked in the report.
    bases
        The base registers, by `MemoryId`, in bytes.
    program_bytes
        The physical byte addresses of the program: no STORE may write there.

    Raises
    ------
    ProgramError
        An instruction is illegal, or there is no FINISH; faulty tokens are in the report instead.
    EncodingError
        A base register that the machine cannot hold, or an image that is no flat array of bytes.
    """
    columns = program.columns()
    token_fault = _token_fault(program.config, columns)
    units = units_of(columns)
    rectangles = rectangles_of(program.config, columns, bases)
    data = np.frombuffer(image, dtype=np.uint8) if isinstance(image, bytes) else image
    if data is not None and (data.ndim != 1 or data.dtype != np.uint8):
        raise EncodingError(
            f"the image is an array of {data.dtype} with {data.ndim} dimensions: "
            f"it must be a flat array of uint8"
        )
    found = search(program.config, columns, units, rectangles, bases, data, RACES_KEPT)
    owners = units.tolist()
    unknown = {
        **found.unknown,
        Unknown.BEYOND_ADDRESSES: _beyond(rectangles, program.config.address_bits),
        Unknown.NEVER_STARTS: found.never,
    }
    return HazardReport(
        token_fault=token_fault,
        races=tuple(race_of(program, owners, conflict) for conflict in found.conflicts),
        race_count=found.count,
        overwrites=_overwrites(rectangles, program_bytes),
        unchecked=tuple(
            Unchecked(reason, tuple(positions.tolist()))
            for reason, positions in sorted(unknown.items())
            if len(positions)
        ),
    )


_TOKEN_FAULTS = (Fault.TOKEN_OVERFLOW, Fault.TOKENS_LEFT, Fault.DEADLOCK)


def _token_fault(config: HardwareConfig, columns: Columns) -> ProgramError | None:
    """The token fault of an otherwise legal program; None if its tokens balance."""
    try:
        validate_columns(config, columns)
    except ProgramError as error:
        if error.fault not in _TOKEN_FAULTS:
            raise
        return error
    return None


def _beyond(rectangles: Rectangles, address_bits: int) -> Ints:
    """Instructions with addresses of too many bits: the machine drops the high bits."""
    largest = min(1 << address_bits, np.iinfo(np.int64).max)
    return np.flatnonzero(rectangles.end > largest)


def _overwrites(rectangles: Rectangles, program_bytes: range | None) -> tuple[Overwrite, ...]:
    """STOREs into the bytes of the program."""
    if not program_bytes:
        return ()
    begin, end = program_bytes.start, program_bytes.stop
    overlaps = rectangles.stores & (rectangles.first < end) & (rectangles.end > begin)
    found = []
    for position in np.flatnonzero(overlaps):
        starts = rectangles.row_starts(np.array([position]))
        hit = starts[(starts < end) & (starts + rectangles.length[position] > begin)]
        if len(hit):
            found.append(Overwrite(int(position), max(begin, int(hit[0]))))
    return tuple(found)
