"""The REQUANTISE in force at each instruction, and the last parameters that it reads."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import Finish, Gemm, Instruction, Program, Requantise
from tandem.hw.isa.modes import active_modes, last_parameters

EXTENDED = load_config("pynq").replace(name="extended", features=frozenset(Feature))


def gemm(iter_out: int, iter_in: int) -> Gemm:
    return Gemm(
        reset=True,
        uop_bgn=0,
        uop_end=1,
        iter_out=iter_out,
        iter_in=iter_in,
        dst_factor_out=0,
        dst_factor_in=0,
        src_factor_out=0,
        src_factor_in=0,
        wgt_factor_out=0,
        wgt_factor_in=0,
    )


def test_modes_and_parameters_of_a_program() -> None:
    program: list[Instruction] = [
        gemm(3, 3),
        Requantise(active=True, par_base=5, par_factor_out=10, par_factor_in=2),
        gemm(1, 1),
        gemm(3, 4),
        Requantise(active=False, par_base=9),
        gemm(3, 4),
        Requantise(active=True, par_base=0),
        gemm(3, 4),
        Finish(),
    ]
    columns = Program.from_instructions(EXTENDED, program).columns()
    modes = active_modes(columns)
    assert modes.tolist() == [-1, 1, 1, 1, -1, -1, 6, 6, 6]
    assert last_parameters(columns, modes).tolist() == [-1, -1, 5, 5 + 20 + 6, -1, -1, -1, 0, -1]


def test_the_first_instruction_of_a_program_may_set_the_mode() -> None:
    program: list[Instruction] = [Requantise(active=True, par_base=3, par_factor_in=1), gemm(1, 2)]
    columns = Program.from_instructions(EXTENDED, program).columns()
    assert last_parameters(columns, active_modes(columns)).tolist() == [-1, 4]


@given(kinds=st.lists(st.sampled_from([None, False, True]), min_size=1, max_size=9))
def test_modes_one_by_one(kinds: list[bool | None]) -> None:
    """None is a GEMM."""
    drawn = [gemm(1, 1) if kind is None else Requantise(active=kind) for kind in kinds]
    columns = Program.from_instructions(EXTENDED, drawn).columns()
    expected, last = [], -1
    for position, kind in enumerate(kinds):
        last = {None: last, False: -1, True: position}[kind]
        expected.append(last)
    np.testing.assert_array_equal(active_modes(columns), expected)
