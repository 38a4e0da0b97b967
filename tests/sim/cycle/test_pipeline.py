"""The pipeline against a model that moves its stages cycle by cycle, on random micro-ops."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.custom_operations import AnyOperation, CustomOperation
from tandem.hw.isa import Alu, AluOp, Finish, Gemm, Load, MemoryId, MicroOp, Program, pack_uops
from tandem.hw.isa.columns import make_table
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.cycle.machine import make_machine
from tandem.sim.cycle.pipeline import execute
from tandem.sim.cycle.pipeline_state import ISSUED, STALLED, UopMemory, make_pipeline
from tandem.sim.cycle.prepare import make_run, prepare
from tandem.sim.cycle.state import LONGEST_WAIT
from tandem.sim.semantics.loops import micro_ops
from tests.support.sim.issue_times import IssueTimes, Slots, issue_times, slots_of
from tests.support.sim.reference import Image

ONE_PORT = load_config("tiny").replace(name="one_port", acc_read_ports=1)
DEEP = load_config("tiny").replace(
    name="deep_operation",
    alu_operations=(
        CustomOperation.from_json({"name": "XOR", "result": "a ^ b"}),
        CustomOperation.from_json(
            {"name": "SCALED", "result": "a * factor", "parameters": {"factor": "int16"}}
        ),
    ),
    alu_stages=4,
)
"""A custom operation waits for results of more micro-ops than there are stalls to remember."""
CONFIGS = (load_config("tiny"), ONE_PORT, DEEP)
TABLE = 4096


def loops(rng: random.Random, config: HardwareConfig) -> Gemm | Alu:
    """A GEMM or ALU over few accumulators, so that many micro-ops wait."""
    begin = rng.randrange(3)
    gemm = rng.random() < 0.2
    tensor = rng.random() < 0.5
    alike = rng.random() < 0.5
    dst = [rng.choice((0, 0, 1, 2)) for _ in range(2)]
    src = dst if alike else [rng.choice((0, 0, 1, 2)) for _ in range(2)]
    common: dict[str, Any] = {
        "uop_bgn": begin,
        "uop_end": begin + rng.choice((1, 1, 2, 3, 5)),
        "iter_out": rng.choice((1, 1, 2, 9)),
        "iter_in": rng.choice((1, 1, 2, 3, 17)),
        "dst_factor_out": dst[0],
        "dst_factor_in": dst[1],
        "src_factor_out": src[0],
        "src_factor_in": src[1],
    }
    if gemm:
        return Gemm(reset=False, wgt_factor_out=0, wgt_factor_in=0, **common)
    ops: tuple[AnyOperation, ...] = (AluOp.MUL, AluOp.SHR, AluOp.ADD, AluOp.MAX)
    op = rng.choice((*ops, *config.alu_operations))
    if isinstance(op, CustomOperation):
        return Alu(op=op, use_imm=not op.reads_second, imm=0, **common)
    return Alu(op=op, use_imm=not tensor, imm=1, **common)


def program_of(config: HardwareConfig, work: list[Gemm | Alu]) -> Program:
    load = Load(
        memory=MemoryId.UOP, sram_base=0, dram_base=TABLE // 4, y_size=1, x_size=8, x_stride=8
    )
    return Program.from_instructions(config, [load, *work, Finish()])


def image_of(config: HardwareConfig, rng: random.Random) -> Image:
    image = np.zeros(TABLE * 2, np.uint8)
    uops = [MicroOp(rng.randrange(4), rng.randrange(4), 0) for _ in range(8)]
    words = np.frombuffer(pack_uops(config, uops), np.uint8)
    image[TABLE : TABLE + len(words)] = words
    return image


def memory_of(config: HardwareConfig, program: Program, image: Image) -> UopMemory:
    """The micro-op memory after the program's LOAD."""
    uops = np.zeros(config.depth(MemoryId.UOP), np.int64)
    run = make_run(prepare(config, program.columns()), 0, (0,) * BASE_REGISTERS, image, uops)
    run.memory.uop[: len(run.words)] = run.words
    return run.memory


def first_of(slots: Slots, stop: int) -> Slots:
    """The slots up to that of micro-op `stop`, counted from 1."""
    ends = [at + 1 for at, slot in enumerate(slots) if slot is not None]
    return slots[: ends[stop - 1]]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_random_micro_ops(config: HardwareConfig, whole: bool) -> None:
    """Instructions one after the other; or the last one ends early, as where it is refused."""
    machine, rng = make_machine(config, DEFAULT_MEMORY), random.Random(1)
    stalled = 0
    for _ in range(150):
        work = [loops(rng, config) for _ in range(6)]
        program, image = program_of(config, work), image_of(config, rng)
        table, memory = make_table(program.columns()), memory_of(config, program, image)
        state, started, ends, last = make_pipeline(), {}, {}, {}
        slots = slots_of(program, image)
        start = 10
        for position in range(1, 7):
            started[position] = start
            row = table[position]
            stop = micro_ops(row)
            if position == 6 and not whole:
                stop = rng.randint(1, stop)
                slots[position] = first_of(slots[position], stop)
            ends[position] = execute(machine, memory, state, row, start, stop, LONGEST_WAIT)
            last[position] = int(state[ISSUED])
            start = last[position] + rng.choice((0, 0, 0, 1, 2, 5, 30))
        wanted: IssueTimes = issue_times(config, slots, started)
        assert last == wanted.last_issue, work
        assert ends == wanted.end, work
        assert state[STALLED] == len(wanted.stalls), work
        stalled += len(wanted.stalls)
    assert stalled > 1000


@pytest.mark.parametrize("limit", [100, LONGEST_WAIT])
def test_huge_loops(limit: int) -> None:
    """2^28 micro-ops in closed form, with waits and without: one by one they would take minutes."""
    config, rng = CONFIGS[0], random.Random(2)
    machine = make_machine(config, DEFAULT_MEMORY)
    base: dict[str, Any] = {
        "uop_bgn": 0,
        "uop_end": 1,
        "iter_out": (1 << 14) - 1,
        "iter_in": (1 << 14) - 1,
        "dst_factor_out": 0,
        "dst_factor_in": 0,
        "src_factor_out": 0,
        "src_factor_in": 0,
    }
    multiply = Alu(op=AluOp.MUL, use_imm=True, imm=1, **base)
    work: list[Gemm | Alu] = [
        Gemm(reset=False, wgt_factor_out=0, wgt_factor_in=0, **base),
        multiply,
        replace(multiply, use_imm=False),
        replace(multiply, uop_end=3, dst_factor_in=1),
    ]
    program, image = program_of(config, work), image_of(config, rng)
    table, memory = make_table(program.columns()), memory_of(config, program, image)
    for position in range(1, 5):
        row = table[position]
        total = micro_ops(row)
        ended = execute(machine, memory, make_pipeline(), row, 0, total, limit)
        assert ended > (total if limit == LONGEST_WAIT else limit)
