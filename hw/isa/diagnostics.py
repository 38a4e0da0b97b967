"""Error messages for instructions that break a rule of `hw.isa.rules`."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode, opcodes_of
from tandem.hw.faults import Fault
from tandem.hw.instruction_fields import ALU, own_fields
from tandem.hw.isa.columns import Columns
from tandem.hw.isa.number_texts import numbers_text
from tandem.hw.isa.rules import sram_elements
from tandem.hw.operations import MAX_SHIFT, AluOp
from tandem.hw.topology import MemoryId, Unit, flags_without_queue


def describe(config: HardwareConfig, columns: Columns, position: int, fault: Fault) -> str:
    """The message for the rule `fault` that instruction `position` breaks."""

    def value(name: str) -> int:
        return int(getattr(columns, name)[position])

    opcode = Opcode(value("opcode")) if value("opcode") in set(Opcode) else None
    kind = opcode.name if opcode is not None else "?"
    match fault:
        case Fault.OPCODE:
            return f"opcode {value('opcode')} is none of {numbers_text(opcodes_of(config))}"
        case Fault.MEMORY_ID:
            known = numbers_text(config.memories)
            return f"{kind} of memory id {value('memory_type')}: it is none of {known}"
        case Fault.LOAD_OUT:
            return "LOAD of OUT: that memory can only be stored"
        case Fault.STORE_MEMORY:
            return f"STORE of {MemoryId(value('memory_type')).name}: only OUT can be stored"
        case Fault.STORE_PAD:
            pads = ", ".join(f"{name} {value(name)}" for name in _PADS)
            return f"STORE with padding ({pads}): only a LOAD can pad"
        case Fault.NO_ROWS:
            return f"{kind} of y_size 0 with x_size {value('x_size')}: y_size must be 1 or more"
        case Fault.LOOP_COUNT:
            counts = f"iter_out {value('iter_out')}, iter_in {value('iter_in')}"
            return f"{kind} with {counts}: both must be 1 or more"
        case Fault.UOP_RANGE:
            return (
                f"{kind} over micro-ops {value('uop_bgn')}..{value('uop_end')} (end excluded): "
                f"uop_end must lie in {value('uop_bgn') + 1}..{config.depth(MemoryId.UOP)}"
            )
        case Fault.SHIFT:
            return f"SHR by {value('imm')}: it must lie in {-MAX_SHIFT}..{MAX_SHIFT}"
        case Fault.SRAM_RANGE:
            return _range_message(config, columns, position, kind)
        case Fault.TOKEN_FLAG:
            return _flag_message(columns, position, kind)
        case Fault.FEATURE:
            if value("alu_opcode") not in config.alu_opcodes:
                return f"ALU opcode {value('alu_opcode')} is an extension that {config.name} lacks"
            if opcode is Opcode.ALU and (operand := _operand_message(config, columns, position)):
                return operand
            for spec in (spec for spec in own_fields(ALU) if spec.on(config.features)):
                if spec.excludes and value(spec.name) and value(spec.excludes):
                    return f"ALU with {spec.name} and {spec.excludes}: it has one second operand"
                if value("alu_opcode") in config.having(spec.forced_by) and not value(spec.name):
                    operation = AluOp(value("alu_opcode")).name
                    return f"ALU {operation} without {spec.name}: its second operand lies in INP"
            if value("coding") and value("memory_type") != MemoryId.WGT_CODES:
                memory = MemoryId(value("memory_type")).name
                return f"LOAD of {memory} with coding {value('coding')}: only WGT_CODES has codes"
            return (
                f"{kind} sets bit {value('unused') - 1}, which no field has: it would belong to an "
                f"extension that {config.name} lacks"
            )
        case Fault.SRAM_INDEX:
            return f"{kind}'s loop factors reach beyond a memory whatever the micro-ops hold"
        case Fault.AFTER_FINISH:
            return f"{kind} after FINISH: FINISH must be the last instruction"
        case _:
            raise ValueError(f"{fault.name} is no rule of a single instruction")


def _operand_message(config: HardwareConfig, columns: Columns, position: int) -> str:
    """The message for a custom operation with or without an immediate, where it has to be the other
    way; empty if it is right."""
    number = int(columns.alu_opcode[position])
    name = config.alu_operation(number).name
    if number in config.without_second and not columns.use_imm[position]:
        return f"ALU {name} without use_imm: it has no second operand"
    if number in config.without_immediate and columns.use_imm[position]:
        return f"ALU {name} with use_imm: its second operand lies in memory, beside its parameters"
    return ""


_PADS = ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")


def _range_message(config: HardwareConfig, columns: Columns, position: int, kind: str) -> str:
    memory = MemoryId(int(columns.memory_type[position]))
    first = int(columns.sram_base[position])
    end = first + int(sram_elements(columns)[position])
    return (
        f"{kind} covers {memory.name} elements {first}..{end} (end excluded): "
        f"the memory has {config.depth(memory)}"
    )


def _flag_message(columns: Columns, position: int, kind: str) -> str:
    unit = Unit.STORE if columns.opcode[position] == Opcode.STORE else Unit.LOAD
    refused = flags_without_queue(unit)
    flags = " and ".join(name for name in refused if getattr(columns, name)[position])
    neighbour = "after" if unit is Unit.STORE else "before"
    return f"{kind} with {flags}: no unit comes {neighbour} {unit.name.lower()}"
