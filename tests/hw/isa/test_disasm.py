"""Programs as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import (
    AluOp,
    Assembler,
    Coding,
    Load,
    Loop,
    MemoryId,
    Opcode,
    Program,
    Store,
    Tokens,
    Unit,
    disassemble,
)
from tandem.hw.weight_formats import INT4
from tests.support.hw.strategies import configs
from tests.support.hw.vectors import load_vector


@pytest.mark.parametrize("name", ["046_chain_small8", "067_conv_batch2", "051_aluext_block4"])
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"disasm/{name}.txt", disassemble(load_vector(name).program))


def test_illegal_instructions(golden: Callable[[str, str], None]) -> None:
    asm = Assembler(load_config("pynq"))
    asm.load(MemoryId.OUT, sram=0, dram=0, columns=4)
    asm.load(MemoryId.INP, sram=2040, dram=0xFFFFFFFF, rows=3, columns=4, pad=(1, 2, 3, 4))
    asm.append(
        Store(
            memory=MemoryId.OUT,
            sram_base=0,
            dram_base=0,
            y_size=0,
            x_size=0,
            x_stride=0,
            tokens=Tokens(pop_next=True, push_prev=True),
        )
    )
    asm.finish(waits_for=Unit.STORE)
    asm.finish()
    words = (0x07, 0x300, 0x381, (5 << 108) | 4)
    odd = b"".join(word.to_bytes(16, "little") for word in words)
    program = Program(asm.config, odd + asm.build().data)
    golden("disasm/illegal.txt", disassemble(program))


def test_extensions(golden: Callable[[str, str], None]) -> None:
    asm = Assembler(load_config("pynq").replace(name="extended", features=frozenset(Feature)))
    loops = [Loop(2, dst=8, src=8), Loop(8, dst=1, src=1)]
    asm.load(MemoryId.PAR, sram=3, dram=0x40, columns=2, signals=Unit.COMPUTE)
    asm.requantise(3, (1, 0), low=0, high=100, scale=(1 << 24) - 1, waits_for=Unit.LOAD)
    asm.gemm((0, 4), loops, overwrite=True)
    asm.gemm((0, 4), loops, reset=True, overwrite=True)
    asm.alu(AluOp.RESIDUAL, (4, 5), loops, from_inp=True)
    asm.alu(AluOp.MOVE, (4, 5), imm=-128)
    asm.end_requantisation(signals=Unit.STORE)
    asm.alu(AluOp.RESIDUAL, (4, 5))
    asm.alu(AluOp.ADD, (4, 5), imm=1, from_inp=True)
    asm.requantise(60)
    asm.gemm((0, 1), [Loop(2)])
    asm.table(INT4.table)
    asm.load(MemoryId.WGT_CODES, sram=9, dram=5, columns=2, coding=Coding.BITS_4_SCALED)
    asm.load(MemoryId.WGT_CODES, sram=9, dram=5, rows=2, columns=2, coding=Coding.BITS_2)
    asm.append(
        Load(
            memory=MemoryId.INP,
            sram_base=0,
            dram_base=0,
            y_size=1,
            x_size=1,
            x_stride=1,
            coding=Coding.BITS_2,
        )
    )
    asm.finish()
    beyond = Program(asm.config, (1 << 127 | 5).to_bytes(16, "little"))
    program = Program(asm.config, asm.build().data[:-16] + beyond.data + asm.build().data[-16:])
    golden("disasm/extensions.txt", disassemble(program))


def test_a_store_of_codes() -> None:
    """No STORE may name the memory; its text says so, and has no coding, which LOADs have."""
    asm = Assembler(load_config("tiny-w"))
    asm.append(
        Store(memory=MemoryId.WGT_CODES, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
    )
    asm.finish()
    first = disassemble(asm.build()).splitlines()[0]
    assert "STORE" in first
    assert "WGT_CODES" in first
    assert "!!" in first
    assert "coding" not in first


@given(data=st.data())
def test_anything_has_a_text(data: st.DataObject) -> None:
    config = data.draw(configs())
    words = data.draw(st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=12))
    lines = disassemble(Program(config, b"".join(words))).splitlines()
    assert len(lines) == len(words)
    for position, (line, word) in enumerate(zip(lines, words, strict=True)):
        index, mnemonic = line.split()[:2]
        assert index == str(position)
        if mnemonic == "???":
            assert f"0x{int.from_bytes(word, 'little'):032x}" in line
            assert "!!" in line
        else:
            assert mnemonic == Opcode(word[0] & 7).name
