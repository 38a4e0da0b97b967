"""Unchecked programs: random words, some of them nearly legal."""

from __future__ import annotations

import random

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import WordLayout, instruction_layout, opcodes_of
from tandem.hw.isa import MemoryId, Opcode, Program
from tandem.sim.engine import Bytes

IMAGE_BYTES = 1 << 12

_MOSTLY_ZERO = {"uop_bgn", "y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1"}
"""Fields of which some instructions allow little but zero."""


def nonsense(config: HardwareConfig, seed: int) -> tuple[Program, Bytes]:
    """A program of up to 20 random instructions, and a random image."""
    source = random.Random(seed)
    words = [_word(config, source) for _ in range(source.randint(1, 20))]
    if source.random() < 0.8:
        words.append(int(Opcode.FINISH).to_bytes(16, "little"))
    image = np.frombuffer(source.randbytes(IMAGE_BYTES), dtype=np.uint8).copy()
    return Program.from_bytes(config, b"".join(words)), image


def _word(config: HardwareConfig, source: random.Random) -> bytes:
    if source.random() < 0.02:
        return source.randbytes(16)
    opcodes = [Opcode.LOAD, Opcode.LOAD, Opcode.STORE, Opcode.GEMM, Opcode.ALU]
    if Opcode.REQUANTISE in opcodes_of(config):
        opcodes.append(Opcode.REQUANTISE)
    opcode = source.choice(opcodes)
    layout = instruction_layout(config, opcode)
    return _filled(config, layout, opcode, source).to_bytes(16, "little")


def _filled(
    config: HardwareConfig, layout: WordLayout, opcode: Opcode, source: random.Random
) -> int:
    """A word of random fields, mostly small, as in legal programs."""
    word = 0
    for field in layout:
        width = field.width if source.random() < 0.05 else min(field.width, source.choice([1, 2]))
        value = source.getrandbits(width)
        if field.name == "opcode":
            value = opcode
        elif field.name.startswith(("pop", "push")):
            value = source.random() < 0.05
        elif field.name in _MOSTLY_ZERO and source.random() < 0.95:
            value = 0
        elif field.name in {"y_size", "iter_out", "iter_in", "uop_end"}:
            value = max(value, 1)
        elif field.name == "memory_type" and source.random() < 0.9:
            loaded = [0, 0, 1, 2, 3, 5]
            if MemoryId.PAR in config.memories:
                loaded.append(MemoryId.PAR)
            value = 4 if opcode is Opcode.STORE else source.choice(loaded)
        word |= int(value) << field.lsb
    return word
