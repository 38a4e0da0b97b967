"""Speed of decoding and checking programs: `python -m tandem.scripts.bench.isa`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.hazards import check_hazards
from tandem.hw.isa import Assembler, Program, Unit, disassemble, pack_uops, validate
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.matmul import matmul_program

ROUNDS = 3
LENGTH = 100_000
"""Number of instructions of a program, as of a deep network in small tiles."""
PRODUCT = 1024
LARGE_PRODUCT = 2048
"""Size of a single product, for the hazard check: its tokens order all accesses."""


def measure(
    config: HardwareConfig, length: int = LENGTH, product: int = LARGE_PRODUCT
) -> Iterator[Measurement]:
    """Time decoding, validation, the hazard check and disassembly."""
    products, empty = _products(config, length), _empty_pairs(config, length)
    yield _rate("fields of a program as columns", products, Program.columns, 2e6)
    yield _rate("validation, matrix products", products, validate, 1e5)
    yield _rate("validation, tokens alone", empty, validate, 3e4)
    large, layout = matmul_program(config, product, product, product)
    micro_ops = pack_uops(config, layout.uops)  # the image begins with the micro-ops
    yield _rate("order of a matrix product", large, partial(check_hazards, image=micro_ops), 1e4)
    yield _rate("disassembly", products, disassemble, None)


def _products(config: HardwareConfig, length: int) -> Program:
    """A program of several matrix products in sequence."""
    program, _ = matmul_program(config, PRODUCT, PRODUCT, PRODUCT)
    body, end = program.data[:-INSTRUCTION_BYTES], program.data[-INSTRUCTION_BYTES:]
    return Program(config, body * max(1, length // len(program)) + end)


def _empty_pairs(config: HardwareConfig, length: int) -> Program:
    """A program of empty instructions, with as many tokens in flight as the token queues hold."""
    pair, end = Assembler(config), Assembler(config)
    pair.nop(Unit.LOAD, signals=Unit.COMPUTE)
    pair.nop(Unit.COMPUTE, waits_for=Unit.LOAD)
    end.finish()
    return Program(config, pair.build().data * (length // 2) + end.build().data)


def _rate(
    name: str, program: Program, work: Callable[[Program], object], target: float | None
) -> Measurement:
    """Instructions per second in the best of several rounds."""
    best = 0.0
    for _ in range(ROUNDS):
        begun = perf_counter()
        work(program)
        best = max(best, len(program) / (perf_counter() - begun))
    return Measurement(name, best, "instructions/s", target)


def main() -> int:
    """Print the report; 1 where a target is missed."""
    return print_measurements(measure(HardwareConfig()))


if __name__ == "__main__":
    sys.exit(main())
