"""Compiled functions: their arguments, what is kept on disk, and what is said of it."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.base.jit import CompilationError, prepare, reported
from tests.support.base.written_modules import written

TEXT = """
STEP = {step}

@inlined
def moved(value: int) -> int:
    return value + STEP

@compiled
def found(values: object, number: int) -> int:
    return moved(values[number]) * {factor}
"""
VALUES = np.array([10, 20, 30])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TANDEM_CACHE", str(folder))
    return folder


def function(folder: Path, step: int = 1, factor: int = 1) -> Any:
    return written(folder, TEXT.format(step=step, factor=factor)).found


def compiled_now(called: Any, *arguments: object) -> tuple[object, list[str]]:
    """The result of a call, and what was compiled for it."""
    names: list[str] = []
    with reported(names.append):
        return called(*arguments), names


def test_machine_code_is_found_again_on_disk(tmp_path: Path, cache: Path) -> None:
    assert compiled_now(function(tmp_path), VALUES, 1) == (21, ["found"])
    assert [path for path in cache.rglob("*") if path.is_file()]
    # The same source in another file, as in another process.
    assert compiled_now(function(tmp_path), VALUES, 2) == (31, [])


def test_once_for_the_types_of_arguments(tmp_path: Path) -> None:
    called = function(tmp_path)
    assert compiled_now(called, VALUES, 1) == (21, ["found"])
    assert compiled_now(called, VALUES + 5, 0) == (16, [])
    assert compiled_now(called, VALUES.astype(np.uint8), 0) == (11, ["found"])


@pytest.mark.parametrize(("step", "factor", "result"), [(2, 1, 22), (1, 3, 63)])
def test_other_source_is_other_code(tmp_path: Path, step: int, factor: int, result: int) -> None:
    """Of the function, or of a value that a function has that it calls."""
    function(tmp_path)(VALUES, 1)
    assert compiled_now(function(tmp_path, step, factor), VALUES, 1) == (result, ["found"])


def test_damaged_code_is_compiled_again(tmp_path: Path, cache: Path) -> None:
    function(tmp_path)(VALUES, 1)
    (kept,) = (path for path in cache.rglob("*") if path.is_file())
    content = kept.read_bytes()
    kept.write_bytes(content[:-9] + b"\0" * 9)
    assert compiled_now(function(tmp_path), VALUES, 1) == (21, ["found"])
    assert kept.read_bytes() == content


def test_a_cache_that_cannot_be_written(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file")
    for _ in range(2):
        assert compiled_now(function(tmp_path), VALUES, 1) == (21, ["found"])


def test_threads_compile_once(tmp_path: Path) -> None:
    called, names = function(tmp_path), list[str]()

    def call(number: int) -> int:
        with reported(names.append):
            result: int = called(VALUES, number)
        return result

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, [0, 1, 2] * 8)) == [11, 21, 31] * 8
    assert names == ["found"]


def test_prepared_functions_compile_no_more(tmp_path: Path) -> None:
    called = function(tmp_path)
    prepare(called, VALUES, 0)
    assert compiled_now(called, VALUES, 1) == (21, [])


def test_reports_reach_the_contexts_around(tmp_path: Path) -> None:
    names: list[str] = []
    with reported(lambda name: names.append(f"outer {name}")):
        assert compiled_now(function(tmp_path), VALUES, 1) == (21, ["found"])
    assert names == ["outer found"]


@pytest.mark.parametrize(
    ("values", "number", "message"),
    [
        (np.zeros((2, 3)).T, 0, "dense, row-major and aligned"),
        (np.zeros(6, np.int64)[::2], 0, "dense, row-major and aligned"),
        (np.zeros(3, np.complex128), 0, "no array of complex128"),
        (np.zeros(3, ">i8"), 0, "no array of >i8"),
        ("text", 0, "takes no str"),
        (VALUES, 1 << 63, "found takes integers of 64 bits"),
    ],
)
def test_arguments_that_are_refused(
    tmp_path: Path, values: object, number: int, message: str
) -> None:
    with pytest.raises(CompilationError, match=message):
        function(tmp_path)(values, number)


def test_a_function_for_python_says_what_it_returns(tmp_path: Path) -> None:
    module: Any = written(tmp_path, "@compiled\ndef found(a: int):\n    return a\n")
    with pytest.raises(CompilationError, match="its annotation does not say"):
        module.found(1)


PLAIN_RUN = """
from contextlib import suppress
from tandem.hw.errors import HardwareError
from tandem.sim.errors import SimulationError
from tests.sim.functional.nonsense import nonsense
import numpy as np
from tandem.sim.functional import FunctionalEngine
from tandem.sim.functional.schedule import run_slice
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program
from tests.support.hw.vectors import load_vector
from tandem.hw.config_files import load_config

assert not hasattr(run_slice, "python")
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
    """What is compiled is compared with the same references in the engine's tests."""
    subprocess.run(
        [sys.executable, "-c", PLAIN_RUN], check=True, env=os.environ | {"TANDEM_JIT": "0"}
    )
