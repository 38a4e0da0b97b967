"""C libraries and WebAssembly of networks with recursion and data types: results, checks of
memory, small heaps, and heaps beside an accelerator."""

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
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.sim.driven.bench import BenchMachine
from tandem.sim.driven.drive import drive
from tandem.sim.engine import Channel, Silence
from tandem.workbench.errors import ExportError
from tandem.workbench.export import export_library
from tandem.workbench.export.hosted import HostedLibrary
from tests.support.compiler.graph.data_types import ALLOCATES, LISTED_LAYERS, ROSE
from tests.support.compiler.graph.data_types import SUM as LISTS
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.recursion import COUNT, SUM, TURNS
from tests.support.compiler.graph.tree_programs import BEAMS, READ_TREE
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import both, run_on
from tests.support.workbench.cross import CROSS, make
from tests.tandem.workbench.export.test_accelerated import ABSENT

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


LOOP = COUNT.replace("[N]", "[300]"), {"n": 3, "x": np.arange(300, dtype=np.float32)}
"""Without a heap; what an iteration copies is no instruction but a call."""


@pytest.mark.parametrize(("program", "inputs"), [*PROGRAMS[:1], PROGRAMS[3], PROGRAMS[6], LOOP])
def test_in_web_assembly(tmp_path: Path, program: str, inputs: dict[str, Any]) -> None:
    CROSS["wasm32"].require()
    exported(tmp_path, program, "wasm32", **inputs)
    assert make(tmp_path, "check") == "as expected\n"


def test_a_heap_in_web_assembly_grows_up_to_a_limit(tmp_path: Path) -> None:
    """Where the heap is too small, a run begins again with a larger one; what fails says why, and
    what is run then is right."""
    CROSS["wasm32"].require()
    there = artifact_of(LISTS, PROCESSORS["wasm32"])
    inputs = {"n": np.array(5), "x": np.array(0)}
    export_library(there, tmp_path, inputs, None, "net")
    make(tmp_path)
    script = f"""
import {{ readFileSync }} from "node:fs";
import {{ Network }} from "{(tmp_path / "network.mjs").as_uri()}";
const description = JSON.parse(readFileSync("{tmp_path}/net.json"));
const network = await Network.load(readFileSync("{tmp_path}/net.wasm"), description);
const run = (n) => {{
  try {{
    return network.run({{ n: [n], x: [0n] }}).s[0];
  }} catch (error) {{
    return error.message;
  }}
}};
const say = (n) => console.log(`${{run(n)}} ${{network.heapBytes}}`);
say(10n);
say(10000n);
network.mostHeapBytes = 2 ** 20;
say(100000n);
say(3n);
"""
    command = ["node", "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    small, grown, failed, after = done.stdout.splitlines()
    assert small == "55 65536"
    assert grown == f"50005000 {1 << 18}"
    assert failed == f"the heap is too small (a heap of {1 << 20} bytes) {1 << 20}"
    assert after == f"6 {1 << 20}"


def test_too_many_calls_in_web_assembly(tmp_path: Path) -> None:
    CROSS["wasm32"].require()
    there = artifact_of(SUM, PROCESSORS["wasm32"])
    export_library(there, tmp_path, {"n": np.array(-1)}, None, "net")
    done = subprocess.run(["make", "-s", "check"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "Error: more than 1,000 calls wait for results (a heap of 262144 bytes)" in done.stderr


class TestBesideAnAccelerator:
    """A loop whose layer is on an accelerator, and whose results are a list."""

    X = np.arange(-40, 40, 10, dtype=np.int8)[None]

    @pytest.mark.parametrize("engine", ["functional", "cycle"])
    def test_equal_to_the_cpu(self, tmp_path: Path, engine: str) -> None:
        config = machine("tiny-x")
        alone, shared = both(graph(LISTED_LAYERS), config)
        inputs = {"n": np.array(20), "x": self.X}
        exported = export_library(shared, tmp_path, inputs, None, "net")
        driven = drive(engine, config, np.zeros(1 << 16, np.uint8))
        library = HostedLibrary(exported, driven)
        for n in (20, 0, 300):
            inputs = {"n": np.array(n), "x": self.X}
            (wanted,) = Executor(alone, [CpuDevice(1)]).run(inputs).outputs.values()
            stepped = run_on(shared, engine, *inputs.values())
            (found,) = library.run(inputs).values()
            for array in (*stepped.outputs.values(), found):
                np.testing.assert_array_equal(array, wanted)
            assert library.cycles == (stepped.profile.cycles or 0)
        assert (library.cycles > 0) == (engine == "cycle")
        driven.close()

    def test_a_small_heap(self, tmp_path: Path) -> None:
        config = machine("tiny-x")
        _, shared = both(graph(LISTED_LAYERS), config)
        inputs = {"n": np.array(300), "x": self.X}
        exported = export_library(shared, tmp_path, inputs, None, "net")
        driven = drive("functional", config, np.zeros(1 << 16, np.uint8))
        library = HostedLibrary(exported, driven, heap_bytes=1 << 10)
        with pytest.raises(ExportError, match=r"^net: the heap is too small$"):
            library.run(inputs)
        driven.close()

    def test_a_launch_that_fails(self, tmp_path: Path) -> None:
        config = machine("tiny-x")
        _, shared = both(graph(LISTED_LAYERS), config)
        inputs = {"n": np.array(300), "x": self.X}
        exported = export_library(shared, tmp_path, inputs, None, "net")
        silence = Silence(Channel.R, 100, 1 << 40)
        driven = BenchMachine(config, np.zeros(1 << 16, np.uint8), DEFAULT_MEMORY, silence=silence)
        library = HostedLibrary(exported, driven)
        library.limit = 5
        with pytest.raises(ExportError, match="did not end in time, and was stopped"):
            library.run(inputs)
        driven.close()

    def test_the_program_that_checks(self, tmp_path: Path) -> None:
        """On a board whose machine is none."""
        _, shared = both(graph(LISTED_LAYERS), machine("tiny-x"))
        export_library(shared, tmp_path, {"n": np.array(3), "x": self.X}, None, "net")
        (tmp_path / "board.c").write_text(ABSENT)
        make(tmp_path, "main", STRICT)
        done = subprocess.run([tmp_path / "main"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.startswith("no machine at these addresses (fault 0, instruction -1)")
