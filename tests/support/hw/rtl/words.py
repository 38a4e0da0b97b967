"""Instruction words, legal and illegal, and the fault of each word alone."""

from __future__ import annotations

import random

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import (
    INSTRUCTION_BYTES,
    Opcode,
    WordLayout,
    instruction_layout,
    memory_layout,
)
from tandem.hw.faults import Fault
from tandem.hw.instruction_fields import PADDING
from tandem.hw.isa.column_codec import decode_columns
from tandem.hw.isa.rules import broken_rules, rule_inputs
from tandem.hw.topology import TOKEN_FLAGS

_LATER = (Fault.SRAM_INDEX, Fault.AFTER_FINISH)
"""Faults of `broken_rules` that hardware does not detect in a single word."""


def faults_of(config: HardwareConfig, words: list[int]) -> list[Fault]:
    """The lowest-numbered fault of each word, by `hw.isa.rules`."""
    data = b"".join(word.to_bytes(INSTRUCTION_BYTES, "little") for word in words)
    broken = broken_rules(rule_inputs(config, decode_columns(config, data)))
    faults = np.full(len(words), Fault.NONE, dtype=np.int64)
    for fault in sorted(broken, reverse=True):
        if fault not in _LATER:
            faults[broken[fault]] = fault
    return [Fault(int(fault)) for fault in faults]


def near_legal_word(rng: random.Random, config: HardwareConfig) -> int:
    """A random word of any opcode, with small sizes and all other fields near their limits."""
    opcode = rng.choice((*Opcode, Opcode.LOAD, Opcode.STORE, rng.randrange(8)))
    known = opcode in set(Opcode)
    layout = instruction_layout(config, Opcode(opcode)) if known else memory_layout(config)
    word = int(opcode)
    if layout.unused and rng.random() < 0.05:
        word |= layout.unused & rng.getrandbits(128) & rng.getrandbits(128)
    for field in layout:
        if field.name != "opcode":
            value = _value(rng, opcode, field.name, layout)
            word |= (value & ((1 << field.width) - 1)) << field.lsb
    return word


def _value(rng: random.Random, opcode: int, name: str, layout: WordLayout) -> int:
    low, high = layout[name].limits
    near = rng.choice((0, 1, 2, high, high - 1, rng.randint(low, high)))
    match name:
        case _ if name in TOKEN_FLAGS:
            return int(rng.random() < 0.15)
        case "memory_type" if opcode == Opcode.STORE:
            return rng.choice((4, 4, 4, 4, rng.randrange(8)))
        case "x_size" | "y_size":
            return rng.choice((1, 2, 3, 9, near))
        case _ if name in {spec.name for spec in PADDING}:
            return rng.choice((0, 0, 0, 0, near)) if rng.random() < 0.5 else 0
        case "sram_base":
            return rng.choice((0, rng.randrange(64), 1 << rng.randrange(16), near))
        case "iter_out" | "iter_in":
            return rng.choice((1, 1, 1, 2, near))
        case "uop_bgn":
            return rng.choice((0, 0, 0, near))
        case "uop_end":
            full = 1 << (layout[name].width - 1)
            return rng.choice((1, full, full, full + 1, near))
        case "imm":
            return rng.choice((31, 32, -31, -32, near))
        case "alu_opcode":
            return rng.choice((0, 3, 3, 4, 5, 6, near))
        case _:
            return near
