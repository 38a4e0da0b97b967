"""The door to Numba: what is kept on disk, and that compiled code means what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hw.config_files import load_config
from hw.isa import Finish, Program
from hw.jit import cached, compiled, fingerprint, inlined
from sim.functional.plan import make_plan
from sim.functional.schedule import DONE, make_run_slice
from sim.functional.state import FINGERPRINT, make_state
from sim.semantics.chip import make_chip
from sim.semantics.detail import make_detail
from sim.semantics.dram import make_dram

PLAIN_RUN = """
from contextlib import suppress
from numba import config
from hw.errors import HardwareError
from sim.errors import SimulationError
from tests.support.nonsense import nonsense
import numpy as np
from sim.functional import FunctionalEngine
from sim.functional.schedule import make_run_slice
from tests.support.launching import launch
from tests.support.programs import random_program
from tests.support.vectors import load_vector
from hw.config_files import load_config

assert config.DISABLE_JIT and not hasattr(make_run_slice(), "py_func")
for name in ("039_alu_small8", "052_gemm_block4", "066_tiled_batch2", "079_opsext_small8"):
    vector = load_vector(name)
    _, memory = launch(FunctionalEngine(vector.config), vector.program, vector.before)
    np.testing.assert_array_equal(memory, vector.after, name)
for preset in ("tiny", "small8"):
    for seed in range(4):
        case = random_program(load_config(preset), seed, 40)
        _, memory = launch(FunctionalEngine(case.program.config), case.program, case.image)
        np.testing.assert_array_equal(memory, case.expected, f"{preset} {seed}")

# Indices beyond an array, which compiled code would not notice, are errors here.
for seed in range(300):
    program, image = nonsense(load_config("tiny"), seed)
    with suppress(HardwareError, SimulationError):
        launch(FunctionalEngine(program.config), program, image, validate=False, max_cycles=500)
"""


def test_the_semantics_run_as_plain_python_with_the_same_results() -> None:
    """What is compiled is compared with the same references in test_results.py."""
    subprocess.run(
        [sys.executable, "-c", PLAIN_RUN],
        check=True,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
    )


@inlined
def half() -> int:
    return 21


@compiled
def double(value: int) -> int:
    return 2 * value


def make_answer(number: int) -> Any:
    @cached
    def answer() -> int:
        return double(half()) + number

    return answer


def test_cached_code_is_found_again_only_with_the_same_closed_over_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    def counts(number: int) -> tuple[int, int, int]:
        answer = make_answer(number)
        value, stats = answer(), answer.stats
        return value, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())

    assert counts(0) == (42, 0, 1)
    assert counts(0) == (42, 1, 0)
    assert counts(1) == (43, 0, 1)


def test_a_machine_without_a_place_for_caches_compiles_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])

    assert make_answer(5)() == 47


def test_the_fingerprint_follows_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "fingerprinted"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("x = 1\n")
    (package / "notes.txt").write_text("nothing")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = fingerprint("fingerprinted")

    (package / "notes.txt").write_text("something")
    assert fingerprint("fingerprinted") == first
    (package / "a.py").write_text("x = 2\n")
    changed = fingerprint("fingerprinted")
    assert changed != first
    (package / "a.py").rename(package / "b.py")
    assert fingerprint("fingerprinted") not in {first, changed}


def test_the_code_that_runs_was_compiled_from_this_source() -> None:
    config = load_config("tiny")
    program = Program.from_instructions(config, [Finish()])
    state = make_state()
    memory = np.zeros(16, dtype=np.uint8)

    status = make_run_slice()(
        make_plan(config, program.columns()),
        make_chip(config),
        None,
        make_dram(memory, (0,) * 7, (), config.address_bits),
        state,
        np.zeros(1, dtype=np.int64),
        make_detail(),
        100,
        100,
    )

    assert status == DONE
    assert state[FINGERPRINT] == fingerprint("hw", "sim.semantics", "sim.functional")
