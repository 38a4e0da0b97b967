"""Models that leave shapes open, with what is stated of them: float32 as ONNX Runtime computes it,
int8 on accelerators as on the CPU."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.driver.compile_onnx import CompileOptions, PreparedNetwork, prepare_network
from compiler.quantise.options import Mode
from hw.config_files import load_config, preset_names
from hw.memory_model import parse_memory
from runtime.artifact import Provenance
from runtime.devices import AcceleratorDevice, CpuDevice
from runtime.executor import Executor
from scripts.run.comparison import boundaries, compare, defined_elements
from scripts.shapes import import_with_shapes
from sim.engines import make_engine
from tests.support.offloaded import HOST, targets
from tests.support.open_models import OpenModel, open_models

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.onnx_runs import rival_outputs


def prepared(case: OpenModel, mode: Mode | None) -> PreparedNetwork:
    imported = import_with_shapes(case.model, case.stated, case.feeds, None)
    assert not imported.bound.keys() - {"rate", "flag"}
    return prepare_network(imported, Provenance("open"), CompileOptions(quantise=mode))


def check(case: OpenModel, mode: Mode, presets: Iterable[str]) -> None:
    (wanted,) = rival_outputs(case.twin, case.feeds)
    real = prepared(case, None)
    feeds = {name: case.feeds[name] for name in real.imported.inputs}
    (found,) = Executor(real.build([HOST]), [CpuDevice(1)]).run(feeds).outputs.values()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5 * max(1, float(np.abs(wanted).max())))
    network = prepared(case, mode)
    for preset in presets:
        machines = targets(load_config(preset))
        artifact = network.build(machines)
        host = Executor(network.build(machines, fallback=True), [CpuDevice(1)])
        engine = make_engine("functional", load_config(preset), parse_memory("fast"))
        try:
            executor = Executor(artifact, [AcceleratorDevice(engine), CpuDevice(1)])
            watch = boundaries(artifact)
            run, reference = (each.run(feeds, watch=watch) for each in (executor, host))
        finally:
            engine.close()
        compared = compare(run, reference, defined_elements(artifact))
        assert compared.equal, f"{preset}: {compared.first}"


MODES = st.sampled_from([Mode.MULTIPLIER, Mode.POW2])


@settings(max_examples=6)
@given(open_models(), MODES, st.sampled_from(sorted(preset_names())))
def test_open_shapes(case: OpenModel, mode: Mode, preset: str) -> None:
    check(case, mode, [preset])


@pytest.mark.exhaustive
@settings(max_examples=100)
@given(open_models(), MODES)
def test_open_shapes_on_every_preset(case: OpenModel, mode: Mode) -> None:
    check(case, mode, sorted(preset_names()))
