"""Runs: results, refusals, interruptions."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from tandem.compiler.driver import build
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Arena, Artifact, Provenance, Step
from tandem.runtime.devices import CpuDevice, Device, StepFunction
from tandem.runtime.errors import InputError, RunError
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.recursion import SUM
from tests.support.runtime.artifacts import compiled, image


def executor(threads: int = 1) -> Executor:
    return Executor(compiled(), [CpuDevice(threads)])


def reference(given: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """The network's first result, in NumPy."""
    weight = np.array([[0.5, -1.0], [2.0, 0.25], [1.0, 1.0], [-0.5, 3.0]])
    layer = np.maximum(np.einsum("oc,ncyx->noyx", weight, given["x"].astype(np.float64)), 0)
    pooled = layer.reshape(1, 4, 3, 2, 3, 2).max((3, 5))
    sums = (2 * pooled).sum((2, 3))
    return sums @ np.array([[1.0, 0.0, -1.0, 2.0], [0.5] * 4]).T


@pytest.mark.parametrize("threads", [1, 2])
def test_results(threads: int) -> None:
    ready = executor(threads)
    for seed in range(3):
        given = image(seed)
        run = ready.run(given)
        assert [*run.outputs] == ["f", "t", "s"]
        np.testing.assert_allclose(run.outputs["f"], reference(given), rtol=1e-5)
        np.testing.assert_array_equal(run.outputs["t"], given["s"] + [1, 2])
        np.testing.assert_array_equal(run.outputs["s"], given["s"])


def test_results_are_the_callers() -> None:
    ready, given = executor(), image()
    first = ready.run(given).outputs
    kept = {name: array.copy() for name, array in first.items()}
    ready.run(image(1))
    for name, array in first.items():
        np.testing.assert_array_equal(array, kept[name])
        array[...] = 0
    assert given["s"].any()
    np.testing.assert_array_equal(ready.run(given).outputs["f"], kept["f"])


AROUND_A_CALL = f"""{SUM}
func @main(n: int64[]) -> int64[]:
  twice = add(n, n)
  t = @sum(twice)
  r = add(t, twice)
  return r
"""


def test_the_networks_own_tensors_lie_in_its_arena_beside_functions() -> None:
    """Those of a function that it calls lie in a frame of each call."""
    source = graph(AROUND_A_CALL)
    artifact = build(source, [cpu(CpuTarget.host(threads=1))], Provenance("sum"))
    places = {tensor.name: tensor.place for tensor in artifact.manifest.tensors}
    own, *others = artifact.manifest.functions
    assert others
    assert any(isinstance(places[name], Arena) for name in own.tensors)
    ready = Executor(artifact, [CpuDevice(1)])
    for number in (0, 3, 10):
        (found,) = ready.run({"n": np.asarray(number)}).outputs.values()
        assert found == number * (2 * number + 1) + 2 * number


def test_the_profile() -> None:
    run = executor().run(image())
    steps = run.profile.steps
    assert [each.name for each in steps] == ["b", "d", "e", "f", "t"]
    assert [each.operators for each in steps][:2] == [("conv2d", "relu"), ("max_pool", "add")]
    assert [each.macs for each in steps] == [36 * 4 * 2, 0, 0, 8, 0]
    assert {each.device for each in steps} == {"cpu"}
    assert all(each.seconds > 0 for each in steps)
    assert run.profile.seconds >= sum(each.seconds for each in steps)
    assert run.profile.cycles is None


def test_inputs_of_any_layout() -> None:
    given = image()
    whole = executor().run(given).outputs["f"]
    bytes_apart = np.empty(given["x"].nbytes + 1, np.uint8)[1:].view(np.float32)
    odd = bytes_apart.reshape(given["x"].shape)
    odd[...] = given["x"]
    for array in (np.asfortranarray(given["x"]), odd):
        np.testing.assert_array_equal(executor().run({**given, "x": array}).outputs["f"], whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"x": np.zeros((1, 2, 6, 7), np.float32)},
            r"input x of net is float32\[1, 2, 6, 6\], not",
        ),
        ({"x": np.zeros((1, 2, 6, 6))}, r"is float32\[1, 2, 6, 6\], not float64\[1, 2, 6, 6\]"),
        ({"s": np.zeros(2, ">i4")}, r"input s of net is int32\[2\], not >i4\[2\]"),
        ({"y": np.zeros(1)}, r"net has no input y; it takes x float32\[1, 2, 6, 6\], s int32\[2\]"),
    ],
)
def test_inputs_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        executor().run(image() | change)


def test_an_input_that_is_missing() -> None:
    with pytest.raises(InputError, match="input s of net is missing; it takes x"):
        executor().run({"x": image()["x"]})


def test_no_device() -> None:
    with pytest.raises(RunError, match="b needs the device cpu; there are: none"):
        Executor(compiled(), [])


def test_no_memory() -> None:
    artifact = compiled()
    manifest = replace(artifact.manifest, arena_bytes=1 << 60)
    huge = Artifact(manifest, artifact.code, artifact.constants)
    with pytest.raises(RunError, match=f"net needs {1 << 60} bytes, more than there is"):
        Executor(huge, [CpuDevice(1)])


class Doubling(Device):
    """A device that runs one kind of step."""

    name = "doubling"

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        assert [each.name for each in steps] == ["d"]

        def run(inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> None:
            (given,), (found,) = inputs, outputs
            found[...] = 2 * given.reshape(1, 4, 3, 2, 3, 2).max((3, 5))

        return [run]


def test_devices_beside_each_other() -> None:
    given, whole = image(), compiled()
    steps = tuple(
        replace(step, device="doubling") if step.name == "d" else step
        for step in whole.manifest.steps
    )
    shared = Artifact(replace(whole.manifest, steps=steps), whole.code, whole.constants)
    run = Executor(shared, [Doubling(), CpuDevice(1)]).run(given)
    np.testing.assert_allclose(run.outputs["f"], reference(given), rtol=1e-5)
    assert [each.device for each in run.profile.steps] == ["cpu", "doubling", "cpu", "cpu", "cpu"]
    assert run.profile.cycles is None


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_leaves_it_usable(threads: int) -> None:
    ready, given = executor(threads), image()
    whole = ready.run(given).outputs["f"]

    def interrupt(done: int, steps: int, name: str) -> None:
        assert steps == 5
        if name == "e":
            assert done == 2
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        ready.run(image(1), interrupt)
    np.testing.assert_array_equal(ready.run(given).outputs["f"], whole)


def test_runs_at_the_same_time() -> None:
    ready = executor(2)
    wanted = [ready.run(image(seed)).outputs["f"] for seed in range(4)]
    found: dict[tuple[int, int], NDArray[Any]] = {}

    def work(seed: int) -> None:
        for iteration in range(20):
            found[seed, iteration] = ready.run(image(seed)).outputs["f"]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 80
    for (seed, _), array in found.items():
        np.testing.assert_array_equal(array, wanted[seed])


def test_the_clock_is_the_callers() -> None:
    """Each step reads it when it begins and when it ends, and so does the run."""
    ticks = iter(range(1_000))
    ready = Executor(compiled(), [CpuDevice(1)], lambda: float(next(ticks)))
    profile = ready.run(image()).profile
    assert [step.seconds for step in profile.steps] == [1.0] * len(profile.steps)
    assert profile.seconds == 2 * len(profile.steps) + 1
