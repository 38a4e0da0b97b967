"""Compiled networks: what they are compiled for, and code for the processor alone."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.executor import Run
from tandem.runtime.profile import Profile
from tandem.workbench.devices import Accelerator, Cpu
from tandem.workbench.errors import FallbackError
from tandem.workbench.networks import Arrays, Network
from tests.support.runtime.plain_artifacts import plain_artifact

ALONE = plain_artifact([], [], provenance=Provenance("net.onnx"))
DEVICE = Accelerator(load_config("tiny"), parse_memory("fast"))


class Prepared:
    """A network that was not compiled; builds are noted."""

    def __init__(self, real: object = None) -> None:
        self.real = real
        self.asked: list[tuple[Any, bool]] = []

    def build(self, targets: Any, report: object = None, *, fallback: bool = False) -> Artifact:
        self.asked.append((targets, fallback))
        return ALONE


def test_what_a_network_is_for() -> None:
    assert Network(ALONE).model == "net.onnx"
    assert Network(ALONE).accelerator is None
    assert Network(ALONE, device=Cpu()).accelerator is None
    assert Network(ALONE, device=DEVICE).accelerator is DEVICE
    assert Network(ALONE).tuned is None
    assert Network(ALONE, cast(Any, Prepared()), DEVICE).tuned is None


def test_code_for_the_processor_alone() -> None:
    with pytest.raises(FallbackError, match=r"^the artifact of net\.onnx has no code for the CPU"):
        Network(ALONE).on_cpu(None)
    whole = plain_artifact([], [], fallback=ALONE)
    assert Network(whole).on_cpu(None) is ALONE
    prepared = Prepared()
    assert Network(whole, cast(Any, prepared), DEVICE).on_cpu(None) is ALONE
    ((targets, fallback),) = prepared.asked
    assert fallback
    assert [target.name for target in targets] == [target.name for target in DEVICE.targets()]


def test_the_ratio_of_signal_and_noise_needs_the_real_network() -> None:
    class Real:
        """The network in real numbers, if it was not quantised before."""

        states_scales = True

        def run(self, batch: Arrays) -> dict[str, Any]:
            return {"y": 10 * batch["x"]}

    run = Run({"y": np.array([11.0], np.float32)}, Profile((), 0.0), {})
    batches, runs = [{"x": np.ones(1, np.float32)}], [run]
    assert Network(ALONE).sqnr(batches, runs) is None
    assert Network(ALONE, cast(Any, Prepared())).sqnr(batches, runs) is None
    real = Network(ALONE, cast(Any, Prepared(Real())))
    assert real.sqnr(batches, runs) is None
    Real.states_scales = False
    # A signal of 100, and an error of 1.
    found = real.sqnr(batches, runs)
    assert found is not None
    assert found["y"] == pytest.approx(20.0)
