"""The rules for single instructions, evaluated for whole programs at once.

Each rule is a mask over the instructions of a program: true where an instruction breaks the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode, opcodes_of
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.instruction_fields import ALU, MEMORY_BITS, FieldSpec, own_fields
from tandem.hw.isa.columns import Columns, Ints, units_of
from tandem.hw.isa.modes import active_modes, last_parameters
from tandem.hw.isa.operand_use import OPERANDS, operands_used
from tandem.hw.operations import MAX_SHIFT, AluOp
from tandem.hw.topology import MemoryId, Unit, flags_without_queue

Mask = npt.NDArray[np.bool_]
_FIELD_BITS = 8
"""The most bits of a field of which rules name single values."""


@dataclass(frozen=True, slots=True)
class RuleInputs:
    """The masks and sizes that rules are stated over, as arrays by position in the program."""

    config: HardwareConfig
    columns: Columns
    units: npt.NDArray[np.int8]
    load: Mask
    store: Mask
    gemm: Mask
    alu: Mask
    moves: Mask
    """LOADs and STOREs that copy data (`x_size` above 0)."""
    reach: Ints
    """One past the last on-chip element that a LOAD or STORE covers."""
    depth: Ints
    """Elements of the memory that a LOAD or STORE names; 0 for an illegal memory id."""


def rule_inputs(config: HardwareConfig, columns: Columns) -> RuleInputs:
    """The `RuleInputs` of a program."""
    load, store = _is(columns.opcode, Opcode.LOAD), _is(columns.opcode, Opcode.STORE)
    moves = (load | store) & (columns.x_size > 0)
    depths = np.zeros(1 << MEMORY_BITS, dtype=np.int64)
    for memory in config.memories:
        depths[memory] = config.depth(memory)
    return RuleInputs(
        config=config,
        columns=columns,
        units=units_of(columns),
        load=load,
        store=store,
        gemm=_is(columns.opcode, Opcode.GEMM),
        alu=_is(columns.opcode, Opcode.ALU),
        moves=moves,
        reach=columns.sram_base + sram_elements(columns),
        depth=depths[columns.memory_type],
    )


def sram_elements(columns: Columns) -> Ints:
    """On-chip elements that each LOAD or STORE covers, padding included; 0 for all others."""
    rows = columns.y_pad_0 + columns.y_size + columns.y_pad_1
    row = columns.x_pad_0 + columns.x_size + columns.x_pad_1
    return np.where(columns.x_size > 0, rows * row, 0)


def broken_rules(facts: RuleInputs) -> dict[Fault, Mask]:
    """By rule, in order of fault numbers, the instructions that break it."""
    return {fault: rule(facts) for fault, rule in sorted(_RULES.items())}


def _is(column: Ints, value: int) -> Mask:
    return column == value


def _is_any(column: Ints, values: Sequence[int]) -> Mask:
    """Where a column, a field of at most `_FIELD_BITS` bits, has one of the values."""
    known = np.zeros(1 << _FIELD_BITS, dtype=np.bool_)
    known[[*values]] = True
    return known[column]


def _above(column: Ints, value: int) -> Mask:
    return column > value


def _bad_opcode(facts: RuleInputs) -> Mask:
    return ~_is_any(facts.columns.opcode, opcodes_of(facts.config))


def _bad_memory(facts: RuleInputs) -> Mask:
    known = _is_any(facts.columns.memory_type, facts.config.memories)
    return (facts.load | facts.store) & ~known


def _load_of_out(facts: RuleInputs) -> Mask:
    return facts.load & _is(facts.columns.memory_type, MemoryId.OUT)


def _store_of_other(facts: RuleInputs) -> Mask:
    return facts.store & ~_is(facts.columns.memory_type, MemoryId.OUT)


def _padded_store(facts: RuleInputs) -> Mask:
    c = facts.columns
    return facts.store & facts.moves & ~_is(c.y_pad_0 | c.y_pad_1 | c.x_pad_0 | c.x_pad_1, 0)


def _no_rows(facts: RuleInputs) -> Mask:
    return facts.moves & _is(facts.columns.y_size, 0)


def _no_loops(facts: RuleInputs) -> Mask:
    c = facts.columns
    return (facts.gemm | facts.alu) & (_is(c.iter_out, 0) | _is(c.iter_in, 0))


def _bad_uops(facts: RuleInputs) -> Mask:
    c = facts.columns
    beyond = c.uop_end > facts.config.depth(MemoryId.UOP)
    return (facts.gemm | facts.alu) & ((c.uop_end <= c.uop_bgn) | beyond)


def _bad_shift(facts: RuleInputs) -> Mask:
    c = facts.columns
    shifts = facts.alu & _is(c.alu_opcode, AluOp.SHR) & _is(c.use_imm, 1)
    return shifts & (np.abs(c.imm) > MAX_SHIFT)


def _beyond_memory(facts: RuleInputs) -> Mask:
    return facts.moves & (facts.depth > 0) & (facts.reach > facts.depth)


def _bad_flags(facts: RuleInputs) -> Mask:
    c = facts.columns
    bad = np.zeros(len(c.opcode), dtype=np.bool_)
    for unit in Unit:
        for flag in flags_without_queue(unit):
            bad |= (facts.units == unit) & ~_is(getattr(c, flag), 0)
    return bad


def _no_feature(facts: RuleInputs) -> Mask:
    c = facts.columns
    config = facts.config
    unknown_alu = facts.alu & ~_is_any(c.alu_opcode, config.alu_opcodes)
    unknown_alu |= facts.alu & _is(c.use_imm, 0) & _is_any(c.alu_opcode, config.without_second)
    unknown_alu |= facts.alu & _is(c.use_imm, 1) & _is_any(c.alu_opcode, config.without_immediate)
    specs = (spec for spec in own_fields(ALU) if spec.on(config.features))
    broken = [facts.alu & _breaks(config, c, spec) for spec in specs]
    coded = facts.load & _above(c.coding, 0) & ~_is(c.memory_type, MemoryId.WGT_CODES)
    return unknown_alu | reduce(or_, broken) | coded | _above(c.unused, 0)


def _breaks(config: HardwareConfig, columns: Columns, spec: FieldSpec) -> Mask:
    """Where a field of ALU excludes another that is set, or the operation forces the field."""
    value = getattr(columns, spec.name)
    broken = np.zeros(len(value), dtype=np.bool_)
    if spec.excludes:
        broken |= _is(value, 1) & _is(getattr(columns, spec.excludes), 1)
    if forced := config.having(spec.forced_by):
        broken |= _is(value, 0) & _is_any(columns.alu_opcode, forced)
    return broken


def _beyond_index(facts: RuleInputs) -> Mask:
    """Loops whose factors alone exceed a memory: micro-op indices only increase the address. Of
    PAR, which they do not index, any element beyond the memory."""
    c = facts.columns

    def leaves(name: str, memory: MemoryId) -> Mask:
        steps_out = (c.iter_out - 1) * getattr(c, f"{name}_factor_out")
        steps_in = (c.iter_in - 1) * getattr(c, f"{name}_factor_in")
        return np.asarray(steps_out + steps_in >= facts.config.depth(memory))

    operands = zip(OPERANDS, operands_used(c), strict=True)
    beyond = [used & leaves(operand.index, operand.memory) for operand, used in operands]
    return np.asarray(reduce(or_, beyond, _beyond_parameters(facts)), np.bool_)


def _beyond_parameters(facts: RuleInputs) -> Mask:
    c = facts.columns
    if Feature.REQUANTISE not in facts.config.features:
        return np.zeros(len(c.opcode), dtype=np.bool_)
    return _above(last_parameters(c, active_modes(c)), facts.config.depth(MemoryId.PAR) - 1)


def _after_finish(facts: RuleInputs) -> Mask:
    after = np.zeros(len(facts.columns.opcode), dtype=np.bool_)
    for first in np.flatnonzero(_is(facts.columns.opcode, Opcode.FINISH))[:1]:
        after[first + 1 :] = True
    return after


_RULES: dict[Fault, Callable[[RuleInputs], Mask]] = {
    Fault.OPCODE: _bad_opcode,
    Fault.MEMORY_ID: _bad_memory,
    Fault.LOAD_OUT: _load_of_out,
    Fault.STORE_MEMORY: _store_of_other,
    Fault.STORE_PAD: _padded_store,
    Fault.NO_ROWS: _no_rows,
    Fault.LOOP_COUNT: _no_loops,
    Fault.UOP_RANGE: _bad_uops,
    Fault.SHIFT: _bad_shift,
    Fault.SRAM_RANGE: _beyond_memory,
    Fault.TOKEN_FLAG: _bad_flags,
    Fault.FEATURE: _no_feature,
    Fault.SRAM_INDEX: _beyond_index,
    Fault.AFTER_FINISH: _after_finish,
}
