"""Shifts by elements: without data, whether all of them are known to be in range.

Only compute writes ACC, in the order of the program. So an accumulator is known to be small if the
last LOAD to write it took small values from addresses that the program never stores to, and no GEMM
or ALU may have written it since. Of INP, which another unit writes, nothing is known.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.base.jit import compiled
from tandem.hw.encoding import Opcode
from tandem.hw.isa import Columns, MemoryId, Unit
from tandem.hw.isa.columns import (
    ALU_OPCODE,
    CODING,
    DRAM_BASE,
    DST_FACTOR_IN,
    DST_FACTOR_OUT,
    ITER_IN,
    ITER_OUT,
    MEMORY_TYPE,
    OPCODE,
    SRAM_BASE,
    SRC_FACTOR_IN,
    SRC_FACTOR_OUT,
    UOP_BGN,
    UOP_END,
    X_PAD_0,
    X_PAD_1,
    X_SIZE,
    X_STRIDE,
    Y_PAD_0,
    Y_PAD_1,
    Y_SIZE,
    InstructionFields,
)
from tandem.hw.isa.operand_use import operands_used, source_memory
from tandem.hw.operations import MAX_SHIFT, AluOp
from tandem.sim.cycle.pipeline_state import UopMemory
from tandem.sim.cycle.prepare import Prepared
from tandem.sim.cycle.state import Ints, Run
from tandem.sim.cycle.units import load_micro_ops
from tandem.sim.errors import NeedsDataError
from tandem.sim.semantics.operands import operands_used_inline

LOAD = int(Opcode.LOAD)
ALU = int(Opcode.ALU)
FINISH = int(Opcode.FINISH)
SHR = int(AluOp.SHR)
UOP = int(MemoryId.UOP)
ACC_8BIT = int(MemoryId.ACC_8BIT)
Bytes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]


def check_shifts(
    program: Prepared, run: Run, bases: tuple[int, ...], memory: npt.NDArray[np.uint8]
) -> None:
    """Raise `NeedsDataError` if a shift by elements may be out of range."""
    columns = program.columns
    if not _shifts(columns).any():
        return
    begins, ends = _stored(program, bases)
    compute = run.stream[run.first[Unit.COMPUTE] : run.first[Unit.COMPUTE + 1]]
    own = run._replace(memory=run.memory._replace(uop=run.memory.uop.copy()))
    small = np.zeros(run.memory.acc_depth, np.bool_)
    found = _first_unknown(own, compute, small, memory.view(np.int8), begins, ends)
    if found >= 0:
        raise NeedsDataError(
            f"instruction {found} shifts by {_amounts(columns, found)} that depend on data, and "
            f"whether it faults does too: run the program with data"
        )


def _shifts(columns: Columns) -> Flags:
    """The instructions that shift by elements."""
    is_shift = (columns.opcode == Opcode.ALU) & (columns.alu_opcode == AluOp.SHR)
    _, reads_inp, _, reads_acc = operands_used(columns)
    return np.asarray(is_shift & (reads_inp | reads_acc), np.bool_)


def _amounts(columns: Columns, position: int) -> str:
    by_inputs = source_memory(columns.row(position)) is MemoryId.INP
    return "elements of INP" if by_inputs else "accumulators"


def _stored(program: Prepared, bases: tuple[int, ...]) -> tuple[Ints, Ints]:
    """The addresses that STOREs write, as sorted ranges without overlap."""
    accesses = program.accesses(bases)
    stores = np.flatnonzero(accesses.stores & (accesses.rows > 0))
    begins = accesses.row_starts(stores)
    ends = begins + np.repeat(accesses.length[stores], accesses.rows[stores])
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], np.maximum.accumulate(ends[order])
    apart = np.append(True, begins[1:] > ends[:-1])[: len(begins)]
    last = np.append(apart[1:], True)[: len(begins)]
    return begins[apart], ends[last]


NONE = -1


@compiled
def _first_unknown(
    run: Run, compute: Ints, small: Flags, memory: Bytes, begins: Ints, ends: Ints
) -> int:
    """The first shift by elements that may be out of range, or -1."""
    for instruction in compute:
        row = run.table[instruction]
        if row[OPCODE] == LOAD:
            if row[X_SIZE] > 0 and row[MEMORY_TYPE] == UOP:
                load_micro_ops(run, instruction)
            elif row[X_SIZE] > 0:
                _load(run, row, small, memory, begins, ends)
        elif row[OPCODE] != FINISH:
            if row[OPCODE] == ALU and row[ALU_OPCODE] == SHR:
                _dst, reads_inp, _wgt, reads_acc = operands_used_inline(row)
                if reads_inp or (reads_acc and not _all_small(run.memory, row, small)):
                    return int(instruction)
            _forget(run.memory, row, small)
    return NONE


@compiled
def _load(
    run: Run, row: InstructionFields, small: Flags, memory: Bytes, begins: Ints, ends: Ints
) -> None:
    kind, to = row[MEMORY_TYPE], row[SRAM_BASE]
    size = run.element_bytes[kind, row[CODING]]
    width = row[X_PAD_0] + row[X_SIZE] + row[X_PAD_1]
    height = row[Y_PAD_0] + row[Y_SIZE] + row[Y_PAD_1]
    for place in range(to, min(to + width * height, len(small))):
        small[place] = True
    for y in range(row[Y_SIZE]):
        address = run.bases[kind] + (row[DRAM_BASE] + y * row[X_STRIDE]) * size
        end = address + row[X_SIZE] * size
        after = _lower_bound(begins, end)
        constant = end <= len(memory) and (after == 0 or ends[after - 1] <= address)
        place = to + (row[Y_PAD_0] + y) * width + row[X_PAD_0]
        for x in range(row[X_SIZE]):
            if place + x < len(small):
                first = address + x * size
                small[place + x] = constant and _is_small(memory, first, size, kind)


@compiled
def _is_small(memory: Bytes, first: int, size: int, kind: int) -> bool:
    """Whether all lanes of an element are amounts in range."""
    step = 1 if kind == ACC_8BIT else 4
    for number in range(size // step):
        lane = first + number * step
        low = memory[lane]
        if low < -MAX_SHIFT or low > MAX_SHIFT:
            return False
        for part in range(1, step):
            if memory[lane + part] != (-1 if low < 0 else 0):
                return False
    return True


@compiled
def _all_small(memory: UopMemory, row: InstructionFields, small: Flags) -> bool:
    for k in range(row[UOP_BGN], row[UOP_END]):
        field = memory.uop[k] >> memory.src_shift & memory.src_mask
        for o in range(row[ITER_OUT]):
            for i in range(row[ITER_IN]):
                at = field + o * row[SRC_FACTOR_OUT] + i * row[SRC_FACTOR_IN]
                if at < len(small) and not small[at]:
                    return False
    return True


@compiled
def _forget(memory: UopMemory, row: InstructionFields, small: Flags) -> None:
    """Nothing is known of the accumulators from the first to the last that an instruction
    writes."""
    first, last = len(small), 0
    for k in range(row[UOP_BGN], row[UOP_END]):
        field = memory.uop[k] & memory.dst_mask
        first, last = min(first, field), max(last, field)
    last += (row[ITER_OUT] - 1) * row[DST_FACTOR_OUT] + (row[ITER_IN] - 1) * row[DST_FACTOR_IN]
    for place in range(first, min(last + 1, len(small))):
        small[place] = False


@compiled
def _lower_bound(values: Ints, wanted: int) -> int:
    """The number of ascending values that are less than `wanted`."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
