"""What random layers become on random machines stays what it was: spaces, estimates, bounds, and
the instructions of chosen schedules.

Other tests run such layers and compare values, cycles and bounds; these find estimates, choices and
programs that are another, but as right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import CompilerError
from tandem.compiler.ir.printer import text
from tandem.compiler.machines.accelerator.costs import AcceleratorCosts
from tandem.compiler.machines.accelerator.target import TEMPLATES
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import (
    CONFIGS,
    EXTENDED,
    drawn_machine,
    machine,
    with_drawn_features,
)
from tests.support.compiler.machines.accelerator.templates.random_choices import (
    Drawn,
    NothingFits,
    drawn,
)

CASES = 6
"""Layers of each template whose programs are recorded."""
ESTIMATED = 24
"""Convolutions: their estimates have more cases than those of others."""
CHOICES = 80
"""Choices of a layer whose figures are recorded."""
PROGRAMS = 2
"""Choices of a layer that are compiled."""
BY_NAME = {template.name: template for template in TEMPLATES}


def _machine(rng: np.random.Generator, template: AcceleratorTemplate[Any]) -> HardwareConfig:
    """A preset, or a machine of any shape; of a template that needs four planes for each result,
    which few of those can hold, a preset."""
    if template.leaves_in_bytes or rng.random() < 0.5:
        return machine(str(rng.choice([*CONFIGS, *EXTENDED])))
    config = drawn_machine(rng)
    return with_drawn_features(rng, config) if rng.random() < 0.5 else config


def _figures(found: Drawn, memory: MemoryTiming) -> list[str]:
    """The figures of each choice, and those of the layer."""
    template, workload, choices = found.template, found.workload, found.choices
    costs = AcceleratorCosts(MachineCost(found.machine.config, memory))
    usage = template.usage(workload, choices)
    columns: dict[str, Any] = {
        **{f"{each.name} elements": used for each, used in usage.items()},
        "estimate": costs.costs(template, workload, choices),
        "bound": costs.bounds(template, workload, choices),
        "order": template.least_cycles(workload, choices, costs.machine),
        "features": costs.features(template, workload, choices),
    }
    lines = [str(workload), f"{template.minimum_traffic(workload)}"]
    for row in range(len(choices)):
        figures = [f"{name} {_rounded(column, row)}" for name, column in columns.items()]
        lines.append(f"{choices.choice(row)}: {', '.join(figures)}")
    kept = template.shortlist(workload, choices, costs.machine)
    lines.append(f"shortlist {[kept.choice(row) for row in range(len(kept))]}")
    return lines


def _rounded(column: Any, row: int) -> str:
    """A choice's figures; a single one is that of all choices."""
    values = np.ravel(column[row] if np.ndim(column) else column)
    return " ".join(f"{value:.6g}" for value in values)


def _space(found: Drawn) -> list[str]:
    space = found.template.space(found.workload, found.machine)
    choices = space.choices()
    fits = found.template.fits(found.workload, choices, found.machine)
    lines = [f"{dict(space.knobs)}: {len(choices)} choices, {int(np.sum(fits))} fit"]
    if not np.all(fits):
        wrong = choices.where(~np.asarray(fits))
        lines.append(found.template.no_fit_reason(found.workload, wrong, found.machine))
    return lines


def _program(found: Drawn, row: int) -> list[str]:
    """A choice's schedule, and its instructions through all passes."""
    choice = found.choices.choice(row)
    try:
        schedule = found.template.schedule(found.workload, choice, found.machine)
        stream = found.stream(choice)
    except CompilerError as error:
        return [f"{choice}: {type(error).__name__}: {error}"]
    return [f"{choice}", text(schedule.program), *stream.dump().values()]


def _drawn(
    template: AcceleratorTemplate[Any], seed: int
) -> tuple[HardwareConfig, MemoryTiming, Drawn]:
    """A layer on the first drawn machine that some layer fits."""
    rng = np.random.default_rng([seed, len(template.name)])
    while True:
        config = _machine(rng, template)
        memory = MemoryTiming(int(rng.integers(0, 90)), int(rng.integers(1, 5)))
        try:
            return config, memory, drawn(template, seed, config, CHOICES)
        except NothingFits:
            continue


def _layer(template: AcceleratorTemplate[Any], seed: int) -> str:
    config, memory, found = _drawn(template, seed)
    lines = [f"{config.name} {memory.latency}:{memory.interval} {len(found.choices)} choices"]
    lines += [dump_config(config), *_space(found), *_figures(found, memory)]
    for row in range(min(PROGRAMS, len(found.choices)) if seed < CASES else 0):
        lines += _program(found, row)
    return "\n".join(lines)


@pytest.mark.parametrize("name", BY_NAME)
def test_layers(name: str, recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    count = ESTIMATED if name == "conv2d" else CASES
    found = {f"{name} {seed}": _layer(BY_NAME[name], seed) for seed in range(count)}
    recorded(f"recorded/layers/{name}.txt", found)
