"""The elements that GEMM and ALU access: indices of their micro-ops, or of REQUANTISE, offset by
two loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.base.jit import compiled
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode, uop_layout
from tandem.hw.hazards.interval_sets import IntervalSets, group_rows
from tandem.hw.isa.columns import Columns, Ints
from tandem.hw.isa.modes import active_modes
from tandem.hw.topology import MemoryId


@dataclass(frozen=True, slots=True)
class Operand:
    """A field of micro-ops, or `par` for the field `par_base` of REQUANTISE, and the memory that
    the field indexes."""

    field: str
    memory: MemoryId


OPERANDS = (
    Operand("dst", MemoryId.ACC),
    Operand("src", MemoryId.INP),
    Operand("wgt", MemoryId.WGT),
    Operand("par", MemoryId.PAR),
    Operand("src", MemoryId.ACC),
)
"""GEMM has the first three operands, or with `reset` only the first; ALU has the first and, without
an immediate, the second or the last. Both have `par` while results are requantised."""
_PAR = OPERANDS.index(Operand("par", MemoryId.PAR))


@dataclass(frozen=True, slots=True)
class OperandElements:
    """The elements that instructions access.

    Attributes
    ----------
    which
        By instruction and operand of `OPERANDS`, the number of a set; -1 for an unused operand.
    sets
        Sets of elements. A set is empty where an element would lie beyond the memory.
    """

    which: Ints
    sets: IntervalSets


def operand_elements_of(
    config: HardwareConfig,
    columns: Columns,
    users: Ints,
    kernels: list[npt.NDArray[np.uint32]],
    kernel: Ints,
) -> OperandElements:
    """The elements that the instructions `users` access with their micro-ops `kernels[kernel]`.

    The loop factors alone must stay inside every memory (`Fault.SRAM_INDEX`).
    """
    gemm = columns.opcode[users] == Opcode.GEMM
    multiplies = gemm & (columns.reset_reg[users] == 0)
    binary = ~gemm & (columns.use_imm[users] == 0)
    from_inp = columns.from_inp[users] == 1
    modes = active_modes(columns)[users]
    always = np.ones(len(users), dtype=np.bool_)
    used = np.stack(
        [always, multiplies | binary & from_inp, multiplies, modes >= 0, binary & ~from_inp], axis=1
    )
    row, operand = np.nonzero(used)
    with_fields = np.where(operand == _PAR, modes[row], users[row])
    factors = np.empty((len(row), 2), dtype=np.int64)
    for number, named in enumerate(OPERANDS):
        chosen = operand == number
        for loop, name in enumerate(("out", "in")):
            column = getattr(columns, f"{named.field}_factor_{name}")
            factors[chosen, loop] = column[with_fields[chosen]]
    counts = [columns.iter_out[users][row], columns.iter_in[users][row]]
    fields = np.where(operand == _PAR, columns.par_base[modes[row]], kernel[row])
    table = np.stack([operand, fields, *counts, *factors.T], axis=1)
    firsts, groups = group_rows(table)
    layout = uop_layout(config)
    found = []
    for number, used_field, out, inside, step_out, step_in in table[firsts].tolist():
        memory = OPERANDS[number].memory
        if number == _PAR:
            indices = np.array([used_field], dtype=np.int64)
        else:
            field = layout[OPERANDS[number].field]
            words = kernels[used_field].astype(np.int64)
            indices = words >> field.lsb & ((1 << field.width) - 1)
        found.append(
            reached_elements(indices, out, inside, step_out, step_in, config.depth(memory))
        )
    which = np.full(used.shape, -1, dtype=np.int64)
    which[row, operand] = groups
    begin, end = np.concatenate([np.empty((0, 2), dtype=np.int64), *found]).T
    lengths = np.array([len(runs) for runs in found], dtype=np.int64)
    return OperandElements(which, IntervalSets.of(lengths, begin, end))


def reached_elements(
    indices: Ints, count_out: int, count_in: int, factor_out: int, factor_in: int, depth: int
) -> Ints:
    """The elements of a memory of `depth` elements that `indices` access in two loops.

    Returns a row of first element and end for each run of neighbours, in ascending order; none at
    all where an element lies beyond the memory.
    """
    end = int(indices.max()) + (count_out - 1) * factor_out + (count_in - 1) * factor_in + 1
    if end > depth:
        return np.empty((0, 2), dtype=np.int64)
    runs = np.empty((end // 2 + 1, 2), dtype=np.int64)
    reached, steps = np.zeros(end, dtype=np.bool_), np.empty(end, dtype=np.int64)
    found = _runs(indices, count_out, count_in, factor_out, factor_in, reached, steps, runs)
    return runs[:found]


@compiled
def _runs(
    indices: Ints,
    count_out: int,
    count_in: int,
    factor_out: int,
    factor_in: int,
    reached: npt.NDArray[np.bool_],
    steps: Ints,
    runs: Ints,
) -> int:
    """Fills in `runs`, as `reached_elements` returns them; returns their number.

    `reached` is false for each element up to the last that is reached; `steps` is as long.
    """
    end = len(reached)
    for index in indices:
        reached[index] = True
    # An element is reached in a loop of `count` iterations if one that is reached without the loop
    # lies less than `count` steps below it. `steps` counts from the nearest such element.
    for count, step in ((count_in, factor_in), (count_out, factor_out)):
        if step > 0:
            for element in range(end):
                if reached[element]:
                    steps[element] = 0
                else:
                    steps[element] = count if element < step else steps[element - step] + 1
                    reached[element] = steps[element] < count
    found = 0
    for element in range(end):
        if reached[element]:
            if element == 0 or not reached[element - 1]:
                runs[found, 0] = element
                found += 1
            runs[found - 1, 1] = element + 1
    return found
