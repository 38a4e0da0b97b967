"""Programs with recursion and data types as one native function: the register machine's results, no
cell left, memory that does not grow, and the errors of runs that fail."""

from __future__ import annotations

import _thread
import subprocess
import sys
import threading
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest

from tandem.compiler.machines.cpu.network import make_network
from tandem.runtime.artifact import Artifact, Jump, ReadCell
from tandem.runtime.devices.cpu import CpuDevice
from tandem.runtime.errors import RunError
from tandem.runtime.executor import Executor
from tandem.runtime.native import NETWORK
from tests.runtime.test_native_network import artifact_of, equal
from tests.support.compiler.graph.closures import BOXED, COMPOSED
from tests.support.compiler.graph.closures import LISTED as FUNCTIONS
from tests.support.compiler.graph.data_types import ALLOCATES, MAPPED, ROSE, TREE
from tests.support.compiler.graph.data_types import SUM as LISTS
from tests.support.compiler.graph.recursion import SUM, TURNS
from tests.support.compiler.graph.tree_programs import BEAMS, READ_TREE

ENDLESS = """type List[T] = Nil | Cons(T, List[T])

func @spin(all: List[float32[256, 1024]], x: float32[256, 1024]) -> float32[256, 1024]:
  r = match all:
    Cons(head, tail):
      {0}
      t = @spin(longer, head)
      yield t
    Nil:
      yield x
  return r

func @main(x: float32[256, 1024]) -> float32[256, 1024]:
  y = exp(x)
  none = Nil[float32[256, 1024]]()
  one = Cons(y, none)
  z = @spin(one, x)
  return z
"""
"""A loop without steps or end: of one cell for each iteration, which are kept or not."""
X = np.array([1, -3], np.float32)


@cache
def executor(program: str) -> Executor:
    return Executor(artifact_of(program), [CpuDevice(1)])


def left(found: Executor) -> tuple[int, int]:
    """The cells that the last run has left, and the bytes that it took."""
    assert found._network is not None
    return found._network.heap.cells, found._network.heap.bytes


@pytest.mark.parametrize(
    ("program", "inputs"),
    [
        *((SUM, {"n": n}) for n in (0, 1, 900)),
        *((LISTS, {"n": n, "x": 5}) for n in (0, 1, 30, 900)),
        *((TREE, {"n": n, "x": X}) for n in (0, 1, 5)),
        *((ROSE, {"n": n}) for n in (0, 1, 4)),
        *((MAPPED, {"n": n, "c": np.float32(2), "x": X}) for n in (0, 1, 4)),
        *((TURNS, {"n": n}) for n in (0, 1, 2, 7)),
        *((COMPOSED, {"n": n, "x": np.float32(1)}) for n in (0, 1, 5)),
        *((FUNCTIONS, {"n": n, "x": 3}) for n in (0, 1, 30)),
        *((BOXED, {"n": n, "z": np.ones(3, np.float32)}) for n in (0, 1, 5)),
        *((BEAMS, {"n": n, "table": np.arange(9, dtype=np.float32).reshape(3, 3)}) for n in (0, 5)),
    ],
)
def test_equal_to_the_register_machine(program: str, inputs: dict[str, Any]) -> None:
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    for _ in range(2):
        whole = executor(program).run(arrays)
        assert left(executor(program))[0] == 0
        equal(whole, executor(program).run(arrays, progress=lambda *_: None))


@pytest.mark.parametrize("codes", [[0, 0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 0, 1, 1, 1, 1]])
def test_a_tree_lstm(codes: list[int]) -> None:
    random = np.random.default_rng(3)
    shapes = {"x": (9, 1, 4), "w": (4, 12), "u": (8, 20)}
    arrays = {name: random.normal(size=it).astype(np.float32) for name, it in shapes.items()}
    arrays = {"codes": np.array(codes), **arrays}
    whole = executor(READ_TREE).run(arrays)
    assert left(executor(READ_TREE))[0] == 0
    equal(whole, executor(READ_TREE).run(arrays, progress=lambda *_: None))


def test_memory_is_flat_in_a_loop_that_allocates() -> None:
    found = executor(ALLOCATES)
    x = np.arange(4, dtype=np.float32)
    inputs = {"n": np.array(10), "length": np.array(0), "x": x}
    np.testing.assert_array_equal(found.run(inputs).outputs["z"], x)
    few = left(found)
    assert few[0] == 0
    np.testing.assert_array_equal(found.run({**inputs, "n": np.array(10**6)}).outputs["z"], x)
    assert left(found) == few
    long = {**inputs, "n": np.array(0), "length": np.array(200_000)}
    np.testing.assert_array_equal(found.run(long).outputs["z"], x)
    cells, size = left(found)
    assert cells == 0
    assert 48 * 200_000 < size < 3 * 48 * 200_000


def test_a_loop_without_steps_is_interrupted() -> None:
    found = executor(ENDLESS.format("longer = Cons(head, tail)"))
    x = np.zeros((256, 1024), np.float32)
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        found.run({"x": x})
    assert left(found)[1] < 10 << 20


def test_recursion_without_end_leaves_nothing() -> None:
    for _ in range(2):
        with pytest.raises(RunError, match=r"^function sum of \w+: more than 1000 calls wait for"):
            executor(SUM).run({"n": np.array(-1)})
        assert executor(SUM).run({"n": np.array(3)}).outputs["r"] == 6


def test_no_memory() -> None:
    program = ENDLESS.format("longer = Cons(head, all)")
    source = f"""
import resource
import numpy as np
from tests.runtime.test_native_heap import executor
found = executor({program!r})
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 28), size + (1 << 28)))
try:
    found.run({{"x": np.zeros((256, 1024), np.float32)}})
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    words = "RunError main needs more memory for its values and calls than there is: "
    assert done.stdout.startswith(words), done.stderr


def test_a_cell_of_another_form() -> None:
    artifact = artifact_of(LISTS)
    (sum_,) = (each for each in artifact.manifest.functions if each.name == "sum")
    reads = next(at for at, it in enumerate(sum_.instructions) if isinstance(it, ReadCell))
    jumps = msgspec.structs.replace(sum_, instructions=(Jump(reads), *sum_.instructions[1:]))
    functions = tuple(jumps if it is sum_ else it for it in artifact.manifest.functions)
    manifest = msgspec.structs.replace(artifact.manifest, functions=functions)
    code = make_network(manifest, artifact.code)
    assert code is not None
    damaged = Executor(
        Artifact(manifest, {**artifact.code, NETWORK: code}, artifact.constants), [CpuDevice(1)]
    )
    with pytest.raises(RunError, match="main reads a cell of another form"):
        damaged.run({"n": np.array(0), "x": np.array(0)})
    assert damaged._network is not None
