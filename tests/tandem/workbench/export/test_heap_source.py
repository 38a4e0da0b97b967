"""C libraries of networks with recursion and data types: results, checks of memory, small heaps,
and what is refused."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.compiler.driver import build
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.workbench.errors import ExportError
from tandem.workbench.export import export_library
from tests.support.compiler.graph.data_types import ALLOCATES, ROSE, TREE
from tests.support.compiler.graph.data_types import SUM as LISTS
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.recursion import SUM, TURNS
from tests.support.compiler.graph.tree_programs import BEAMS, READ_TREE
from tests.support.workbench.cross import CROSS, make

STRICT = "CFLAGS=-std=c99 -O2 -g -Wall -Wextra -Wpedantic -Werror"
CHECKS = "-fsanitize=address,undefined -fno-sanitize-recover=all"


@cache
def artifact_of(program: str, target: CpuTarget | None = None) -> Artifact:
    return build(graph(program), [cpu(target or CpuTarget.host(1))], Provenance("net"))


def exported(folder: Path, program: str, processor: str | None = None, **inputs: Any) -> None:
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    here = artifact_of(program)
    outputs = Executor(here, [CpuDevice(1)]).run(arrays).outputs
    there = here if processor is None else artifact_of(program, PROCESSORS[processor])
    export_library(there, folder, arrays, outputs)


def tree_inputs() -> dict[str, Any]:
    random = np.random.default_rng(3)
    shapes = {"x": (9, 1, 4), "w": (4, 12), "u": (8, 20)}
    arrays = {name: random.normal(size=it).astype(np.float32) for name, it in shapes.items()}
    return {"codes": np.array([0, 0, 1, 0, 0, 1, 0, 1, 1]), **arrays}


PROGRAMS = [
    (SUM, {"n": 200}),
    (TURNS, {"n": 7}),
    (LISTS, {"n": 30, "x": 5}),
    (ROSE, {"n": 4}),
    (READ_TREE, tree_inputs()),
    (BEAMS, {"n": 5, "table": np.arange(9, dtype=np.float32).reshape(3, 3)}),
    (ALLOCATES, {"n": 100_000, "length": 200, "x": np.arange(4, dtype=np.float32)}),
]


@pytest.mark.parametrize(("program", "inputs"), PROGRAMS)
def test_programs(tmp_path: Path, program: str, inputs: dict[str, Any]) -> None:
    exported(tmp_path, program, **inputs)
    assert make(tmp_path, "check", STRICT) == "as expected\n"


@pytest.mark.parametrize(("program", "inputs"), [PROGRAMS[1], PROGRAMS[5]])
def test_no_access_outside_its_memory(tmp_path: Path, program: str, inputs: dict[str, Any]) -> None:
    exported(tmp_path, program, **inputs)
    flags = (f"CFLAGS=-std=c99 -g {CHECKS}", f"LDFLAGS={CHECKS}")
    assert make(tmp_path, "check", *flags) == "as expected\n"


@pytest.mark.every(2)
@pytest.mark.parametrize("processor", ["cortex-m4", "rv64gc"])
@pytest.mark.parametrize(("program", "inputs"), PROGRAMS[-3:-1])
def test_emulated_processors(
    tmp_path: Path, processor: str, program: str, inputs: dict[str, Any]
) -> None:
    """With addresses of 32 and of 64 bits."""
    CROSS[processor].require()
    exported(tmp_path, program, processor, **inputs)
    assert CROSS[processor].check(tmp_path) == "as expected\n"


@pytest.mark.parametrize(
    ("inputs", "size", "result"),
    [
        ({"n": -1}, 1 << 20, 1),
        ({"n": 300}, 1 << 10, 3),
        ({"n": 300}, 1 << 17, 0),
    ],
)
def test_runs_that_fail(tmp_path: Path, inputs: dict[str, Any], size: int, result: int) -> None:
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    export_library(artifact_of(SUM), tmp_path, arrays, None, "net")
    command = ["make", "-s", "check", f"CPPFLAGS=-DNET_HEAP_BYTES={size}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    wanted = f"result {result}, with a heap of {size} bytes" if result else "r[0] = 45150"
    assert done.stdout.splitlines() == [wanted]
    assert (done.returncode != 0) == (result != 0)


def test_refusals(tmp_path: Path) -> None:
    for program, words in (
        (SUM, "calls that wait for calls of the same function"),
        (TREE, r"size is known only when it runs \(.*Tree.*\): they need a heap"),
    ):
        there = artifact_of(program, PROCESSORS["wasm32"])
        with pytest.raises(ExportError, match=f"{words}.* a module of WebAssembly is made without"):
            export_library(there, tmp_path, {}, None)
    assert not any(tmp_path.iterdir())
