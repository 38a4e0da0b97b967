"""Programs that operators share: streams are as if each were elaborated anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.machines.accelerator.lower.programs import ProgramCache, command_passes
from tandem.compiler.machines.accelerator.lower.stream import compile_stream
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tests.support.compiler.machines.accelerator.lower.clip_operators import clip
from tests.support.compiler.machines.accelerator.lower.invocations import TINY
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_convolution import (
    RandomConvolution,
)

TARGET = AcceleratorTarget.of(TINY)


def test_programs_are_elaborated_once_for_all_streams() -> None:
    """Whatever tensors and names operators have; and streams are as without."""
    first, other = clip(), clip("other", source="D", result="E")
    second = replace(first, tensors={"S": "D", "D": "E"}, name="again")
    known = ProgramCache(TARGET)
    for operators in ([first, second], [second], [other, first], [first, second, first]):
        found = compile_stream(operators, TARGET, {"S": 3 * 4096}, known)
        wanted = compile_stream(operators, TARGET, {"S": 3 * 4096})
        assert found.program == wanted.program
        assert found.constants == wanted.constants
        assert found.sites == wanted.sites
        assert found.operator_of.tolist() == wanted.operator_of.tolist()
    elaborated = [program for _, program in found.elaborated]
    assert elaborated[0] is elaborated[2]
    assert elaborated[0] is not elaborated[1], "at the other end of the memories"
    assert elaborated[0].lowered is elaborated[1].lowered


def test_what_is_known_is_of_one_target() -> None:
    known = ProgramCache(AcceleratorTarget.of(machine("small8")))
    with pytest.raises(LoweringError, match=r"^programs elaborated for small8 cannot run on tiny$"):
        compile_stream([clip()], TARGET, {}, known)


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ("tiny", ["drop-unused-loads"]),
        (
            "requantising",
            [
                *("drop-unused-loads", "check-requantised-reads"),
                *("requantise-last-writes", "early-passes"),
            ],
        ),
        (
            "extended",
            [
                *("drop-unused-loads", "check-requantised-reads"),
                *("requantise-last-writes", "early-passes"),
            ],
        ),
    ],
)
def test_passes_of_a_machine(config: str, wanted: list[str]) -> None:
    passes = command_passes(clip().program, machine(config))
    assert [each.name for each in passes] == wanted


@pytest.mark.parametrize("config", ["tiny", "extended", "requantising"])
@pytest.mark.parametrize("seed", range(4))
def test_every_stage_of_a_program_is_valid(config: str, seed: int) -> None:
    """And the last is what the stream is made of."""
    drawn = RandomConvolution.of(seed, machine(config), largest=3)
    ((_, program),) = drawn.stream().elaborated
    *_, (name, last) = program.stages()
    assert name == command_passes(program.lowered, machine(config))[-1].name
    assert [*last] == [*program.commands]
