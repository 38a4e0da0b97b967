"""Vector clocks of short programs, by hand and against chains of tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.hazards import order as orders
from tandem.hw.hazards.order import Order, order_of
from tandem.hw.isa import Finish, Gemm, Instruction, Load, Program, Store, Tokens
from tandem.hw.isa.columns import units_of
from tests.support.base.compiled import plain
from tests.support.hw.instructions import GEMM, LOAD, STORE

TINY = load_config("tiny")
RESET = replace(GEMM, reset=True)


def with_tokens(instruction: Load | Store | Gemm | Finish, text: str) -> Instruction:
    """An instruction with flags, as `pop_prev push_next`."""
    return replace(instruction, tokens=Tokens(**dict.fromkeys(text.split(), True)))


def order(*program: Instruction) -> Order:
    columns = Program.from_instructions(TINY, program).columns()
    return order_of(columns, units_of(columns))


@pytest.fixture(params=[False, True], ids=["compiled", "plain"], autouse=True)
def _plain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(orders, "_run_tokens", plain(orders._run_tokens))


def test_a_chain_through_all_units() -> None:
    """load, load -> compute -> store, whose token goes back to compute."""
    found = order(
        LOAD,
        with_tokens(LOAD, "push_next"),
        with_tokens(RESET, "pop_prev push_next"),
        with_tokens(STORE, "pop_prev push_prev"),
        STORE,
        with_tokens(RESET, "pop_next push_prev"),
        with_tokens(LOAD, "pop_next"),
        Finish(),
    )
    assert found.positions.tolist() == [0, 1, 6, 2, 5, 7, 3, 4]
    assert found.begins.tolist() == [0, 3, 6, 8]
    assert found.sequence.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert found.clocks.tolist() == [
        [0, 0, 0],
        [1, 0, 0],
        [2, 0, 0],
        [2, 1, 0],
        [2, 1, 1],
        # The STORE without a token may still run.
        [2, 1, 1],
        [2, 2, 1],
        [2, 2, 1],
    ]


def test_the_earliest_that_can_start_is_next() -> None:
    """The RESET at 0 waits for the LOAD at 3; the STORE does not."""
    found = order(
        with_tokens(RESET, "pop_prev"), STORE, LOAD, with_tokens(LOAD, "push_next"), RESET
    )
    assert found.sequence.tolist() == [1, 2, 3, 0, 4]
    assert found.clocks[0].tolist() == [2, 0, 0]
    assert found.clocks[4].tolist() == [2, 1, 0]


def test_pops_take_the_tokens_in_the_order_of_pushes() -> None:
    pushes, pops = with_tokens(LOAD, "push_next"), with_tokens(RESET, "pop_prev")
    found = order(pushes, pushes, pushes, RESET, pops, pops)
    assert [clock[0] for clock in found.clocks[3:].tolist()] == [0, 1, 2]


def test_both_flags_of_an_instruction() -> None:
    found = order(
        with_tokens(LOAD, "push_next"),
        with_tokens(STORE, "push_prev"),
        with_tokens(RESET, "pop_prev pop_next push_prev push_next"),
        with_tokens(LOAD, "pop_next"),
        with_tokens(STORE, "pop_prev"),
    )
    assert found.clocks.tolist()[2:] == [[1, 0, 1], [1, 1, 1], [1, 1, 1]]


def test_instructions_that_never_start() -> None:
    """Nor do those behind them, whose clocks are zero."""
    found = order(LOAD, with_tokens(RESET, "pop_next"), RESET, with_tokens(STORE, "pop_prev"), LOAD)
    assert found.sequence.tolist() == [0, 4]
    assert found.clocks.tolist() == [[0, 0, 0], [0] * 3, [0] * 3, [0] * 3, [1, 0, 0]]
    assert order(RESET).clocks.tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("seed", range(6))
def test_against_chains_of_tokens(seed: int) -> None:
    """Edges from the k-th push to the k-th pop, and between neighbours of a unit: an instruction of
    another unit is complete if a path leads from it that begins with a push."""
    random = np.random.default_rng(seed)
    flags = {0: ["pop_next", "push_next"], 2: ["pop_prev", "push_prev"]}
    flags[1] = [*flags[0], *flags[2]]
    program = []
    for unit in random.integers(0, 3, 14):
        chosen = [flag for flag in flags[int(unit)] if random.random() < 0.4]
        program.append(with_tokens((LOAD, RESET, STORE)[unit], " ".join(chosen)))
    found = order(*program)
    units = units_of(Program.from_instructions(TINY, program).columns()).tolist()
    pushes: dict[tuple[int, int], list[int]] = {}
    pops: dict[tuple[int, int], list[int]] = {}
    for at, instruction in enumerate(program):
        for step, side in ((-1, "prev"), (1, "next")):
            if getattr(instruction.tokens, f"pop_{side}"):
                pops.setdefault((units[at] + step, units[at]), []).append(at)
            if getattr(instruction.tokens, f"push_{side}"):
                pushes.setdefault((units[at], units[at] + step), []).append(at)
    assert len(found.sequence) <= len(program)
    for at in found.sequence.tolist():
        complete = {at}
        waiting = [at]
        while waiting:
            here = waiting.pop()
            before = [one for one in range(here) if units[one] == units[here]]
            sources = before[-1:]
            for queue, owners in pops.items():
                for number, owner in enumerate(owners):
                    if owner == here:
                        sources.append(pushes[queue][number])
            waiting += [one for one in sources if one not in complete]
            complete.update(sources)
        counts = [sum(units[one] == unit for one in complete - {at}) for unit in range(3)]
        assert found.clocks[at].tolist() == counts, at
