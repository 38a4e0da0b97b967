"""GEMM and ALU, and what becomes of their results."""

from __future__ import annotations

from tandem.base.jit import compiled
from tandem.hw.encoding import Opcode
from tandem.hw.isa.columns import (
    ACTIVE,
    OPCODE,
    PAR_BASE,
    PAR_FACTOR_IN,
    PAR_FACTOR_OUT,
    InstructionFields,
)
from tandem.hw.topology import MemoryId
from tandem.sim.semantics.alu import alu
from tandem.sim.semantics.chip import Chip
from tandem.sim.semantics.custom import CustomCode
from tandem.sim.semantics.detail import NONE, POSITION, SRAM_INDEX, Detail
from tandem.sim.semantics.gemm import gemm
from tandem.sim.semantics.loops import micro_ops, nearer
from tandem.sim.semantics.requantise import write_out
from tandem.sim.semantics.requantiser import Requantiser

GEMM = int(Opcode.GEMM)
PAR = int(MemoryId.PAR)


@compiled
def compute(
    chip: Chip,
    requantiser: Requantiser | None,
    custom: CustomCode | None,
    row: InstructionFields,
    start: int,
    stop: int,
    detail: Detail,
) -> int:
    """Execute micro-ops [start, stop) of a GEMM or ALU that `hw.isa.validate` accepts.

    Returns a fault's code, or 0. The micro-ops before the one at fault have been done, and their
    results are in OUT.
    """
    end = stop
    if requantiser is not None:
        end = min(stop, _with_parameters(requantiser, row, detail))
    if row[OPCODE] == GEMM:
        fault = gemm(chip, row, start, end, detail)
    else:
        fault = alu(chip, custom, row, start, end, detail)
    if requantiser is not None:
        write_out(chip, requantiser, row, start, end if fault == NONE else detail[POSITION])
        if fault == NONE and end < stop:
            # Again, because the other memories may have left a later micro-op in `detail`.
            _with_parameters(requantiser, row, detail)
            fault = SRAM_INDEX
    return fault


@compiled
def _with_parameters(requantiser: Requantiser, row: InstructionFields, detail: Detail) -> int:
    """The number of micro-ops before the first with parameters beyond PAR, or of all micro-ops.

    `detail` gets that element.
    """
    total = micro_ops(row)
    if not requantiser.mode[ACTIVE]:
        return total
    outer, inner = requantiser.mode[PAR_FACTOR_OUT], requantiser.mode[PAR_FACTOR_IN]
    base = requantiser.mode[PAR_BASE]
    return nearer(row, total, 0, base, outer, inner, PAR, requantiser.par_depth, detail)
