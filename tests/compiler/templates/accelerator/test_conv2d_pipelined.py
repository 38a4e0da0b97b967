"""The wide space of convolutions: exact results, capacity, traffic and lower bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import CapacityError
from compiler.lower.accelerator.onchip import footprint
from compiler.lower.accelerator.programs import accelerator_passes
from compiler.lower.lowering import lower
from compiler.target import AcceleratorTarget
from compiler.targets.accelerator.target import accelerator
from compiler.targets.planner import best_choice, tuned_choice
from compiler.targets.target import TunedChoices
from compiler.te.knobs import Choice
from compiler.templates.accelerator.conv2d import Conv2dOnArray
from compiler.templates.accelerator.conv2d_cycles import Conv2dWorkload
from compiler.templates.accelerator.conv2d_pipelined import packs_rows, repeats
from compiler.templates.accelerator.lower_bound import lower_bound
from compiler.templates.accelerator.machine_cost import MachineCost, MemoryTiming
from compiler.templates.space import Choices
from compiler.tune.candidates import BASE, WIDE, Candidates
from hw.config import HardwareConfig
from hw.encoding import Opcode
from hw.memory_model import MemoryModel
from hw.topology import MemoryId
from sim.cycle.engine import CycleEngine
from sim.engine import Launch
from sim.errors import NeedsDataError
from sim.memory import place_program
from tests.compiler.templates.accelerator.test_conv2d_choices import GROUPED, PYNQ, WORKLOAD
from tests.compiler.templates.accelerator.test_work_counts import copied, moved_of
from tests.support.accelerator_operators import machine
from tests.support.random_workloads import RandomWorkload, draw_conv2d
from tests.support.streams import stream_of

TEMPLATE = Conv2dOnArray()
CONFIGS = ("tiny", "small8", "block4", "batch2", "pynq", "tall", "extended", "requantising")
IMMEDIATES = {"SHR": 4, "MAX": 0, "MIN": 127}
SEEDS = st.integers(0, 2**32 - 1)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A convolution, and all choices of its wide space."""

    config: HardwareConfig
    convolution: RandomWorkload
    choices: Choices
    rng: np.random.Generator

    @staticmethod
    def of(seed: int, name: str) -> Drawn:
        rng, config = np.random.default_rng(seed), machine(name)
        while True:
            convolution = draw_conv2d(rng, config)
            target = AcceleratorTarget.of(config)
            space = TEMPLATE.wide_space(convolution.workload, target)
            if space is not None:
                return Drawn(config, convolution, space.choices(), rng)

    @property
    def workload(self) -> Conv2dWorkload:
        found: Conv2dWorkload = self.convolution.workload
        return found

    def fitting(self, count: int) -> Choices:
        """Some choices that fit."""
        target = AcceleratorTarget.of(self.config)
        rows = np.flatnonzero(TEMPLATE.fits(self.workload, self.choices, target))
        kept = self.rng.choice(rows, min(count, len(rows)), replace=False) if len(rows) else rows
        return self.choices.where(kept)


def every(choices: Choices) -> Iterator[Choice]:
    return (choices.choice(row) for row in range(len(choices)))


def check_results(seed: int, name: str, engine: str, count: int) -> None:
    drawn = Drawn.of(seed, name)
    for choice in every(drawn.fitting(count)):
        drawn.convolution.check(choice, drawn.config, engine)


def check_fits(seed: int, name: str) -> bool:
    """Lowering places exactly the choices that fit, in the elements that were counted."""
    drawn = Drawn.of(seed, name)
    target = AcceleratorTarget.of(drawn.config)
    row = int(drawn.rng.integers(len(drawn.choices)))
    one = drawn.choices.where(np.array([row]))
    program = TEMPLATE.schedule(drawn.workload, one.choice(0), target).program
    lowered = lower(program, accelerator_passes(target))
    fits = bool(TEMPLATE.fits(drawn.workload, one, target).item())
    try:
        found = footprint(lowered, target)
    except CapacityError:
        assert not fits, (drawn.workload, one.choice(0))
        return False
    counted = TEMPLATE.usage(drawn.workload, one)
    assert found == {memory: int(used.item()) for memory, used in counted.items()}
    assert fits, (drawn.workload, one.choice(0))
    return True


