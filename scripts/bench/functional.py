"""Speed of the functional engine: `python -m tandem.scripts.bench.functional`.

The programs resemble compiled programs: micro-op kernels in two loops, working sets of a tile.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from time import perf_counter

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import (
    Alu,
    AluOp,
    Finish,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    Program,
    Store,
    pack_uops,
)
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.sim.engine import Engine, Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program

LEAST_GEMM = 5e7
"""Minimum GEMM micro-ops per second."""
ROUNDS = 5
SECONDS = 0.3
TABLE = 4096
"""Address of the micro-ops, and of all other data that is loaded."""
IMAGE_BYTES = 1 << 20
KERNEL, ROWS, COLUMNS = 16, 64, 8
"""Micro-ops, inner and outer loop: a tile of 64 x 8 outputs that reduces 16 blocks."""


def measure(config: HardwareConfig) -> Iterator[Measurement]:
    """Run every benchmark on a machine of configuration `config`, which must hold the tile."""
    engine = make_engine("functional", config)
    for name, kernel, work in _kernels(config):
        yield _rate(engine, name, kernel, work)
    for memory in (MemoryId.WGT, MemoryId.INP, MemoryId.ACC, MemoryId.ACC_8BIT, MemoryId.OUT):
        yield _move_rate(engine, memory)
    nop = Load(memory=MemoryId.ACC, sram_base=0, dram_base=0, y_size=0, x_size=0, x_stride=0)
    yield _timed(engine, "empty LOAD", "instructions/s", 1, [nop], 100_000)


def _kernels(config: HardwareConfig) -> Iterable[tuple[str, list[MicroOp], Instruction]]:
    same_dst = [MicroOp(0, k, k) for k in range(KERNEL)]
    own_dst = [MicroOp(k * ROWS, 0, k) for k in range(KERNEL)]
    single = [MicroOp(0, 1024, 0)]
    yield "GEMM, one accumulator a kernel", same_dst, _gemm(len(same_dst), dst_out=ROWS)
    yield "GEMM, an accumulator a micro-op", own_dst, _gemm(len(own_dst), dst_out=0)
    yield "GEMM, kernels of one micro-op", single[:1], _gemm(1, dst_out=ROWS)
    yield "reset", single, _gemm(1, dst_out=ROWS, reset=True)
    for op in config.operations:
        yield f"ALU {op.name} immediate", single, _alu(op, use_imm=True)
        yield f"ALU {op.name} tensor", single, _alu(op, use_imm=False)


def tile_program(config: HardwareConfig) -> tuple[Program, bytes]:
    """Two thousand GEMMs over the tile; and their micro-ops, which lie at `TABLE`."""
    words = pack_uops(config, [MicroOp(0, k, k) for k in range(KERNEL)])
    gemms = [_gemm(KERNEL, dst_out=ROWS)] * 2000
    return Program.from_instructions(config, [_table(KERNEL), *gemms, Finish()]), words


def _table(count: int) -> Load:
    return Load(
        memory=MemoryId.UOP,
        sram_base=0,
        dram_base=TABLE // 4,
        y_size=1,
        x_size=count,
        x_stride=count,
    )


def _gemm(kernel: int, dst_out: int, reset: bool = False) -> Gemm:
    return Gemm(
        reset=reset,
        uop_bgn=0,
        uop_end=kernel,
        iter_out=COLUMNS,
        iter_in=ROWS,
        dst_factor_out=dst_out,
        dst_factor_in=1,
        src_factor_out=0,
        src_factor_in=KERNEL if kernel > 1 else 1,
        wgt_factor_out=KERNEL,
        wgt_factor_in=0,
    )


def _alu(op: AluOp, use_imm: bool) -> Alu:
    return Alu(
        op=op,
        use_imm=use_imm,
        imm=3,
        uop_bgn=0,
        uop_end=1,
        iter_out=COLUMNS,
        iter_in=ROWS,
        dst_factor_out=ROWS,
        dst_factor_in=1,
        src_factor_out=ROWS,
        src_factor_in=1,
    )


def _rate(engine: Engine, name: str, kernel: list[MicroOp], work: Instruction) -> Measurement:
    words = np.frombuffer(pack_uops(engine.config, kernel), dtype=np.uint8)
    table = _table(len(kernel))
    micro_ops = len(kernel) * ROWS * COLUMNS
    return _timed(engine, name, "micro-ops/s", micro_ops, [work], 2000, table, words)


def _move_rate(engine: Engine, memory: MemoryId) -> Measurement:
    config = engine.config
    count = min(config.depth(memory), IMAGE_BYTES // 2 // config.element_bytes(memory))
    kind = Store if memory is MemoryId.OUT else Load
    move = kind(memory=memory, sram_base=0, dram_base=0, y_size=1, x_size=count, x_stride=count)
    size = count * config.element_bytes(memory)
    name = f"{kind.__name__.upper()} of {memory.name}"
    return _timed(engine, name, "bytes/s", size, [move], 200)


def _timed(
    engine: Engine,
    name: str,
    unit: str,
    amount: int,
    work: list[Instruction],
    times: int,
    first: Load | None = None,
    words: np.ndarray[tuple[int], np.dtype[np.uint8]] | None = None,
) -> Measurement:
    """The rate of a program with `work` repeated `times` times: the best of several rounds."""
    setup: list[Instruction] = [] if first is None else [first]
    program = Program.from_instructions(engine.config, [*setup, *(work * times), Finish()])
    image = np.zeros(IMAGE_BYTES, dtype=np.uint8)
    if words is not None:
        image[TABLE : TABLE + len(words)] = words
    memory, address = place_program(image, program)
    how = Launch(address=address)
    engine.launch(program, memory, how)
    best = 0.0
    for _ in range(ROUNDS):
        begun = perf_counter()
        seconds, done = 0.0, 0
        while perf_counter() - begun < SECONDS:
            seconds += engine.launch(program, memory, how).seconds
            done += amount * times
        best = max(best, done / seconds)
    return Measurement(name, best, unit, LEAST_GEMM if name.startswith("GEMM") else None)


def main() -> int:
    """Print the report; 1 where a target is missed."""
    return print_measurements(measure(HardwareConfig()))


if __name__ == "__main__":
    sys.exit(main())
