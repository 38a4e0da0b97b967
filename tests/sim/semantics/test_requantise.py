"""OUT after every slice and fault of ALU instructions and GEMMs, against the reference machine."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.isa import Alu, AluOp, Gemm, MemoryId, MicroOp, Program, Requantise, pack_uops
from tandem.hw.isa.columns import make_table
from tandem.sim.semantics.chip import make_chip
from tandem.sim.semantics.compute import compute
from tandem.sim.semantics.detail import INDEX, MEMORY, NONE, POSITION, make_detail
from tandem.sim.semantics.requantiser import make_requantiser
from tests.support.sim.compiled_memories import memories_of, random_memories
from tests.support.sim.reference import ReferenceMachine

SMALL8 = load_config("small8")
EXTENDED = tuple(
    SMALL8.replace(
        name=f"{batch}x{block}",
        log_batch=batch.bit_length() - 1,
        log_block_in=block.bit_length() - 1,
        log_block_out=block.bit_length() - 1,
        log_uop_buffer=6,
        log_inp_buffer=6 + (batch * block).bit_length() - 1,
        log_wgt_buffer=5 + (block * block).bit_length() - 1,
        log_acc_buffer=8 + (batch * block).bit_length() - 1,
        log_par_buffer=6 + block.bit_length() - 1,
        features=frozenset(Feature),
    )
    for batch, block in ((1, 8), (2, 4), (1, 32))
)
"""Machines with 64 elements of INP and ACC, 32 of WGT and 8 of PAR."""


def small(rng: random.Random) -> int:
    return rng.choice((0, 0, 1, 2, 5))


def random_loops(rng: random.Random, count: int) -> Gemm | Alu:
    loops: dict[str, Any] = {
        "uop_bgn": 0,
        "uop_end": count,
        "iter_out": rng.randint(1, 6),
        "iter_in": rng.randint(1, 6),
        "dst_factor_out": small(rng),
        "dst_factor_in": small(rng),
        "src_factor_out": small(rng),
        "src_factor_in": small(rng),
    }
    if rng.random() < 0.4:
        wgt: dict[str, Any] = {"wgt_factor_out": small(rng), "wgt_factor_in": 0}
        kind = rng.choice(("reset", "overwrite", "neither"))
        return Gemm(reset=kind == "reset", overwrite=kind == "overwrite", **loops, **wgt)
    op = rng.choice((AluOp.RESIDUAL, *AluOp))
    from_inp = op is AluOp.RESIDUAL or rng.random() < 0.4
    use_imm = not from_inp and rng.random() < 0.5
    return Alu(op=op, use_imm=use_imm, from_inp=from_inp, imm=rng.randint(-31, 31), **loops)


def random_mode(rng: random.Random) -> Requantise:
    low, high = rng.choice(((-128, 127), (0, 100), (50, -50)))
    return Requantise(
        active=rng.random() < 0.8,
        low=low,
        high=high,
        scale=rng.choice((0, 1, 99999, (1 << 24) - 1)),
        par_base=rng.randrange(8),
        par_factor_out=rng.choice((0, 0, 0, 1)),
        par_factor_in=rng.choice((0, 0, 0, 1)),
    )


@pytest.mark.parametrize("config", EXTENDED, ids=lambda config: config.name)
def test_out_after_every_slice_and_fault(config: HardwareConfig) -> None:
    seen: Counter[Fault] = Counter()
    for seed in range(100):
        rng = random.Random(seed)
        machine = random_memories(config, seed)
        reach = rng.choice((2, 8, 64))
        kernel = [
            MicroOp(rng.randrange(reach), rng.randrange(reach), rng.randrange(7))
            for _ in range(rng.choice((1, 2, 3, 5)))
        ]
        words = np.frombuffer(pack_uops(config, kernel), np.uint32)
        machine.uop[: len(words)] = words
        mode, loops = random_mode(rng), random_loops(rng, len(kernel))
        chip, requantiser = memories_of(machine)
        assert requantiser is not None
        table = make_table(Program.from_instructions(config, [mode, loops]).columns())
        requantiser.mode[:] = table[0]
        total = len(kernel) * loops.iter_out * loops.iter_in

        detail, found, done = make_detail(), NONE, 0
        while done < total and found == NONE:
            stop = min(total, done + rng.choice((1, 2, 3, 7, total)))
            found = compute(chip, requantiser, None, table[1], done, stop, detail)
            done = stop

        expected, where, indices = run_micro_ops(machine, mode, loops)
        assert found == expected
        seen[expected] += 1
        if expected is not Fault.NONE:
            assert detail[POSITION] == where
        if expected is Fault.SRAM_INDEX:
            assert (detail[MEMORY], detail[INDEX]) in indices
        acc = chip.acc.reshape(64, config.batch, -1)[..., : config.block_out]
        np.testing.assert_array_equal(acc, machine.acc)
        out = requantiser.out.reshape(64, config.batch, -1)[..., : config.block_out]
        np.testing.assert_array_equal(out.view(np.int8), machine.out)
    assert all(seen[fault] > 4 for fault in (Fault.NONE, Fault.SRAM_INDEX, Fault.SHIFT))


def run_micro_ops(
    machine: ReferenceMachine, mode: Requantise, loops: Gemm | Alu
) -> tuple[Fault, int, set[tuple[int, int]]]:
    """Execute micro-op by micro-op; the fault, its micro-op's number, and its bad indices."""
    number = 0
    for o in range(loops.iter_out):
        for i in range(loops.iter_in):
            for u in range(loops.uop_end):
                single = replace(loops, uop_bgn=u, uop_end=u + 1, iter_out=1, iter_in=1)
                uop = machine.micro_op(u)
                dst = uop.dst + o * loops.dst_factor_out + i * loops.dst_factor_in
                src = uop.src + o * loops.src_factor_out + i * loops.src_factor_in
                par = mode.par_base + o * mode.par_factor_out + i * mode.par_factor_in
                bad = bad_indices(loops, mode, dst, src, par)
                if bad:
                    return Fault.SRAM_INDEX, number, bad
                word = machine.uop[u]
                src %= 64  # where it is not used
                wgt = uop.wgt + o * getattr(loops, "wgt_factor_out", 0)
                (machine.uop[u],) = np.frombuffer(
                    pack_uops(machine.config, [MicroOp(dst, src, wgt)]), np.uint32
                )
                machine.mode = replace(mode, par_base=par)
                try:
                    machine.step(single, np.zeros(0, np.uint8))
                except ProgramError as error:
                    return error.fault, number, set()
                finally:
                    machine.uop[u] = word
                number += 1
    return Fault.NONE, 0, set()


def bad_indices(
    loops: Gemm | Alu, mode: Requantise, dst: int, src: int, par: int
) -> set[tuple[int, int]]:
    reads = not loops.reset if isinstance(loops, Gemm) else not loops.use_imm
    source = MemoryId.INP if isinstance(loops, Gemm) or loops.from_inp else MemoryId.ACC
    bad = {(int(MemoryId.ACC), dst)} if dst >= 64 else set()
    if reads and src >= 64:
        bad.add((int(source), src))
    if mode.active and par >= 8:
        bad.add((int(MemoryId.PAR), par))
    return bad


def test_a_base_machine_has_none() -> None:
    assert make_requantiser(SMALL8, make_chip(SMALL8)) is None
