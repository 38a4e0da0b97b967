"""What the functional engine computes: golden vectors, and random programs of every machine."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import MemoryId, work_of
from tandem.sim.functional import FunctionalEngine
from tests.support.examples import examples
from tests.support.hw.configs import UNCOMMON
from tests.support.hw.vectors import load_vector, vector_names
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program

PRESETS = ("pynq", "ultra96", "de10", "tiny", "small8", "block4", "batch2", "big32")
SHAPES = st.tuples(st.integers(0, 4), st.integers(0, 7), st.integers(0, 7))
"""log2 of batch, block_in and block_out: all that a configuration can have."""
SEEDS = st.integers(0, 1 << 32)


@pytest.mark.parametrize("name", vector_names())
def test_golden_vectors_are_reproduced_bit_for_bit(name: str) -> None:
    vector = load_vector(name)

    result, memory = launch(FunctionalEngine(vector.config), vector.program, vector.before)

    np.testing.assert_array_equal(memory, vector.after)
    assert result.work == work_of(vector.program)
    assert (result.engine, result.cycles, result.units) == ("functional", None, None)


@pytest.mark.every(3)
@pytest.mark.parametrize("preset", PRESETS)
@examples(8, 80)
@given(seed=SEEDS)
def test_random_programs_leave_what_sequential_execution_leaves(preset: str, seed: int) -> None:
    config = load_config(preset)
    case = random_program(config, seed, 60)

    _, memory = launch(FunctionalEngine(config), case.program, case.image)

    np.testing.assert_array_equal(memory, case.expected)


@examples(20, 200)
@given(shape=SHAPES, seed=SEEDS)
def test_every_shape_of_the_array_works(shape: tuple[int, int, int], seed: int) -> None:
    config = machine_of(*shape)
    case = random_program(config, seed, 30)

    _, memory = launch(FunctionalEngine(config), case.program, case.image)

    np.testing.assert_array_equal(memory, case.expected)


@pytest.mark.every(2)
@pytest.mark.parametrize("config", UNCOMMON, ids=lambda config: config.name)
@examples(8, 80)
@given(seed=SEEDS)
def test_random_programs_of_uncommon_machines(config: HardwareConfig, seed: int) -> None:
    case = random_program(config, seed, 60)

    _, memory = launch(FunctionalEngine(config), case.program, case.image)

    np.testing.assert_array_equal(memory, case.expected)


@examples(20, 200)
@given(
    shape=st.tuples(st.integers(0, 4), st.integers(0, 7)),
    features=st.frozensets(st.sampled_from(Feature), min_size=1),
    seed=SEEDS,
)
def test_every_shape_of_the_array_with_extensions(
    shape: tuple[int, int], features: frozenset[Feature], seed: int
) -> None:
    batch, block = shape
    if Feature.COMPRESSED_WEIGHTS in features:
        block = max(block, 2)  # a block of weights has two beats or more
    config = machine_of(batch, block, block, features)
    case = random_program(config, seed, 30)

    _, memory = launch(FunctionalEngine(config), case.program, case.image)

    np.testing.assert_array_equal(memory, case.expected)


@pytest.mark.every(2)
@pytest.mark.parametrize("features", [frozenset(), frozenset(Feature)], ids=["base", "extended"])
@examples(10, 100)
@given(seed=SEEDS)
def test_cutting_the_run_into_slices_of_one_micro_op_changes_nothing(
    features: frozenset[Feature], seed: int
) -> None:
    config = load_config("small8").replace(features=features)
    case = random_program(config, seed, 40)
    looks: list[int] = []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tandem.sim.functional.engine.FIRST_SLICE_MACS", 1)
        patch.setattr("tandem.sim.functional.engine.next_slice", lambda budget, *_: budget)
        _, memory = launch(
            FunctionalEngine(config), case.program, case.image, progress=looks.append
        )

    np.testing.assert_array_equal(memory, case.expected)
    work = work_of(case.program)
    assert looks[-1] == work.gemm_uops + work.reset_uops + work.alu_uops
    assert all(after - before <= 1 for before, after in pairwise(looks))


def machine_of(
    log_batch: int,
    log_block_in: int,
    log_block_out: int,
    features: frozenset[Feature] = frozenset(),
) -> HardwareConfig:
    """A machine of this shape with 64 elements in each memory."""
    elements = 6
    return HardwareConfig(
        name="drawn",
        log_batch=log_batch,
        log_block_in=log_block_in,
        log_block_out=log_block_out,
        log_uop_buffer=elements + 2,
        log_inp_buffer=elements + log_batch + log_block_in,
        log_wgt_buffer=elements + log_block_in + log_block_out,
        log_acc_buffer=elements + log_batch + log_block_out + 2,
        log_par_buffer=elements + log_block_out + 3,
        features=features,
    )


def test_the_machine_of_a_shape_has_what_it_says() -> None:
    config = machine_of(4, 7, 3)

    assert (config.batch, config.block_in, config.block_out) == (16, 128, 8)
    assert {config.depth(memory) for memory in MemoryId} == {64}
