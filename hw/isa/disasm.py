"""The disassembler: programs as text, one line for each instruction.

An illegal instruction has the broken rule after `!!`; a word that is no instruction is printed as
`???` and its bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from tandem.hw.encoding import FIELDS_OF
from tandem.hw.errors import ProgramError
from tandem.hw.isa.codec import Codec
from tandem.hw.isa.diagnostics import describe
from tandem.hw.isa.instructions import (
    Alu,
    Finish,
    Gemm,
    Instruction,
    Load,
    Requantise,
    Store,
    Table,
    Tokens,
    opcode_of,
    unit_of,
)
from tandem.hw.isa.program import Program
from tandem.hw.isa.rules import broken_rules, rule_inputs
from tandem.hw.operations import AluOp
from tandem.hw.topology import POPS, PUSHES, MemoryId, TokenQueue, Unit


def disassemble(program: Program) -> str:
    """`program` as text: index, mnemonic, operands, tokens. Two-part operands are
    `out,in` for factors, `out x in` for loop counts, `before,after` for padding."""
    codec = Codec(program.config)
    reasons = _reasons(program)
    rows = [
        _row(codec, program.word(position), reasons.get(position))
        for position in range(len(program))
    ]
    index_width = len(str(len(program) - 1))
    mnemonic_width = max([6, *(len(mnemonic) + 1 for mnemonic, operands, _ in rows if operands)])
    operand_width = max(len(operands) for _, operands, _ in rows)
    lines = (
        f"{position:>{index_width}}  {mnemonic:<{mnemonic_width}}"
        f"{operands:<{operand_width}}  {rest}".rstrip()
        for position, (mnemonic, operands, rest) in enumerate(rows)
    )
    return "\n".join(lines) + "\n"


def _reasons(program: Program) -> dict[int, str]:
    """By position of an illegal instruction, the message of its lowest fault number."""
    columns = program.columns()
    reasons: dict[int, str] = {}
    for fault, mask in broken_rules(rule_inputs(program.config, columns)).items():
        for position in mask.nonzero()[0].tolist():
            if position not in reasons:
                reason = describe(program.config, columns, position, fault)
                reasons[position] = f"{reason} [{fault.name}]"
    return reasons


def _row(codec: Codec, word: bytes, reason: str | None) -> tuple[str, str, str]:
    """Mnemonic, operands, and tokens with the `reason` why the instruction is illegal."""
    try:
        instruction = codec.decode(word)
    except ProgramError:
        return "???", f"0x{int.from_bytes(word, 'little'):032x}", f"!! {reason}"
    rest = [_tokens(instruction.tokens, unit_of(instruction))]
    if reason is not None:
        rest.append(f"!! {reason}")
    rest = [part for part in rest if part]
    return opcode_of(instruction).name, _operands(instruction), "  ".join(rest)


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A text with attributes of an instruction, `width` characters wide at least."""

    text: str
    width: int = 0

    def of(self, instruction: Instruction) -> str:
        return f"{self.text.format(i=instruction):<{self.width}}"


_RECTANGLE = (
    _Phrase("{i.memory.name}", 9),
    _Phrase("sram {i.sram_base}", 10),
    _Phrase("dram {i.dram_base:#08x}"),
    _Phrase("y_size {i.y_size}", 10),
    _Phrase("x_size {i.x_size}", 11),
    _Phrase("x_stride {i.x_stride}", 13),
)
_LOOPS = (
    _Phrase("uop {i.uop_bgn}:{i.uop_end}", 13),
    _Phrase("iter {i.iter_out} x {i.iter_in}", 14),
    _Phrase("dst {i.dst_factor_out},{i.dst_factor_in}", 13),
    _Phrase("src {i.src_factor_out},{i.src_factor_in}", 13),
)
_WEIGHTS = _Phrase("wgt {i.wgt_factor_out},{i.wgt_factor_in}")
_PARAMETERS = (
    _Phrase("par {i.par_base}", 9),
    _Phrase("factors {i.par_factor_out},{i.par_factor_in}", 17),
    _Phrase("clip {i.low}..{i.high}"),
    _Phrase("scale {i.scale}"),
)


def _operands(instruction: Instruction) -> str:
    match instruction:
        case Load(x_size=0) | Store(x_size=0):
            return f"{instruction.memory.name:<9} empty"
        case Load() | Store():
            phrases = list(_RECTANGLE)
            if instruction.y_pad_0 or instruction.y_pad_1:
                phrases.append(_Phrase("y_pad {i.y_pad_0},{i.y_pad_1}"))
            if instruction.x_pad_0 or instruction.x_pad_1:
                phrases.append(_Phrase("x_pad {i.x_pad_0},{i.x_pad_1}"))
            if isinstance(instruction, Load) and instruction.memory is MemoryId.WGT_CODES:
                phrases.append(_Phrase("coding {i.coding.name}"))
        case Gemm():
            phrases = [_Phrase(_flag_text(instruction, "mac"), 9), *_LOOPS, _WEIGHTS]
        case Alu():
            phrases = [_Phrase("{i.op.name} " + _second_operand(instruction), 9), *_LOOPS]
        case Finish():
            return ""
        case Requantise(active=False):
            return "off"
        case Requantise():
            phrases = list(_PARAMETERS)
        case Table():
            first = 8 * instruction.upper_half
            entries = " ".join(map(str, instruction.entries))
            return f"entries {first}..{first + 7}: {entries}"
        case _:
            assert_never(instruction)
    return " ".join(phrase.of(instruction) for phrase in phrases).rstrip()


def _second_operand(instruction: Alu) -> str:
    """The text of what an operation takes beside the accumulator; of parameters, with names."""
    op = instruction.op
    if isinstance(op, AluOp) or op.immediate_operand:
        return str(instruction.imm) if instruction.use_imm else _flag_text(instruction, "src")
    values = (f"{name} {value}" for name, value in op.values_of(instruction.imm).items())
    second = () if instruction.use_imm else (_flag_text(instruction, "src"),)
    return " ".join((*second, *values))


def _flag_text(instruction: Instruction, usual: str) -> str:
    """The text of the first flag that is set and has a text; else `usual`."""
    for spec in FIELDS_OF[opcode_of(instruction)]:
        if spec.text and getattr(instruction, spec.python_name):
            return spec.text
    return usual


def _tokens(tokens: Tokens, unit: Unit) -> str:
    pops = _queues((tokens.pop_prev, tokens.pop_next), POPS[unit])
    pushes = _queues((tokens.push_prev, tokens.push_next), PUSHES[unit])
    parts = (("pop", pops), ("push", pushes))
    return "  ".join(f"{verb} {', '.join(queues)}" for verb, queues in parts if queues)


def _queues(
    flags: tuple[bool, bool], queues: tuple[TokenQueue | None, TokenQueue | None]
) -> list[str]:
    return [
        str(queue) if queue is not None else "nowhere"
        for flag, queue in zip(flags, queues, strict=True)
        if flag
    ]
