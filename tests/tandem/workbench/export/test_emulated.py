"""ONNX's node tests and random quantised networks on emulated processors."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from onnx.backend.test.case.test_case import TestCase

from tandem.compiler.driver.compile_onnx import prepare_network
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.defaults import compile_options
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.workbench.export import export_library
from tests.support.compiler.frontends.onnx_nodes import (
    Outcome,
    chosen_cases,
    node_cases,
    run_case,
)
from tests.support.compiler.models.random_models import RandomModel
from tests.support.workbench.cross import CROSS, emulator_failed
from tests.support.workbench.node_libraries import run_cases
from tests.support.workbench.together import Crash, run_together

PAIRS = (("neoverse-n1", "cortex-a72"), ("rv64gc", "rv64gcv"))
"""Processors of one compiler, between which cases are divided."""
SAMPLE = 25
TOGETHER = 50
"""Libraries in one program."""
SEEDS = range(3000, 3200)
ALONE = tuple(name for name, processor in PROCESSORS.items() if not processor.threaded)
"""Processors without a system, whose programs hold one network."""
FEW = 50
"""Networks that are compared on a board, which takes seconds for each."""
ALWAYS = (
    "test_constant",
    "test_reduce_log_sum_exp_default_axes_keepdims_example_expanded",
    "test_rotary_embedding",
)
"""A network without inputs; one whose kernels' names end names of constants on RISC-V; one with
several results of an operator, all used within it."""


def wrong(outcomes: Sequence[Outcome]) -> list[str]:
    """What failed, but for the emulator's own errors, and what the export refused."""
    found = []
    for outcome in outcomes:
        if outcome.failure and not emulator_failed(outcome.failure):
            found.append(f"{outcome.name}: {outcome.failure}")
        if outcome.refusal:
            found.append(f"{outcome.name}: {outcome.refusal}")
    return found


def on_a_pair(cases: Sequence[TestCase], pair: Sequence[str], folder: Path) -> list[Outcome]:
    outcomes = []
    for at, processor in enumerate(pair):
        CROSS[processor].require()
        mine = cases[at :: len(pair)]
        for first in range(0, len(mine), TOGETHER):
            place = folder / f"{processor}_{first}"
            outcomes += run_cases(mine[first : first + TOGETHER], processor, place)
    return outcomes


def test_some_node_tests(tmp_path: Path) -> None:
    """Of different operators, in one process, as ONNX takes seconds to make them."""
    cases = chosen_cases(1)
    drawn = (cases[at] for at in np.random.default_rng(1).permutation(len(cases)))
    passed = (each for each in drawn if run_case(each).passed)
    for pair in PAIRS:
        always = [each for each in node_cases() if each.name in ALWAYS]
        part = [*always, *islice(passed, SAMPLE - len(always))]
        outcomes = on_a_pair(part, pair[:1], tmp_path)
        assert wrong(outcomes) == []
        assert sum(each.passed for each in outcomes) > 0.9 * SAMPLE


@pytest.mark.exhaustive
@pytest.mark.parametrize("pair", PAIRS)
def test_all_node_tests(tmp_path: Path, pair: Sequence[str]) -> None:
    cases = [each for each in node_cases() if run_case(each).passed]
    outcomes = on_a_pair(cases, pair, tmp_path)
    print(sum(each.passed for each in outcomes), "of", len(outcomes), "pass")
    assert wrong(outcomes) == []


def check_integers(seeds: Sequence[int], processor: str, folder: Path) -> int:
    """Compare quantised networks with this processor, in every bit; how many were compared."""
    CROSS[processor].require()
    runs, wanted = [], []
    for seed in seeds:
        random = RandomModel.of(seed)
        options = compile_options(seed=seed)
        network = prepare_network(random.model, Provenance("random"), options)
        here = network.build([cpu(CpuTarget.host(1))])
        wanted.append(Executor(here, [CpuDevice(1)]).run(random.data(1)).outputs)
        runs.append((network.build([cpu(PROCESSORS[processor])]), random.data(1)))
    compared, different = 0, []
    for seed, found, expected in zip(
        seeds, run_together(runs, folder, CROSS[processor]), wanted, strict=True
    ):
        if isinstance(found, Crash):
            if not emulator_failed(found.message):
                different.append(f"seed {seed}: {found.message}")
            continue
        compared += 1
        different += [
            f"seed {seed}: {name} by {np.abs(found[name] - array).max()}"
            for name, array in expected.items()
            if found[name].tobytes() != array.tobytes()
        ]
    assert different == []
    return compared


def check_one_by_one(seeds: Sequence[int], processor: str, folder: Path) -> None:
    """Compare quantised networks with this processor, each in a program of its own."""
    CROSS[processor].require()
    for seed in seeds:
        random = RandomModel.of(seed)
        network = prepare_network(random.model, Provenance("random"), compile_options(seed=seed))
        here = network.build([cpu(CpuTarget.host(1))])
        there, given = network.build([cpu(PROCESSORS[processor])]), random.data(1)
        wanted = Executor(here, [CpuDevice(1)]).run(given).outputs
        place = folder / str(seed)
        export_library(there, place, given, wanted, "network")
        assert CROSS[processor].check(place) == "as expected\n", seed
        shutil.rmtree(place)


@pytest.mark.parametrize("processor", ["cortex-a55", "cortex-a72", "rv64gc"])
def test_some_integers(tmp_path: Path, processor: str) -> None:
    assert check_integers(SEEDS[:2], processor, tmp_path) == 2


def test_an_integer_network_without_a_system(tmp_path: Path) -> None:
    check_one_by_one(SEEDS[:1], "wasm32", tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("processor", [each for each in PROCESSORS if each not in ALONE])
def test_integers(tmp_path: Path, processor: str) -> None:
    compared = 0
    for first in range(0, len(SEEDS), TOGETHER):
        part = SEEDS[first : first + TOGETHER]
        compared += check_integers(part, processor, tmp_path / str(first))
    print(compared, "of", len(SEEDS), "compared")
    # QEMU 7.2 ends with an error of its own in some programs with vectors of RISC-V.
    assert compared >= len(SEEDS) * (0.75 if processor == "rv64gcv" else 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("processor", ALONE)
def test_integers_without_a_system(tmp_path: Path, processor: str) -> None:
    check_one_by_one(SEEDS if processor == "wasm32" else SEEDS[:FEW], processor, tmp_path)
