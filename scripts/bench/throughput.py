"""The throughput of the RTL, by operation: `python -m tandem.scripts.bench.throughput`.

Every figure is a slope: the additional cycles of the same program with more of one operation, so
that constant costs (start-up, latency) cancel. Rows beyond their limit are marked, and the command
fails.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Program, Unit, pack_uops
from tandem.hw.memory_model import MEMORY_PRESETS, MemoryModel
from tandem.sim.engine import Engine, Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program

IMAGE_BYTES = 1 << 22
TABLE = 4096
"""Address of the micro-ops."""
DATA = 1 << 16
"""Address of all other data that is loaded or stored."""
FAR = MemoryModel(latency=1000, interval=1, in_flight=256)
"""A memory with so much latency that only bursts in flight keep the bus busy."""

Fill = Callable[[Assembler, int], object]


@dataclass(frozen=True, slots=True)
class ThroughputRow:
    """A row of the table: the operation, its measured cost, and the limit."""

    operation: str
    measured: float
    unit: str
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the measured figure is within its limit (slopes of whole cycles are exact)."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


class _Bench:
    """Runs programs on machines of one configuration."""

    def __init__(self, config: HardwareConfig) -> None:
        self.config = config
        self._engines: dict[MemoryModel, Engine] = {}

    def cycles(self, model: MemoryModel, fill: Fill, amount: int) -> int:
        """Cycles of a program that `fill` fills with `amount` operations."""
        asm = Assembler(self.config)
        asm.load(MemoryId.UOP, sram=0, dram=TABLE // 4, columns=3)
        asm.nop(Unit.COMPUTE, signals=Unit.STORE)
        asm.nop(Unit.STORE, waits_for=Unit.COMPUTE)
        fill(asm, amount)
        asm.finish()
        return self._run(model, asm.build())

    def slope(self, model: MemoryModel, fill: Fill, few: int, many: int) -> float:
        """Additional cycles per operation, between `few` and `many` operations."""
        more = self.cycles(model, fill, many) - self.cycles(model, fill, few)
        return more / (many - few)

    def _run(self, model: MemoryModel, program: Program) -> int:
        if model not in self._engines:
            self._engines[model] = make_engine("rtl", self.config, model)
        engine = self._engines[model]
        uops = (MicroOp(0, 0, 0), MicroOp(1, 1, 1), MicroOp(2, 2, 2))
        image = np.zeros(IMAGE_BYTES, np.uint8)
        table = np.frombuffer(pack_uops(self.config, uops), np.uint8)
        image[TABLE : TABLE + len(table)] = table
        memory, address = place_program(image, program)
        cycles = engine.launch(program, memory, Launch(address=address)).cycles
        assert cycles is not None
        return cycles


def measure(config: HardwareConfig) -> list[ThroughputRow]:
    """All lines of the throughput table for `config`."""
    bench = _Bench(config)
    return [*_micro_ops(bench), *_gaps(bench), *_loads(bench), *_stores(bench), *_fetch(bench)]


def _micro_ops(bench: _Bench) -> list[ThroughputRow]:
    """Cycles per micro-op: one, whatever the accumulators; two for an ALU instruction with two
    operands from ACC if ACC has one read port.
    """
    fast = MEMORY_PRESETS["fast"]
    one = (0, 1)

    def gemm(asm: Assembler, count: int, *, dst: int = 0, reset: bool = False) -> object:
        return asm.gemm(one, (Loop(count // 64), Loop(64, dst=dst, src=1)), reset=reset)

    def alu(asm: Assembler, count: int, *, dst: int, src: int, imm: int | None) -> object:
        loops = (Loop(count // 64), Loop(64, dst=dst, src=src))
        return asm.alu(AluOp.ADD, one, loops, imm=imm)

    kinds: dict[str, Fill] = {
        "GEMM, other accumulators": lambda asm, n: gemm(asm, n, dst=1),
        "GEMM, the same accumulator": lambda asm, n: gemm(asm, n),
        "GEMM, reset": lambda asm, n: gemm(asm, n, dst=1, reset=True),
        "ALU immediate, other accumulators": lambda asm, n: alu(asm, n, dst=1, src=0, imm=1),
        "ALU immediate, the same accumulator": lambda asm, n: alu(asm, n, dst=0, src=0, imm=1),
        "ALU tensor, other accumulators": lambda asm, n: alu(asm, n, dst=1, src=1, imm=None),
        "ALU tensor, the same accumulator": lambda asm, n: alu(asm, n, dst=0, src=0, imm=None),
        "ALU tensor, source just written": lambda asm, n: asm.alu(
            AluOp.ADD, (0, 3), (Loop(n // 3 // 16), Loop(16, dst=1, src=0))
        ),
    }
    tensor = 3 - bench.config.acc_read_ports
    return [
        ThroughputRow(
            what,
            bench.slope(fast, fill, 768, 7680),
            "cycles a micro-op",
            tensor if what.startswith("ALU tensor") else 1,
        )
        for what, fill in kinds.items()
    ]


def _gaps(bench: _Bench) -> list[ThroughputRow]:
    """Idle cycles between independent instructions of 64 micro-ops.

    Two hundred instructions are more than fetch prefetches, which delays the first LOAD.
    """
    loop = (Loop(64, dst=1, src=1),)

    def gemms(asm: Assembler, count: int) -> object:
        return [asm.gemm((0, 1), loop) for _ in range(count)]

    def alus(asm: Assembler, count: int) -> object:
        return [asm.alu(AluOp.MAX, (0, 1), loop, imm=0) for _ in range(count)]

    def both(asm: Assembler, count: int) -> object:
        return [gemms(asm, 1) if index % 2 else alus(asm, 1) for index in range(count)]

    kinds: dict[str, Fill] = {"GEMM to GEMM": gemms, "ALU to ALU": alus, "GEMM to ALU": both}
    fast = MEMORY_PRESETS["fast"]
    return [
        ThroughputRow(what, bench.slope(fast, fill, 200, 400) - 64, "idle cycles", 2)
        for what, fill in kinds.items()
    ]


def _rows(bench: _Bench, memory: MemoryId, columns: int, gap: int) -> tuple[Fill, int]:
    """A LOAD or STORE of rows of `columns` elements with a `gap`, and the beats of a row."""
    size = bench.config.element_bytes(memory)
    beats = max(1, columns * size // bench.config.bus_bytes)

    def fill(asm: Assembler, rows: int) -> object:
        dram, stride = DATA // size, columns + gap
        if memory is MemoryId.OUT:
            return asm.store(sram=0, dram=dram, rows=rows, columns=columns, stride=stride)
        return asm.load(memory, sram=0, dram=dram, rows=rows, columns=columns, stride=stride)

    return fill, beats


def _amounts(bench: _Bench, memory: MemoryId, columns: int) -> tuple[int, int]:
    """Few and many rows of `columns` elements, as many as the memory holds."""
    many = min(100, bench.config.depth(memory) // columns)
    return many // 4, many


def _loads(bench: _Bench) -> list[ThroughputRow]:
    lines = []
    for name in ("fast", "ddr"):
        model = MEMORY_PRESETS[name]
        for memory, columns, gap in (
            (MemoryId.INP, 16, 0),
            (MemoryId.INP, 14, 2),
            (MemoryId.INP, 2, 6),
            (MemoryId.WGT, 8, 0),
            (MemoryId.ACC, 16, 0),
        ):
            fill, beats = _rows(bench, memory, columns, gap)
            slope = bench.slope(model, fill, *_amounts(bench, memory, columns)) / beats
            what = f"LOAD {memory.name}, rows of {columns}, {name}"
            lines.append(ThroughputRow(what, slope, "cycles a beat", 1))
    fill, _ = _rows(bench, MemoryId.INP, 14, 2)
    fast, ddr = MEMORY_PRESETS["fast"], MEMORY_PRESETS["ddr"]
    paid = [
        bench.cycles(ddr, fill, rows) - bench.cycles(fast, fill, rows)
        for rows in _amounts(bench, MemoryId.INP, 14)
    ]
    lines.append(
        ThroughputRow(
            "LOAD of four times the rows, ddr", paid[1] - paid[0], "cycles of latency more", 0
        )
    )

    def padding(asm: Assembler, width: int) -> object:
        return asm.load(MemoryId.INP, sram=0, dram=DATA // 256, columns=width, pad=(15, 15, 0, 0))

    # An additional column is one element of data and thirty of padding.
    size = bench.config.element_bytes(MemoryId.INP)
    data = max(1, size // bench.config.bus_bytes)
    slope = (bench.slope(fast, padding, 10, 60) - data) / 30
    lines.append(ThroughputRow("LOAD INP, padding", slope, "cycles an element", 1))
    fill, beats = _rows(bench, MemoryId.INP, 16, 16)
    in_flight = FAR.latency / bench.slope(FAR, fill, *_amounts(bench, MemoryId.INP, 16))
    lines.append(
        ThroughputRow("LOAD INP, latency 1000", in_flight, "bursts in flight", 2, at_least=True)
    )
    return lines


def _stores(bench: _Bench) -> list[ThroughputRow]:
    lines = []
    for name in ("fast", "ddr"):
        for columns, gap in ((16, 0), (14, 2), (2, 6)):
            fill, beats = _rows(bench, MemoryId.OUT, columns, gap)
            amounts = _amounts(bench, MemoryId.OUT, columns)
            slope = bench.slope(MEMORY_PRESETS[name], fill, *amounts) / beats
            lines.append(
                ThroughputRow(f"STORE, rows of {columns}, {name}", slope, "cycles a beat", 1)
            )
    fill, _ = _rows(bench, MemoryId.OUT, 16, 16)
    in_flight = FAR.latency / bench.slope(FAR, fill, *_amounts(bench, MemoryId.OUT, 16))
    lines.append(
        ThroughputRow("STORE, latency 1000", in_flight, "bursts in flight", 2, at_least=True)
    )
    return lines


def _fetch(bench: _Bench) -> list[ThroughputRow]:
    """Empty instructions for all units in turn, which only fetch limits."""

    def nops(asm: Assembler, count: int) -> object:
        return [asm.nop(Unit(index % 3)) for index in range(count)]

    beats = max(1.0, 16 / bench.config.bus_bytes)
    return [
        ThroughputRow(
            f"fetch, {name}",
            bench.slope(MEMORY_PRESETS[name], nops, 300, 1500) / beats,
            "cycles a beat",
            1,
        )
        for name in ("fast", "ddr")
    ]


def main(argv: list[str] | None = None) -> int:
    """Print the table of each named configuration; 1 if a line misses its limit.

    By default `pynq`, unchanged and with one read port of ACC.
    """
    names = sys.argv[1:] if argv is None else argv
    configs = [load_config(name) for name in names]
    if not configs:
        pynq = load_config("pynq")
        configs = [pynq, pynq.replace(name="pynq-acc_read_ports-1", acc_read_ports=1)]
    # All configurations are measured, even if the first one misses a limit.
    return 0 if all([_met(config) for config in configs]) else 1


def _met(config: HardwareConfig) -> bool:
    """Print the table of a configuration; return whether every line meets its limit."""
    lines = measure(config)
    table = Table("", "measured", "", "required", title=f"Throughput of the RTL, {config.name}")
    for line in lines:
        sign = "at least" if line.at_least else "at most"
        mark = "" if line.met else "[red]short[/]"
        table.add_row(
            line.operation, f"{line.measured:.3f}", line.unit, f"{sign} {line.limit:g} {mark}"
        )
    Console().print(table)
    return all(line.met for line in lines)


if __name__ == "__main__":
    sys.exit(main())
