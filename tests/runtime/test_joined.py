"""Several batches, one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import Input, Tensor
from tandem.runtime.devices import AcceleratorDevice, CpuDevice
from tandem.runtime.executor import Executor
from tandem.runtime.inputs.batches import batches_of
from tandem.runtime.joined import join_runs
from tandem.sim.engines import make_engine
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import both, image
from tests.support.compiler.plan.quantised_graphs import residual_net

X = Tensor("x", (2, 3), "float32", Input())


@pytest.mark.parametrize(
    ("shape", "count"), [((2, 3), 1), ((6, 3), 3), ((5, 3), 1), ((4, 4), 1), ((3,), 1), ((0, 3), 1)]
)
def test_whole_numbers_of_batches(shape: tuple[int, ...], count: int) -> None:
    given = {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape)}
    found = batches_of(given, [X])
    assert len(found) == count
    np.testing.assert_array_equal(np.concatenate([each["x"] for each in found]), given["x"])


def test_inputs_that_differ_in_number_stay() -> None:
    other = Tensor("y", (1,), "float32", Input())
    given = {"x": np.zeros((4, 3), np.float32), "y": np.zeros(3, np.float32)}
    assert batches_of(given, [X, other]) == [given]
    assert batches_of({"x": given["x"]}, [X, other]) == [{"x": given["x"]}]


@pytest.mark.parametrize("scalars", [np.float32(4), np.full(1, 4, np.float32)])
def test_a_scalar_alone_or_in_an_array(scalars: NDArray[np.float32]) -> None:
    given = {"x": np.ones((2, 3), np.float32), "s": np.asarray(scalars)}
    (found,) = batches_of(given, [X, Tensor("s", (), "float32", Input())])
    assert found["s"].shape == ()
    assert found["s"] == 4
    np.testing.assert_array_equal(found["x"], given["x"])


def test_scalars_of_several_batches() -> None:
    s = Tensor("s", (), "float32", Input())
    found = batches_of({"x": np.ones((4, 3)), "s": np.arange(2)}, [X, s])
    assert [int(each["s"]) for each in found] == [0, 1]
    square = {"s": np.ones((1, 1))}
    assert batches_of(square, [s]) == [square]


def test_runs_on_the_rtl() -> None:
    small = machine("small8")
    _, shared = both(residual_net(), small)
    engine = make_engine("rtl", small, parse_memory("fast"))
    executor = Executor(shared, [AcceleratorDevice(engine), CpuDevice(1)])
    x = image((3, 3, 16, 16))
    runs = [
        executor.run(batch, None, ["out_acc_bytes"])
        for batch in batches_of({"x": x}, executor.inputs)
    ]
    joined = join_runs(runs)
    np.testing.assert_array_equal(
        joined.outputs["out"], np.concatenate([r.outputs["out"] for r in runs])
    )
    assert joined.watched["out_acc_bytes"].shape[0] == 3
    assert joined.profile.cycles == sum(each.profile.cycles or 0 for each in runs)
    (stream,) = joined.profile.streams
    assert sum(each.cycles or 0 for each in stream.layers) == joined.profile.cycles
    (alone,) = runs[0].profile.streams
    for one, combined in zip(alone.layers, stream.layers, strict=True):
        assert combined.layer.macs == 3 * one.layer.macs
        assert combined.loaded == 3 * one.loaded
        assert combined.cycles == sum(combined.causes.values())
    assert join_runs(runs[:1]) is runs[0]
