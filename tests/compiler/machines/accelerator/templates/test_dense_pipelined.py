"""The wide space of dense layers: exact results, capacity, traffic and lower bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.dense import DenseOnArray, DenseWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, OperandKind
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.machines.accelerator.templates.products import Products
from tandem.compiler.plan.planner import best_choice
from tandem.compiler.plan.space import Bools, Choices
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.candidates import WIDE, Candidates
from tandem.hw.encoding import Opcode
from tandem.hw.memory_model import MemoryModel
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Launch
from tandem.sim.memory import place_program
from tests.compiler.machines.accelerator.templates.test_work_counts import copied
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_workloads import draw_dense
from tests.support.compiler.machines.accelerator.templates.streams import stream_of
from tests.support.compiler.machines.accelerator.templates.wide_spaces import CONFIGS, DrawnLayer
from tests.support.examples import examples

TEMPLATE = DenseOnArray()
PYNQ = machine("pynq")
IMMEDIATES = {"SHR": 4, "MAX": 0}
LAYER = DenseWorkload(
    Products(28, 16, 8, batch=1, lanes=16, depth=16),
    (
        AluPass(AluOp.SHR, "SHR", OperandKind.IMMEDIATE),
        AluPass(AluOp.MAX, "MAX", OperandKind.IMMEDIATE),
    ),
)
"""28 rows of 128 inputs and 256 outputs."""
SEEDS = st.integers(0, 2**32 - 1)


def may_stay(drawn: DrawnLayer, choices: Choices) -> Bools:
    """All: what stays in its slots is counted once."""
    return np.ones(len(choices), np.bool_)


def cycles(workload: DenseWorkload, choice: Choice, memory: MemoryModel) -> int:
    """The exact cycles of a choice."""
    schedule = TEMPLATE.schedule(workload, choice, accelerator(PYNQ).machine)
    stream = stream_of(schedule, PYNQ, IMMEDIATES)
    image, address = place_program(stream.image({}), stream.program)
    launch = Launch(address=address, data=False)
    found = CycleEngine(PYNQ, memory).launch(stream.program, image, launch).cycles
    assert found is not None
    return found


@examples(5, 50)
@given(seed=SEEDS, name=st.sampled_from(CONFIGS), engine=st.sampled_from(["functional", "cycle"]))
def test_results_are_exact(seed: int, name: str, engine: str) -> None:
    DrawnLayer.of(seed, name, draw_dense).check_results(engine, 2)


@settings(max_examples=10)
@given(seed=SEEDS, name=st.sampled_from(CONFIGS))
def test_fits_is_what_lowering_places(seed: int, name: str) -> None:
    DrawnLayer.of(seed, name, draw_dense).check_fits()


@examples(5, 50)
@given(seed=SEEDS, name=st.sampled_from(CONFIGS))
def test_traffic_and_bounds(seed: int, name: str) -> None:
    DrawnLayer.of(seed, name, draw_dense).check_counts(may_stay)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CONFIGS)
def test_many(name: str) -> None:
    placed = 0
    for seed in range(80):
        drawn = DrawnLayer.of(seed, name, draw_dense)
        drawn.check_results("functional" if seed % 4 else "cycle", 4)
        drawn.check_counts(may_stay)
        placed += drawn.check_fits()
    assert placed


def test_weights_that_stay_are_loaded_once() -> None:
    """Four tiles of rows; two parts in four steps are eight boxes of weights."""
    tile: dict[str, int | str] = {
        "threads": 1,
        "along": "oc",
        "order": "outputs",
        "ic": 2,
        "oc": 8,
        "part": 4,
        "n": 7,
        "data_slots": 2,
        "sum_slots": 2,
    }
    loaded = []
    for slots in (0, 2):
        schedule = TEMPLATE.schedule(
            LAYER, {**tile, "weight_slots": slots}, accelerator(PYNQ).machine
        )
        assert f" @ wgt in {slots or 8} slots" in str(schedule)
        elements, _ = copied(stream_of(schedule, PYNQ, IMMEDIATES), MemoryId.WGT, Opcode.LOAD)
        loaded.append(elements)
    assert loaded == [16 * 8, 4 * 16 * 8]


def test_the_best_estimates_are_near_and_faster_than_the_base_space() -> None:
    timing = MemoryModel(64, 4, 32)
    target = accelerator(PYNQ, MemoryTiming(timing.latency, timing.interval))
    candidates = Candidates.of(target, TEMPLATE, LAYER, wide=True)
    assert candidates.space == WIDE
    found = []
    for row in np.argsort(candidates.estimates, kind="stable")[:4]:
        found.append(cycles(LAYER, candidates.choice(int(row)), timing))
        assert found[-1] == pytest.approx(candidates.estimates[row], rel=0.1)
        assert candidates.bounds[row] <= found[-1]
    base = best_choice(target, TEMPLATE, LAYER, {"threads": (2, 1)})
    assert min(found) < cycles(LAYER, base, timing)
    assert best_choice(target, TEMPLATE, LAYER) == candidates.choice(
        int(np.argmin(candidates.estimates))
    )