def check_counts(seed: int, name: str) -> None:
    """No program moves less than is counted, and none is faster than its bound."""
    drawn = Drawn.of(seed, name)
    choices = drawn.fitting(2)
    if not len(choices):
        return
    latency, interval = int(drawn.rng.choice([1, 16, 64, 300])), int(drawn.rng.choice([1, 4]))
    engine = CycleEngine(drawn.config, MemoryModel(latency, interval, 16))
    cost = MachineCost(drawn.config, MemoryTiming(latency, interval))
    bounds = lower_bound(TEMPLATE, drawn.workload, choices, cost)
    again = repeats(drawn.workload, choices)
    for row, choice in enumerate(every(choices)):
        stream = drawn.convolution.stream(choice, drawn.config)
        work = TEMPLATE.work_counts(drawn.workload, choices.where(np.array([row])))
        for memory, code in (
            (MemoryId.INP, Opcode.LOAD),
            (MemoryId.WGT, Opcode.LOAD),
            (MemoryId.OUT, Opcode.STORE),
        ):
            elements, instructions = copied(stream, memory, code)
            moved, counted = moved_of(work, memory)
            assert elements >= moved, (memory, drawn.workload, choice)
            assert instructions >= counted, (memory, drawn.workload, choice)
            stays = min(int(again[0][row]), int(again[1][row])) == 1
            several = drawn.workload.data[0] > 1
            assert elements == moved or stays or several, (memory, drawn.workload, choice)
        image, address = place_program(stream.image({}), stream.program)
        try:
            result = engine.launch(stream.program, image, Launch(address=address, data=False))
        except NeedsDataError:
            continue
        assert result.cycles is not None
        assert bounds[row] <= result.cycles, (drawn.workload, choice)


@settings(max_examples=12)
@given(seed=SEEDS, name=st.sampled_from(CONFIGS), engine=st.sampled_from(["functional", "cycle"]))
def test_results_are_exact(seed: int, name: str, engine: str) -> None:
    check_results(seed, name, engine, 2)


@settings(max_examples=12)
@given(seed=SEEDS, name=st.sampled_from(CONFIGS))
def test_fits_is_what_lowering_places(seed: int, name: str) -> None:
    check_fits(seed, name)


@settings(max_examples=12)
@given(seed=SEEDS, name=st.sampled_from(CONFIGS))
def test_traffic_and_bounds(seed: int, name: str) -> None:
    check_counts(seed, name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CONFIGS)
def test_many(name: str) -> None:
    placed = 0
    for seed in range(80):
        check_results(seed, name, "functional" if seed % 4 else "cycle", 4)
        check_counts(seed, name)
        placed += check_fits(seed, name)
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
    slots = {"part": 1, "ky": 3, "image_slots": 2, "sum_slots": 2}
    target = AcceleratorTarget.of(PYNQ)
    loaded = []
    for weight_slots in (0, 2):
        choice: dict[str, int | str] = {**tile, **slots, "weight_slots": weight_slots}
        schedule = TEMPLATE.schedule(WORKLOAD, choice, target)
        slots_text = f"out_weight: int8[4, 4, 3, 3, 16, 16] @ wgt in {weight_slots or 16} slots"
        assert slots_text in str(schedule)
        elements, _ = copied(stream_of(schedule, PYNQ, IMMEDIATES), MemoryId.WGT, Opcode.LOAD)
        loaded.append(elements)
    assert loaded == [4 * 4 * 9, 7 * 4 * 4 * 9]


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
    slots = {0: 4 // int(sizes["ic"])}.get(int(sizes["image_slots"]), int(sizes["image_slots"]))
    assert used[MemoryId.INP].item() == slots * 7 * 13 * int(sizes["ic"])


def test_groups_have_no_wide_space() -> None:
    assert TEMPLATE.wide_space(GROUPED, AcceleratorTarget.of(PYNQ)) is None
    assert Candidates.of(accelerator(PYNQ), TEMPLATE, GROUPED, wide=True).space == BASE
    assert Candidates.of(accelerator(PYNQ), TEMPLATE, WORKLOAD, wide=True).space == WIDE


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
    assert "part" not in best_choice(accelerator(PYNQ), TEMPLATE, WORKLOAD)


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
