"""Hypothesis strategies: configurations and instructions of every kind."""

from __future__ import annotations

from hypothesis import strategies as st

from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode, WordLayout, instruction_layout, opcodes_of, uop_layout
from tandem.hw.errors import ConfigError
from tandem.hw.features import Feature
from tandem.hw.instruction_fields import HEADER
from tandem.hw.isa import (
    Alu,
    Finish,
    Gemm,
    Instruction,
    Load,
    MicroOp,
    Requantise,
    Store,
    Table,
    Tokens,
)
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId


@st.composite
def configs(draw: st.DrawFn) -> HardwareConfig:
    """Any configuration that is valid for the encodings."""
    while True:
        try:
            return HardwareConfig(
                name="drawn",
                log_batch=draw(st.integers(0, 3)),
                log_block_in=draw(st.integers(0, 6)),
                log_block_out=draw(st.integers(0, 6)),
                log_uop_buffer=draw(st.integers(3, 16)),
                log_inp_buffer=draw(st.integers(4, 18)),
                log_wgt_buffer=draw(st.integers(4, 20)),
                log_acc_buffer=draw(st.integers(5, 20)),
                instruction_queue=1 << draw(st.integers(1, 6)),
                features=draw(st.frozensets(st.sampled_from(Feature))),
            )
        except ConfigError:
            continue


TOKENS = st.builds(
    Tokens,
    pop_prev=st.booleans(),
    pop_next=st.booleans(),
    push_prev=st.booleans(),
    push_next=st.booleans(),
)

_KINDS: dict[Opcode, type[Instruction]] = {
    Opcode.LOAD: Load,
    Opcode.STORE: Store,
    Opcode.GEMM: Gemm,
    Opcode.FINISH: Finish,
    Opcode.ALU: Alu,
    Opcode.REQUANTISE: Requantise,
    Opcode.TABLE: Table,
}


def _values(config: HardwareConfig, layout: WordLayout) -> dict[str, st.SearchStrategy[object]]:
    """A strategy for each attribute: any value that its field can hold."""
    special: dict[type[int], st.SearchStrategy[object]] = {
        MemoryId: st.sampled_from(config.memories),
        AluOp: st.sampled_from(config.operations),
        Coding: st.sampled_from(Coding),
        bool: st.booleans(),
    }
    return {
        field.attribute: special.get(field.kind, st.integers(*field.limits))
        for field in layout.fields[len(HEADER) :]
    }


def instructions(config: HardwareConfig) -> st.SearchStrategy[Instruction]:
    """Any instruction that `config` can encode, legal or not."""
    kinds: list[st.SearchStrategy[Instruction]] = [
        st.builds(
            _KINDS[opcode], tokens=TOKENS, **_values(config, instruction_layout(config, opcode))
        )
        for opcode in opcodes_of(config)
    ]
    return st.one_of(kinds)


def micro_ops(config: HardwareConfig) -> st.SearchStrategy[MicroOp]:
    """Any micro-op that fits `config`'s micro-op word."""
    fields = {field.name: st.integers(*field.limits) for field in uop_layout(config)}
    return st.builds(MicroOp, **fields)
