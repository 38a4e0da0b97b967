"""Random commands over the memories of a small configuration."""

from __future__ import annotations

import random
from dataclasses import replace

from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Compute,
    Copy,
    Kernel,
    Loop,
    Mode,
)
from tandem.hw.config import HardwareConfig
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId

LOADS = (MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.ACC_8BIT)


def random_commands(
    rng: random.Random, config: HardwareConfig, count: int, loads: range, stores: range
) -> list[Command]:
    """Copies and computes in any order, on few elements, so that they often conflict.

    Parameters
    ----------
    loads, stores
        Ranges of DRAM bytes that LOADs read and that STOREs write.
    """
    found: list[Command] = []
    for _ in range(count):
        kind = rng.randrange(3)
        if kind == 0:
            memories = (*LOADS, *([MemoryId.PAR] if MemoryId.PAR in config.memories else []))
            found.append(random_copy(rng, config, rng.choice(memories), loads))
        elif kind == 1:
            found.append(random_copy(rng, config, MemoryId.OUT, stores))
        else:
            found.append(_compute(rng, config))
    return found


def random_copy(rng: random.Random, config: HardwareConfig, memory: MemoryId, dram: range) -> Copy:
    """A LOAD, with padding or without, or a STORE, within some bytes of DRAM."""
    bytes_each = config.element_bytes(memory)
    first, last = -(-dram.start // bytes_each), dram.stop // bytes_each
    rows, columns = rng.randint(1, 3), rng.randint(1, 4)
    # Rows have gaps, are contiguous, overlap, or are the same.
    stride = rng.randint(0, 5)
    pads = (0, 0, 0, 0)
    if memory is not MemoryId.OUT and rng.random() < 0.3:
        pads = (rng.randint(0, 1), rng.randint(0, 1), rng.randint(0, 2), rng.randint(0, 1))
    size = (pads[0] + rows + pads[1]) * (pads[2] + columns + pads[3])
    rows, columns, pads, size = (
        (rows, columns, pads, size) if size <= config.depth(memory) else (1, 1, (0, 0, 0, 0), 1)
    )
    return Copy(
        memory=memory,
        sram=rng.randint(0, config.depth(memory) - size),
        dram=rng.randint(first, last - (rows - 1) * stride - columns),
        rows=rows,
        columns=columns,
        stride=stride,
        pads=pads,
    )


def _compute(rng: random.Random, config: HardwareConfig) -> Compute:
    acc = config.depth(MemoryId.ACC)
    reset = rng.random() < 0.3
    op = None if reset or rng.random() < 0.5 else rng.choice((AluOp.MAX, AluOp.ADD, AluOp.MUL))
    imm = rng.randint(-5, 5) if op is not None and rng.random() < 0.5 else None
    loops = [Loop(rng.randint(1, 3), *(rng.randint(0, 2) for _ in range(3))) for _ in range(2)]
    from_inp, mode = False, None
    if AluOp.RESIDUAL in config.operations:
        from_inp = op is not None and imm is None and rng.random() < 0.5
        op = rng.choice((AluOp.MOVE, AluOp.RESIDUAL)) if from_inp and rng.random() < 0.5 else op
    if MemoryId.PAR in config.memories and (op is AluOp.RESIDUAL or rng.random() < 0.4):
        limits = -rng.randint(0, 128), rng.randint(0, 127)
        mode = Mode(rng.randrange(config.depth(MemoryId.PAR) - 8), *limits, rng.randrange(1 << 24))
        loops = [replace(each, par=rng.randint(0, 2)) for each in loops]
    reach = 2 * 2 * 2
    size = rng.randint(1, 3)
    sources = config.depth(MemoryId.INP) if op is None or from_inp else acc
    weights = config.depth(MemoryId.WGT)
    kernel = Kernel(
        tuple(rng.randrange(acc - reach) for _ in range(size)),
        tuple(rng.randrange(sources - reach) for _ in range(size)),
        tuple(rng.randrange(weights - reach) for _ in range(size)),
    )
    return Compute(
        kernel=kernel,
        outer=loops[0],
        inner=loops[1],
        op=op,
        imm=imm,
        reset=reset,
        from_inp=from_inp,
        mode=mode,
    )
