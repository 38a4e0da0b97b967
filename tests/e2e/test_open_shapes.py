"""Models that leave shapes open, with what is stated of them: float32 as ONNX Runtime computes it,
int8 on accelerators as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.driver.compile_onnx import PreparedNetwork, prepare_network
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import load_config, preset_names
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import AcceleratorDevice, CpuDevice
from tandem.runtime.executor import Executor
from tandem.sim.engines import make_engine
from tandem.workbench.device_comparison import boundaries, compare
from tandem.workbench.shapes import import_with_shapes
from tests.e2e.open_models import OpenModel, open_models
from tests.support.compiler.plan.offloaded import HOST, targets

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.onnx_runs import rival_outputs


def prepared(case: OpenModel, mode: Mode | None) -> PreparedNetwork:
    imported = import_with_shapes(case.model, case.stated, case.feeds, None)
    assert not imported.bound.keys() - {"rate", "flag"}
    return prepare_network(imported, Provenance("open"), compile_options(quantise=mode))


def check_real(case: OpenModel) -> None:
    """Compare float32 with ONNX Runtime."""
    (wanted,) = rival_outputs(case.twin, case.feeds)
    real = prepared(case, None)
    feeds = {name: case.feeds[name] for name in real.imported.inputs}
    (found,) = Executor(real.build([HOST]), [CpuDevice(1)]).run(feeds).outputs.values()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5 * max(1, float(np.abs(wanted).max())))


def check_quantised(case: OpenModel, mode: Mode, preset: str) -> None:
    """Compare what the accelerator and the CPU give at every boundary."""
    network = prepared(case, mode)
    machines = targets(load_config(preset))
    artifact = network.build(machines)
    host = Executor(network.build(machines, fallback=True), [CpuDevice(1)])
    engine = make_engine("functional", load_config(preset), parse_memory("fast"))
    feeds = {name: case.feeds[name] for name in network.imported.inputs}
    try:
        executor = Executor(artifact, [AcceleratorDevice(engine), CpuDevice(1)])
        watch = boundaries(artifact)
        run, reference = (each.run(feeds, watch=watch) for each in (executor, host))
    finally:
        engine.close()
    compared = compare(run, reference, artifact)
    assert compared.equal, compared.first


MODES = st.sampled_from([Mode.MULTIPLIER, Mode.POW2])
PRESETS = sorted(preset_names())


@settings(max_examples=5)
@given(open_models(), MODES, st.sampled_from(PRESETS))
def test_open_shapes(case: OpenModel, mode: Mode, preset: str) -> None:
    check_real(case)
    check_quantised(case, mode, preset)


@pytest.mark.exhaustive
@settings(max_examples=100)
@given(open_models())
def test_many_open_shapes_in_float32(case: OpenModel) -> None:
    check_real(case)


@pytest.mark.exhaustive
@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=100)
@given(open_models(), MODES)
def test_many_open_shapes(preset: str, case: OpenModel, mode: Mode) -> None:
    check_quantised(case, mode, preset)
