"""The disassembler: programs as text, one line for each instruction.

An illegal instruction has the broken rule after `!!`; a word that is no instruction is printed as
`???` and its bits.
"""

from __future__ import annotations

from typing import assert_never

from hw.errors import ProgramError
from hw.isa.codec import Codec
from hw.isa.diagnostics import describe
from hw.isa.instructions import (
    Alu,
    Finish,
    Gemm,
    Instruction,
    Load,
    Requantise,
    Store,
    Tokens,
    opcode_of,
    unit_of,
)
from hw.isa.program import Program
from hw.isa.rules import broken_rules, rule_inputs
from hw.topology import POPS, PUSHES, TokenQueue, Unit


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


def _operands(instruction: Instruction) -> str:
    match instruction:
        case Load() | Store():
            return _rectangle(instruction)
        case Gemm():
            product = "overwrite" if instruction.overwrite else "mac"
            operation = "reset" if instruction.reset else product
            wgt = f"{instruction.wgt_factor_out},{instruction.wgt_factor_in}"
            return f"{operation:<9} {_loops(instruction)} wgt {wgt}"
        case Alu():
            source = "inp" if instruction.from_inp else "src"
            operand = f"{instruction.imm}" if instruction.use_imm else source
            operation = f"{instruction.op.name} {operand}"
            return f"{operation:<9} {_loops(instruction)}".rstrip()
        case Finish():
            return ""
        case Requantise(active=False):
            return "off"
        case Requantise():
            factors = f"{instruction.par_factor_out},{instruction.par_factor_in}"
            return (
                f"par {instruction.par_base:<5} factors {factors:<9} "
                f"clip {instruction.low}..{instruction.high} scale {instruction.scale}"
            )
        case _:
            assert_never(instruction)


def _rectangle(instruction: Load | Store) -> str:
    memory = instruction.memory.name
    if instruction.x_size == 0:
        return f"{memory:<9} empty"
    text = (
        f"{memory:<9} sram {instruction.sram_base:<5} dram {instruction.dram_base:#08x} "
        f"y_size {instruction.y_size:<3} x_size {instruction.x_size:<4} "
        f"x_stride {instruction.x_stride:<4}"
    )
    if instruction.y_pad_0 or instruction.y_pad_1:
        text += f" y_pad {instruction.y_pad_0},{instruction.y_pad_1}"
    if instruction.x_pad_0 or instruction.x_pad_1:
        text += f" x_pad {instruction.x_pad_0},{instruction.x_pad_1}"
    return text.rstrip()


def _loops(instruction: Gemm | Alu) -> str:
    uops = f"{instruction.uop_bgn}:{instruction.uop_end}"
    count = f"{instruction.iter_out} x {instruction.iter_in}"
    dst = f"{instruction.dst_factor_out},{instruction.dst_factor_in}"
    src = f"{instruction.src_factor_out},{instruction.src_factor_in}"
    return f"uop {uops:<9} iter {count:<9} dst {dst:<9} src {src:<9}"


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
