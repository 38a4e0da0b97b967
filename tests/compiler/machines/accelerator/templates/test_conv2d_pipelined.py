"""The wide space of convolutions: exact results, capacity, traffic and lower bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined import (
    loads_of_tile,
    packs_rows,
    repeats,
    slots,
)
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.plan.planner import tuned_choice
from tandem.compiler.plan.space import Bools, Choices
from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.candidates import WIDE, Candidates
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode
from tandem.hw.memory_model import MemoryModel
from tandem.hw.topology import MemoryId
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Launch
from tandem.sim.memory import place_program
from tests.compiler.machines.accelerator.templates.test_conv2d_choices import (
    GROUPED,
    PYNQ,
    WORKLOAD,
)
from tests.compiler.machines.accelerator.templates.test_work_counts import copied
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    Drawer,
    RandomWorkload,
    draw_conv2d,
)
from tests.support.compiler.machines.accelerator.templates.streams import stream_of
from tests.support.compiler.machines.accelerator.templates.wide_spaces import CONFIGS, DrawnLayer
from tests.support.examples import examples

TEMPLATE = Conv2dOnArray()
IMMEDIATES = {"SHR": 4, "MAX": 0, "MIN": 127}
SEEDS = st.integers(0, 2**32 - 1)


def draw_grouped(rng: np.random.Generator, config: HardwareConfig) -> RandomWorkload:
    """A random convolution of several groups."""
    while True:
        found = draw_conv2d(rng, config)
        if found.workload.groups > 1:
            return found


def may_stay(drawn: DrawnLayer, choices: Choices) -> Bools:
    """Where an operand stays; and where weights of more tiles than an image has are on chip, of
    which the next image may find some."""
    workload = drawn.layer.workload
    weights, image = repeats(workload, choices)
    y, x = (-(-workload.extents[axis] // choices[axis]) for axis in ("y", "x"))
    tiles = slots(workload, choices)["weight_slots"]
    tiles = tiles // loads_of_tile(workload, choices)["weight_slots"]
    next_image = choices.equals("order", "outputs") & (tiles > y * x) & (workload.data[0] > 1)
    return (np.minimum(weights, image) == 1) | next_image


@examples(6, 60)
@given(seed=SEEDS, name=st.sampled_from(CONFIGS), engine=st.sampled_from(["functional", "cycle"]))
def test_results_are_exact(seed: int, name: str, engine: str) -> None:
    DrawnLayer.of(seed, name, draw_conv2d).check_results(engine, 2)


@settings(max_examples=12)
@given(seed=SEEDS, name=st.sampled_from(CONFIGS))
def test_fits_is_what_lowering_places(seed: int, name: str) -> None:
    DrawnLayer.of(seed, name, draw_conv2d).check_fits()


@examples(6, 60)
@given(seed=SEEDS, name=st.sampled_from(CONFIGS))
def test_traffic_and_bounds(seed: int, name: str) -> None:
    DrawnLayer.of(seed, name, draw_conv2d).check_counts(may_stay)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("drawer", [draw_conv2d, draw_grouped])
def test_many(name: str, drawer: Drawer) -> None:
    placed = 0
    for seed in range(80):
        drawn = DrawnLayer.of(seed, name, drawer)
        drawn.check_results("functional" if seed % 4 else "cycle", 4)
        drawn.check_counts(may_stay)
        placed += drawn.check_fits()
    assert placed


def test_an_operand_that_stays_is_loaded_once() -> None:
    """Seven tiles of rows, four parts and four steps: sixteen boxes of weights in as many slots."""
    tile: dict[str, int | str] = {
        "threads": 1,
        "along": "oc",
        "order": "outputs",
        "ic": 1,
        "oc": 4,
        "y": 2,
        "x": 14,
    }
    others = {"part": 1, "ky": 3, "image_slots": 2, "sum_slots": 2}
    target = AcceleratorTarget.of(PYNQ)
    loaded = []
    for weight_slots in (0, 2):
        choice: dict[str, int | str] = {**tile, **others, "weight_slots": weight_slots}
        schedule = TEMPLATE.schedule(WORKLOAD, choice, target)
        slots_text = f"out_weight: int8[4, 4, 3, 3, 16, 16] @ wgt in {weight_slots or 16} slots"
        assert slots_text in str(schedule)
        elements, _ = copied(stream_of(schedule, PYNQ, IMMEDIATES), MemoryId.WGT, Opcode.LOAD)
        loaded.append(elements)
    assert loaded == [4 * 4 * 9, 7 * 4 * 4 * 9]


@pytest.mark.parametrize(("weight_slots", "times"), [(1, 2), (2, 4)])
def test_weights_of_as_many_tiles_as_an_image_has(weight_slots: int, times: int) -> None:
    """Two images of two tiles of pixels, and two blocks of channels, each of which its own weights
    follow: an image loads a block once for each slot, and the next image finds none of them."""
    workload = Conv2dWorkload(
        (2, 1, 4, 4, 1, 16), (2, 1, 1, 1, 16, 16), (1, 1), (0,) * 4, (1, 1), 1, WORKLOAD.passes
    )
    choice: dict[str, int | str] = {
        "threads": 1,
        "along": "oc",
        "order": "outputs",
        "ic": 1,
        "oc": 1,
        "y": 2,
        "x": 4,
        "part": 1,
        "ky": 1,
        "image_slots": 1,
        "sum_slots": 1,
        "weight_slots": weight_slots,
    }
    schedule = TEMPLATE.schedule(workload, choice, AcceleratorTarget.of(PYNQ))
    elements, _ = copied(stream_of(schedule, PYNQ, IMMEDIATES), MemoryId.WGT, Opcode.LOAD)
    weights, _ = repeats(workload, Choices.of([choice]))
    assert weights.tolist() == [times]
    assert elements == times * 2


def test_rows_between_strides_are_packed() -> None:
    strided = Conv2dWorkload(
        (1, 4, 14, 14, 1, 16), (4, 4, 1, 1, 16, 16), (2, 2), (0,) * 4, (1, 1), 1, WORKLOAD.passes
    )
    assert packs_rows(strided)
    assert not packs_rows(WORKLOAD)
    candidates = Candidates.of(accelerator(PYNQ), TEMPLATE, strided, wide=True)
    row = int(np.argmax(candidates.choices["y"] * candidates.choices["x"]))
    used = TEMPLATE.usage(strided, candidates.choices.where(np.array([row])))
    sizes = candidates.choice(row)
    kept = {0: 4 // int(sizes["ic"])}.get(int(sizes["image_slots"]), int(sizes["image_slots"]))
    assert used[MemoryId.INP].item() == kept * 7 * 13 * int(sizes["ic"])


def test_a_tile_is_of_one_group() -> None:
    """Two groups of two blocks of outputs, of four rows of tiles: a part of the image that stays is
    loaded once for the tiles of its group, and else for each of them."""
    candidates = Candidates.of(accelerator(PYNQ), TEMPLATE, GROUPED, wide=True)
    assert candidates.space == WIDE
    assert set(candidates.choices["oc"]) == {1, 2}
    tile: dict[str, int | str] = {
        "threads": 1,
        "along": "oc",
        "order": "pixels",
        "ic": 1,
        "oc": 1,
        "part": 1,
        "ky": 3,
        "y": 4,
        "x": 14,
        "weight_slots": 2,
        "sum_slots": 2,
    }
    schedules = (
        TEMPLATE.schedule(GROUPED, {**tile, "image_slots": count}, AcceleratorTarget.of(PYNQ))
        for count in (2, 1)
    )
    once, twice = (
        copied(stream_of(schedule, PYNQ, IMMEDIATES), MemoryId.INP, Opcode.LOAD)[0]
        for schedule in schedules
    )
    assert twice == 2 * once > 0


def test_a_recorded_choice_of_the_wide_space_is_taken() -> None:
    @dataclass(frozen=True, slots=True)
    class Recorded(TunedChoices):
        known: Choice

        def choice(self, template: object, workload: object) -> Choice | None:
            return self.known

    candidates = Candidates.of(accelerator(PYNQ), TEMPLATE, WORKLOAD, wide=True)
    best = candidates.choice(int(np.argmin(candidates.estimates)))
    assert tuned_choice(accelerator(PYNQ, tuned=Recorded(best)), TEMPLATE, WORKLOAD) == best
    other = accelerator(PYNQ, tuned=Recorded({**best, "part": 3}))
    assert tuned_choice(other, TEMPLATE, WORKLOAD) is None


def test_the_estimate_is_near() -> None:
    """Of eight choices that are estimated best, on a slow bus."""
    timing = MemoryModel(64, 4, 32)
    target = accelerator(PYNQ, MemoryTiming(timing.latency, timing.interval))
    candidates = Candidates.of(target, TEMPLATE, WORKLOAD, wide=True)
    engine = CycleEngine(PYNQ, timing)
    for row in np.argsort(candidates.estimates, kind="stable")[:8]:
        schedule = TEMPLATE.schedule(WORKLOAD, candidates.choice(int(row)), target.machine)
        stream = stream_of(schedule, PYNQ, IMMEDIATES)
        image, address = place_program(stream.image({}), stream.program)
        result = engine.launch(stream.program, image, Launch(address=address, data=False))
        assert result.cycles == pytest.approx(candidates.estimates[row], rel=0.08)
