"""Programs with a configuration's own operations: assembled, encoded, refused, shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import AnyOperation, CustomOperation
from tandem.hw.errors import AssemblyError, EncodingError, ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import Alu, AluOp, Assembler, Program, disassemble, validate
from tandem.hw.isa.codec import decode, encode
from tandem.hw.vta_rules import VtaRule, vta_warnings


def operation(name: str, result: str, **parameters: str) -> CustomOperation:
    return CustomOperation.from_json({"name": name, "result": result, "parameters": parameters})


CLIP = operation("CLIP", "min(max(int32(a + b) >> s, low), 127)", s="uint5", low="int8")
XOR = operation("XOR", "a ^ b")
SCALE = operation("SCALE", "a * n", n="int16")
CONFIG = HardwareConfig(alu_operations=(CLIP, XOR, SCALE))


def alu(op: AnyOperation, **fields: int) -> Alu:
    plain = {
        "uop_bgn": 0,
        "uop_end": 1,
        "iter_out": 1,
        "iter_in": 1,
        "dst_factor_out": 0,
        "dst_factor_in": 0,
        "src_factor_out": 0,
        "src_factor_in": 0,
    }
    use_imm = bool(fields.pop("use_imm", 0))
    given: dict[str, Any] = {"imm": 0, **plain, **fields}
    return Alu(op=op, use_imm=use_imm, **given)


@pytest.mark.parametrize("op", [CLIP, XOR, SCALE, AluOp.MUL])
def test_encoding(op: AnyOperation) -> None:
    instruction = alu(op, imm=-77)
    assert decode(CONFIG, encode(CONFIG, instruction)) == instruction


def test_other_machines_lack_them() -> None:
    with pytest.raises(EncodingError, match="ALU XOR is an operation that pynq lacks: alu_oper"):
        encode(HardwareConfig(), alu(XOR))
    word = encode(CONFIG, alu(XOR))
    with pytest.raises(ProgramError, match="alu_opcode 6 is an extension that pynq lacks"):
        decode(HardwareConfig(), word)
    with pytest.raises(ProgramError) as caught:
        validate(Program(HardwareConfig(), word))
    assert caught.value.fault is Fault.FEATURE


def test_assembly() -> None:
    asm = Assembler(CONFIG)
    asm.alu(CLIP, (0, 1), parameters={"s": 20, "low": -100})
    asm.alu(XOR, (0, 1), imm=7)
    asm.alu(XOR, (0, 1))
    asm.alu(SCALE, (0, 1), parameters={"n": -3})
    asm.finish()
    program = asm.build()
    validate(program)
    text = disassemble(program)
    for words in ("CLIP src s 20 low -100", "XOR 7", "XOR src", "SCALE n -3"):
        assert f"ALU   {words} " in text
    use = [bool(one) for one in program.columns().use_imm[:4]]
    assert use == [False, True, False, True]
    # VTA has none of them.
    found = {str(each) for each in vta_warnings(program) if each.rule is VtaRule.EXTENSION}
    assert {each.partition(",")[0] for each in found} == {
        f"VTA has no ALU {name}" for name in ("CLIP", "XOR", "SCALE")
    }


@pytest.mark.parametrize(
    ("op", "options", "words"),
    [
        (CLIP, {"imm": 5}, "CLIP takes no immediate: its parameters are s, low"),
        (CLIP, {}, "operation CLIP with none: its parameters are s, low"),
        (CLIP, {"parameters": {"s": 32, "low": 0}}, "s is 32: it must lie in 0..31"),
        (XOR, {"parameters": {"s": 3}}, "XOR has no parameters, and is given s"),
        (AluOp.ADD, {"parameters": {"s": 3}}, "ADD has no parameters, and is given s"),
    ],
)
def test_assembly_that_is_refused(op: AnyOperation, options: dict[str, int], words: str) -> None:
    asm = Assembler(CONFIG)
    with pytest.raises(AssemblyError) as caught:
        asm.alu(op, (0, 1), **options)  # type: ignore[arg-type]  # a mapping, too
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("instruction", "words"),
    [
        (alu(CLIP, use_imm=1), "ALU CLIP with use_imm: its second operand lies in memory"),
        (alu(SCALE, use_imm=0), "ALU SCALE without use_imm: it has no second operand"),
    ],
)
def test_the_second_operand(instruction: Alu, words: str) -> None:
    program = Program.from_instructions(CONFIG, [instruction])
    with pytest.raises(ProgramError) as caught:
        validate(program)
    assert caught.value.fault is Fault.FEATURE
    assert words in str(caught.value)
    assert words in disassemble(program)
    right = Program.from_instructions(
        CONFIG, [replace(instruction, use_imm=not instruction.use_imm)]
    )
    assert "FEATURE" not in disassemble(right)
