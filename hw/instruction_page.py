"""Writes the instruction set as a page for programmers: `docs/instruction-set.md`."""

from __future__ import annotations

from collections.abc import Iterator

from tandem.hw.alu_terms import print_term
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import (
    FIELDS_OF,
    INSTRUCTION_BYTES,
    UOP_BYTES,
    Opcode,
    WordLayout,
    instruction_layout,
    uop_layout,
)
from tandem.hw.instruction_fields import HEADER, MICRO_OP, FieldSpecs, own_fields
from tandem.hw.operations import MAX_SHIFT, AluOp
from tandem.hw.topology import LOADED_BY, MemoryId, TokenQueue, Unit

_DOES = {
    Opcode.LOAD: "copies a rectangle of DRAM into an on-chip memory, with zeros around it",
    Opcode.STORE: "copies a rectangle of OUT to DRAM",
    Opcode.GEMM: "multiplies elements of INP and WGT, and adds the products to elements of ACC",
    Opcode.FINISH: "ends the program",
    Opcode.ALU: "does an operation on elements of ACC",
    Opcode.REQUANTISE: "says how results become elements of OUT, until the next REQUANTISE",
    Opcode.TABLE: "sets half of the table by which LOADs of WGT_CODES widen",
}

_OPERATIONS = {
    AluOp.MIN: "the smaller of both operands",
    AluOp.MAX: "the greater of both operands",
    AluOp.ADD: "the sum",
    AluOp.SHR: f"the first shifted right by the second, -{MAX_SHIFT} to {MAX_SHIFT}; "
    "left where that is negative",
    AluOp.MUL: "the low 32 bits of the product",
    AluOp.MOVE: "the second operand",
    AluOp.RESIDUAL: "the first operand; the second, times `scale`, enters its requantisation",
}


def instruction_page(config: HardwareConfig) -> str:
    """All instructions of a machine with their fields and positions, in Markdown."""
    lines = [
        "# Instruction set",
        "",
        "Made from `hw/instruction_fields.py` and `hw/encoding.py`; do not edit.",
        "",
        f"An instruction has {INSTRUCTION_BYTES} bytes, a micro-op {UOP_BYTES}; the least",
        "significant byte comes first. Fields are packed from bit 0 up, and none crosses bit 64.",
        f"Positions are those of `{config.name}`. Where a width depends on the machine, it is that",
        "of an index into the memory, and fields behind it move. Bits of no field have to be 0.",
        "What needs an [extension](extensions.md) says so.",
        "",
        "| opcode | instruction | executed by | does | needs |",
        "| --- | --- | --- | --- | --- |",
        *(_opcode_row(opcode) for opcode in Opcode),
        "",
        "## Tokens",
        "",
        "Every instruction begins with its opcode and four flags. The units are, in this order,",
        f"{', '.join(unit.name.lower() for unit in Unit)}; between neighbours are the queues",
        f"{', '.join(f'`{queue}`' for queue in TokenQueue)}.",
        "An instruction starts when the tokens that it waits for are there, and gives its own",
        "when it has ended. Flags of neighbours that a unit does not have must be 0.",
        "",
        *_table(instruction_layout(config, Opcode.FINISH), HEADER),
        "",
        "## LOAD and STORE",
        "",
        "Bases, sizes and strides count elements of the memory; bases and strides of WGT_CODES",
        "count beats, from the base register of WGT. LOADs of",
        f"{_loaded(Unit.LOAD)} are executed by load, those of {_loaded(Unit.COMPUTE)} by compute.",
        "STORE has memory OUT, and no padding.",
        "",
        *_fields(config, Opcode.LOAD),
        "",
        "| number | memory | needs |",
        "| --- | --- | --- |",
        *(f"| {memory.value} | {memory.name} | {_names(memory)} |" for memory in MemoryId),
        "",
        "## GEMM",
        "",
        "Two loops around a run of micro-ops. Each micro-op names an element of ACC, INP and WGT,",
        "to which the steps of both loops are added.",
        "",
        *_fields(config, Opcode.GEMM),
        "",
        "## ALU",
        "",
        "The same loops. The first operand and the result are the element `dst` of ACC; the second",
        "is the immediate, the element `src` of ACC, or that of INP.",
        "",
        *_fields(config, Opcode.ALU),
        "",
        "| number | operation | gives | needs |",
        "| --- | --- | --- | --- |",
        *(f"| {op.value} | {op.name} | {_OPERATIONS[op]} | {_names(op)} |" for op in AluOp),
        *_custom_operations(config),
        "",
        "## REQUANTISE",
        "",
        *_fields(config, Opcode.REQUANTISE),
        "",
        "## TABLE",
        "",
        "The table has 16 entries. A weight is the entry of its code; behind scales, times the",
        "scale of its output channel in the block, of which the low eight bits count.",
        "",
        *_fields(config, Opcode.TABLE),
        "",
        "## Micro-ops",
        "",
        "An ALU instruction reads `src` as an element of ACC, unless its operand is from INP.",
        "",
        *_table(uop_layout(config), MICRO_OP),
    ]
    return "\n".join(lines) + "\n"


def _custom_operations(config: HardwareConfig) -> Iterator[str]:
    """The rows of the operations that the configuration brings along, and their parameters."""
    for number, operation in config.custom_operations.items():
        gives = f"`{print_term(operation.result)}`, of operands `a` and `b`"
        if operation.parameters:
            types = ", ".join(f"`{each.name}` ({each.type_text})" for each in operation.parameters)
            gives += f"; from bit 0 of `imm` on: {types}"
        yield f"| {number} | {operation.name} | {gives} | `{config.name}` |"


def _names(item: Opcode | MemoryId | AluOp) -> str:
    """The extensions that a machine with an opcode, memory or operation has."""
    return ", ".join(sorted(f"`{feature.value}`" for feature in item.needs))


def _loaded(unit: Unit) -> str:
    return ", ".join(memory.name for memory in LOADED_BY[unit])


def _opcode_row(opcode: Opcode) -> str:
    match opcode:
        case Opcode.LOAD:
            unit = "load, compute"
        case Opcode.STORE:
            unit = "store"
        case Opcode.TABLE:
            unit = "load"
        case _:
            unit = "compute"
    return f"| {opcode.value} | {opcode.name} | {unit} | {_DOES[opcode]} | {_names(opcode)} |"


def _fields(config: HardwareConfig, opcode: Opcode) -> Iterator[str]:
    return _table(instruction_layout(config, opcode), own_fields(FIELDS_OF[opcode]))


def _table(layout: WordLayout, specs: FieldSpecs) -> Iterator[str]:
    """The rows of fields of a word, from bit 0 up."""
    yield "| bits | field | is | needs |"
    yield "| --- | --- | --- | --- |"
    for spec in specs:
        field = layout[spec.name]
        high = field.lsb + field.width - 1
        bits = f"{high}:{field.lsb}" if field.width > 1 else f"{field.lsb}"
        meaning = f"{spec.meaning}, signed" if spec.signed else spec.meaning
        needs = f"`{spec.needs.value}`" if spec.needs else ""
        yield f"| {bits} | `{spec.name}` | {meaning} | {needs} |"
