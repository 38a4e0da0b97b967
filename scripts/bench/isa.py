"""How fast programs are read and checked on this machine: `python -m scripts.bench.isa`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter

from hw.config import HardwareConfig
from hw.encoding import INSTRUCTION_BYTES
from hw.hazards import check_hazards
from hw.isa import Assembler, Module, Program, disassemble, pack_uops, validate
from scripts.bench.figures import Figure, print_figures
from scripts.matmul import matmul_program

__all__ = ["main", "measure"]

ROUNDS = 3
LENGTH = 100_000
"""Instructions of a program: those of a deep network in small tiles."""
PRODUCT = 1024
LARGE_PRODUCT = 2048
"""One program of its own: a proof of its order takes one that is in order."""


def measure(
    config: HardwareConfig, length: int = LENGTH, product: int = LARGE_PRODUCT
) -> Iterator[Figure]:
    """Time what every launch does with a program, and what `tandem disasm` does."""
    products, empty = _products(config, length), _empty_pairs(config, length)
    yield _rate("fields of a program as columns", products, Program.columns, 2e6)
    yield _rate("validation, matrix products", products, validate, 1e5)
    yield _rate("validation, tokens alone", empty, validate, 3e4)
    large, layout = matmul_program(config, product, product, product)
    micro_ops = pack_uops(config, layout.uops)  # the image begins with them
    yield _rate("order of a matrix product", large, partial(check_hazards, image=micro_ops), 1e4)
    yield _rate("disassembly", products, disassemble, None)


def _products(config: HardwareConfig, length: int) -> Program:
    """Matrix products, one after the other."""
    program, _ = matmul_program(config, PRODUCT, PRODUCT, PRODUCT)
    body, end = program.data[:-INSTRUCTION_BYTES], program.data[-INSTRUCTION_BYTES:]
    return Program(config, body * max(1, length // len(program)) + end)


def _empty_pairs(config: HardwareConfig, length: int) -> Program:
    """Instructions of nothing but tokens, with as many in flight as queues allow."""
    pair, end = Assembler(config), Assembler(config)
    pair.nop(Module.LOAD, signals=Module.COMPUTE)
    pair.nop(Module.COMPUTE, waits_for=Module.LOAD)
    end.finish()
    return Program(config, pair.build().data * (length // 2) + end.build().data)


def _rate(
    name: str, program: Program, work: Callable[[Program], object], target: float | None
) -> Figure:
    """The best of a few rounds."""
    best = 0.0
    for _ in range(ROUNDS):
        begun = perf_counter()
        work(program)
        best = max(best, len(program) / (perf_counter() - begun))
    return Figure(name, best, "instructions/s", target)


def main() -> int:
    """Print the report; 1 where a target is missed."""
    return print_figures(measure(HardwareConfig()))


if __name__ == "__main__":
    sys.exit(main())
