"""The accelerator as a device, and what it tells of a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import Artifact
from tandem.runtime.devices import AcceleratorDevice, CpuDevice
from tandem.runtime.errors import RunError
from tandem.runtime.executor import Executor
from tandem.sim.engines import make_engine
from tandem.sim.why.causes import Cause
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import both, image, run_on
from tests.support.compiler.plan.quantised_graphs import residual_net

SMALL = machine("small8")


@pytest.fixture(scope="module")
def shared() -> Artifact:
    _, found = both(residual_net(), SMALL)
    return found


def test_layers_sum_to_the_whole(shared: Artifact) -> None:
    run = run_on(shared, "rtl", image((1, 3, 16, 16)))
    (stream,) = run.profile.streams
    assert stream.result.cycles == run.profile.cycles
    assert sum(layer.cycles or 0 for layer in stream.layers) == stream.result.cycles
    assert [profile.layer.name for profile in stream.layers][:2] == ["c1", "pool"]
    for layer in stream.layers:
        assert layer.cycles == sum(layer.causes.values())
        assert min(layer.causes.values()) >= 0
        assert (layer.utilization is None) == (layer.layer.macs == 0)
        assert (layer.causes[Cause.GEMM] > 0) == (layer.layer.macs > 0)
        assert layer.loaded > 0
        assert layer.stored > 0
    work = stream.result.work
    assert sum(layer.stored for layer in stream.layers) == work.stored
    assert sum(layer.loaded for layer in stream.layers) == sum(work.loaded.values())


def test_an_engine_without_time(shared: Artifact) -> None:
    run = run_on(shared, "functional", image((1, 3, 16, 16)))
    assert run.profile.cycles is None
    (told,) = run.profile.streams
    assert all(each.cycles is None and not each.causes for each in told.layers)


def test_runs_do_not_see_each_other(shared: Artifact) -> None:
    engine = make_engine("functional", SMALL, parse_memory("fast"))
    executor = Executor(shared, [AcceleratorDevice(engine), CpuDevice(1)])
    first, second = (image((1, 3, 16, 16), seed) for seed in (1, 2))
    wanted = executor.run({"x": first}).outputs["out"]
    executor.run({"x": second})
    np.testing.assert_array_equal(executor.run({"x": first}).outputs["out"], wanted)


def test_another_machine_is_refused(shared: Artifact) -> None:
    other = make_engine("functional", machine("tiny"), parse_memory("fast"))
    with pytest.raises(RunError, match=r"^net was compiled for small8, and this is tiny: it has l"):
        Executor(shared, [AcceleratorDevice(other), CpuDevice(1)])
    renamed = replace(SMALL, name="another")
    Executor(
        shared,
        [AcceleratorDevice(make_engine("functional", renamed, parse_memory("fast"))), CpuDevice(1)],
    )


def test_without_an_accelerator(shared: Artifact) -> None:
    with pytest.raises(RunError, match="out_acc_bytes needs the device accelerator; "):
        Executor(shared, [CpuDevice(1)])
