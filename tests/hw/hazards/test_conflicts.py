"""The compiled search finds what plain Python finds; only a search loads LLVM."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from random import Random

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.hazards import check_hazards, conflicts, dram_pieces, micro_ops, operands, order
from tandem.hw.isa import Program, Tokens
from tests.support.base.compiled import plain
from tests.support.sim.programs import random_program

TINY = load_config("tiny")


def weakened(program: Program, seed: int, share: float) -> Program:
    """Without some of its tokens: with races, tokens left or an early end."""
    random = Random(f"tokens {seed}")
    instructions = [
        replace(one, tokens=Tokens()) if random.random() < share else one for one in program
    ]
    return Program.from_instructions(program.config, instructions)


@pytest.mark.parametrize("seed", range(4))
def test_plain_python_reports_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = random_program(TINY, seed, 30, 1 << 14)
    programs = [made.program, weakened(made.program, seed, 0.3), weakened(made.program, seed, 1)]
    reports = [check_hazards(program, image=made.image) for program in programs]
    assert reports[0].proved
    assert reports[2].races

    for module, name in (
        (order, "run_tokens"),
        (conflicts, "compare_accesses"),
        (operands, "reached_elements"),
        (operands, "group_rows"),
        (micro_ops, "group_rows"),
        (dram_pieces, "group_rows"),
    ):
        monkeypatch.setattr(module, name, plain(getattr(module, name)))
    for program, report in zip(programs, reports, strict=True):
        again = check_hazards(program, image=made.image)
        assert str(again.token_fault) == str(report.token_fault)  # errors are equal to none
        assert replace(again, token_fault=None) == replace(report, token_fault=None)


def test_llvm_waits_until_a_proof_is_made() -> None:
    code = (
        "import sys, tandem.hw.hazards, tandem.hw.vta_rules\n"
        "import tandem.compiler.machines.accelerator.lower.stream\n"
        "assert 'llvmlite' not in sys.modules\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
