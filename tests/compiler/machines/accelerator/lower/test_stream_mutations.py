"""Every token of the compiler's streams is needed: without it, or elsewhere, the checker objects.

Or VTA's rules do: the last token is for the order of the end. Popping earlier or pushing later only
waits for more, and is left out; so is the last pop at FINISH itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import HardwareError
from tandem.hw.hazards import check_hazards
from tandem.hw.isa import Finish, Program, TokenQueue, unit_of
from tandem.hw.vta_rules import VtaRule, vta_warnings
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_convolution import (
    RandomConvolution,
)

FEW = (4, 23)
EXTENDED = (3, 16)
MANY = (3, 6, 7, 11, 13, 15, 17, 19, 20, 21, 22)
"""Seeds of short streams: each token is some fifty milliseconds. `EXTENDED`: on another machine."""


def flag(queue: TokenQueue, *, push: bool) -> str:
    """The flag of the instruction that pushes `queue`, or pops it."""
    towards_next = (queue.producer < queue.consumer) is push
    return f"{'push' if push else 'pop'}_{'next' if towards_next else 'prev'}"


def changed(program: Program, *changes: tuple[int, str, bool]) -> Program:
    instructions = list(program)
    for at, name, value in changes:
        one = instructions[at]
        instructions[at] = replace(one, tokens=replace(one.tokens, **{name: value}))
    return Program.from_instructions(program.config, instructions)


def mutants(program: Program) -> Iterator[tuple[str, Program]]:
    """Each token dropped on one side and on both, popped one later, pushed one earlier."""
    instructions = list(program)
    own = {
        unit: [at for at, one in enumerate(instructions) if unit_of(one) is unit]
        for unit in {unit_of(one) for one in instructions}
    }
    for queue in TokenQueue:
        push, pop = flag(queue, push=True), flag(queue, push=False)
        ends = [
            [at for at in own.get(unit, []) if getattr(instructions[at].tokens, name)]
            for unit, name in ((queue.producer, push), (queue.consumer, pop))
        ]
        for producer, consumer in zip(*ends, strict=True):
            yield f"{queue} without push {producer}", changed(program, (producer, push, False))
            yield f"{queue} without pop {consumer}", changed(program, (consumer, pop, False))
            yield (
                f"{queue} without {producer} and {consumer}",
                changed(program, (producer, push, False), (consumer, pop, False)),
            )
            for at, name, step in ((consumer, pop, 1), (producer, push, -1)):
                line = own[unit_of(instructions[at])]
                place = line.index(at) + step
                if not 0 <= place < len(line) or isinstance(instructions[line[place]], Finish):
                    continue
                if not getattr(instructions[line[place]].tokens, name):
                    moved = changed(program, (at, name, False), (line[place], name, True))
                    yield f"{queue} {name} of {at} at {line[place]}", moved


def check(seed: int, config: HardwareConfig | None = None) -> None:
    config = config or load_config("tiny" if seed % 2 else "small8")
    stream = RandomConvolution.of(seed, config, largest=3).stream()
    image = stream.image({})
    missed, count = [], 0
    for what, mutant in mutants(stream.program):
        count += 1
        try:
            check_hazards(mutant, image=image).raise_if_any()
        except HardwareError:
            continue
        if all(each.rule is not VtaRule.END for each in vta_warnings(mutant)):
            missed.append(what)
    assert count > 10
    assert not missed, f"{len(missed)} of {count}"


@pytest.mark.parametrize("seed", FEW)
def test_every_token_is_needed(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", EXTENDED)
def test_every_token_is_needed_where_results_are_requantised(seed: int) -> None:
    """By the products, and in a pass with a residual."""
    check(seed, machine("extended"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", [None, "extended", "requantising"])
@pytest.mark.parametrize("seed", MANY)
def test_every_token_of_many_streams_is_needed(seed: int, config: str | None) -> None:
    check(seed, None if config is None else machine(config))
