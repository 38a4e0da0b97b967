"""What templates say of capacity is what lowering finds, for every choice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import CapacityError, Refusal
from tandem.compiler.lower.lowering import lower
from tandem.compiler.machines.accelerator.lower.programs import accelerator_passes
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.target import TEMPLATES, accelerator
from tandem.compiler.plan.planner import best_choice, space_of_choice
from tandem.compiler.plan.space import Choices
from tandem.compiler.te.knobs import Choice
from tandem.hw.config import HardwareConfig
from tests.compiler.machines.accelerator.templates.live_elements import live_elements
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import (
    drawn_machine,
    machine,
    with_drawn_features,
)
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    DRAWERS,
    RandomWorkload,
    draw_choice,
)

NAMES = tuple(template.name for template in TEMPLATES)
SEEDS = st.integers(0, 2**32 - 1)
BEYOND = 3
"""By how much tiles may be larger than their axes."""


def check_fits(name: str, seed: int) -> bool:
    """Whether what was drawn fits, which the template knows."""
    rng = np.random.default_rng(seed)
    config = drawn_machine(rng)
    square, extended = rng.random() < 0.6, rng.random() < 0.6
    while square and config.block_in != config.block_out and rng.random() < 0.9:
        config = drawn_machine(rng)
    config = _edge(rng, config)
    if extended:
        config = with_drawn_features(rng, config)
    drawn = DRAWERS[name](rng, config)
    choice = _choice(rng, drawn, config)
    try:
        drawn.stream(choice, config)
        placed = True
    except CapacityError:
        placed = False
    assert drawn.fits(choice, config) == placed, f"{name} {drawn.workload} {choice} {config}"
    return placed


def check_usage(name: str, seed: int) -> None:
    """Every element that the template counts, and no other."""
    rng = np.random.default_rng(seed)
    config = machine(str(rng.choice(["tiny", "extended", "requantising"])))
    drawn = DRAWERS[name](rng, config)
    choice = _choice(rng, drawn, config)
    target = AcceleratorTarget.of(config)
    program = drawn.template.schedule(drawn.workload, choice, target).program
    lowered = lower(program, accelerator_passes(target))
    counted = drawn.template.usage(drawn.workload, Choices.of([choice]))
    found = {memory: int(each.item()) for memory, each in counted.items()}
    assert found == live_elements(lowered.body, target), f"{drawn.workload} {choice}"


def _choice(rng: np.random.Generator, drawn: RandomWorkload, config: HardwareConfig) -> Choice:
    threads, smaller = int(rng.integers(1, 5)), int(rng.integers(0, 4))
    return draw_choice(rng, drawn, config, threads, smaller=smaller, beyond=BEYOND)


def _edge(rng: np.random.Generator, config: HardwareConfig) -> HardwareConfig:
    """Roomy but for one memory, or as it is: two that do not fit hide each other's errors."""
    roomy = {"log_inp_buffer": 9, "log_wgt_buffer": 9, "log_acc_buffer": 11}
    if rng.random() < 0.3:
        return config
    del roomy[str(rng.choice([*roomy]))]
    batch, inputs, outputs = config.log_batch, config.log_block_in, config.log_block_out
    more = {"log_inp_buffer": batch + inputs, "log_wgt_buffer": inputs + outputs}
    more["log_acc_buffer"] = batch + outputs
    return config.replace(**{name: size + more[name] for name, size in roomy.items()})


def test_every_template_is_drawn() -> None:
    assert set(DRAWERS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_fits_is_what_lowering_places(name: str) -> None:
    @settings(max_examples=8)
    @given(SEEDS)
    def check(seed: int) -> None:
        check_fits(name, seed)

    check()


@pytest.mark.parametrize("name", NAMES)
def test_usage_is_what_lowering_allocates(name: str) -> None:
    @settings(max_examples=8)
    @given(SEEDS)
    def check(seed: int) -> None:
        check_usage(name, seed)

    check()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_many(name: str) -> None:
    """Of so many, a good part fits, and a good part does not."""
    placed = 0
    for seed in range(500):
        try:
            placed += check_fits(name, seed)
            check_usage(name, seed)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
    assert 50 < placed < 450


@settings(max_examples=20)
@given(seed=SEEDS, name=st.sampled_from(NAMES))
def test_the_best_choice_of_a_space_fits(seed: int, name: str) -> None:
    """And is in one; what is refused fits nowhere in the base space."""
    rng = np.random.default_rng(seed)
    config = drawn_machine(rng)
    drawn, target = DRAWERS[name](rng, config), accelerator(config)
    space = drawn.template.space(drawn.workload, target.machine)
    fitting = drawn.template.fits(drawn.workload, space.choices(), target.machine)
    if not fitting.any():
        with pytest.raises(Refusal, match=f"^{config.name} is too small for the smallest ti"):
            best_choice(target, drawn.template, drawn.workload)
        return
    choice = best_choice(target, drawn.template, drawn.workload)
    assert drawn.fits(choice, config)
    # The base space's, or the wide one's.
    found = space_of_choice(drawn.template, drawn.workload, target.machine, choice)
    assert found is not None
    assert found.constraint(Choices.of([choice])).all()
