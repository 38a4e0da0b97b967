"""Models by name and by file, and what is recorded of how they were read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from onnx import TensorProto, helper

from tandem.compiler.models import BUILT_IN
from tandem.compiler.quantise.weight_kinds import WeightKind
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule
from tandem.compiler.requantisation import ANY_FACTORS
from tandem.hw.config_files import load_config
from tandem.workbench.errors import ModelError
from tandem.workbench.models import (
    ModelOptions,
    as_text,
    asking,
    compile_model,
    model_digest,
    model_file,
    model_inputs,
    network_digest,
    read_named,
    weights_recorded,
    with_fallback,
)
from tests.support.runtime.plain_artifacts import plain_artifact, plain_step, plain_stream


def write_model(path: Path, constant: float = 1.0) -> None:
    value = helper.make_tensor("c", TensorProto.FLOAT, [1], [constant])
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "c"], ["y"])], "net", infos[:1], infos[1:], [value]
    )
    opsets = [helper.make_opsetid("", 17)]
    path.write_bytes(
        helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    )


INT4, INT8 = WeightKind.INT4, WeightKind.INT8


@pytest.mark.parametrize(
    ("weights", "wanted"),
    [
        (INT8_WEIGHTS, {}),
        (
            WeightOptions(INT4, 64, 2.5, True, True),
            {
                "weights": "int4",
                "weight_group": 64,
                "calibrated_rounding": True,
                "max_loss": 2.5,
                "smooth": True,
            },
        ),
        (WeightOptions(smooth=True), {"weights": "int8", "smooth": True}),
        (WeightOptions(INT8, max_loss=0.0), {"weights": "int8", "max_loss": 0.0}),
        (
            WeightOptions(INT8, rules=(WeightRule("a", INT4, 16), WeightRule("b", INT8))),
            {
                "weights": "int8",
                "weights_of": "a=int4/16, b=int8",
                "weight_group": 32,
                "calibrated_rounding": False,
            },
        ),
    ],
)
def test_weights_that_are_recorded(weights: WeightOptions, wanted: Mapping[str, object]) -> None:
    assert weights_recorded(weights) == wanted


def test_files_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A text with a suffix, or of a file, is one; whether it is there is another's to say.
    assert model_file("missing.onnx") == Path("missing.onnx")
    Path("plain").write_bytes(b"")
    assert model_file("plain") == Path("plain")
    with pytest.raises(
        ModelError, match=r"^'resnet' is neither a model that is built in \(.*digits"
    ):
        model_file("resnet")


def test_digests(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    write_model(path)
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    assert model_digest(str(path)) == content
    assert model_digest("digits") == "digits"
    read = read_named(str(path), 3)
    assert (read.name, read.digest, read.seed) == ("a.onnx", content, 3)
    built_in = read_named("digits", 3)
    assert (built_in.name, built_in.digest, built_in.seed) == ("digits", None, 3)


def test_digests_of_networks(tmp_path: Path) -> None:
    path, other, samples = tmp_path / "a.onnx", tmp_path / "b.onnx", tmp_path / "samples"
    write_model(path)
    write_model(other, 2.0)
    samples.mkdir()
    np.save(samples / "x.npy", np.zeros(1))
    options = ModelOptions()
    calibrated = replace(options, calibrate=samples)

    def digest(model: Path | str, given: ModelOptions = options) -> str:
        return network_digest(str(model), given)

    first = digest(path, calibrated)
    found = {
        *(digest("digits"), digest(path), digest(other), first),
        digest(path, replace(options, seed=1)),
        digest(path, replace(options, calibrate=samples / "x.npy", seed=2)),
        digest("digits", calibrated),
    }
    assert len(found) == 7
    # A file is known by its content, and a folder by its files.
    copied = tmp_path / "copied"
    copied.mkdir()
    (copied / "x.npy").write_bytes((samples / "x.npy").read_bytes())
    assert digest(path, replace(options, calibrate=copied)) == first
    assert digest(path, replace(options, calibrate=copied / "x.npy")) == first
    np.save(samples / "x.npy", np.ones(1))
    assert digest(path, calibrated) != first
    np.save(samples / "x.npy", np.zeros(1))
    assert digest(path, calibrated) == first
    np.save(samples / "y.npy", np.zeros(1))
    assert digest(path, calibrated) != first
    assert digest(path, replace(options, calibrate=tmp_path / "missing")) == digest(path)


def test_files_that_a_model_is_read_from(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    write_model(path)
    assert [*model_inputs(None)] == [*model_inputs("digits")] == []
    assert [*model_inputs(str(path))] == [path]
    assert "digits" in BUILT_IN


def test_paths_as_text() -> None:
    assert as_text("a/é") == as_text(Path("a/é")) == "a/é"
    assert as_text("a\udcff") == "a\\xff"


class Device:
    """A device of two targets, of which one asks something of integers."""

    def __init__(self) -> None:
        self.own, self.host = (type("Target", (), {})() for _ in range(2))
        self.own.short_factors, self.host.short_factors = "few", ANY_FACTORS
        self.built: list[object] = []

    def targets(self) -> tuple[Any, ...]:
        return self.own, self.host

    def build(self, prepared: Any, report: object) -> Any:
        return prepared.artifact


class Prepared:
    """A network whose code for the processor alone is known."""

    def __init__(self, artifact: Any) -> None:
        self.artifact = artifact
        self.asked: list[tuple[object, bool]] = []

    def build(self, targets: object, report: object, *, fallback: bool) -> Any:
        self.asked.append((targets, fallback))
        return plain_artifact([], [])


def test_targets_that_ask_something_of_integers() -> None:
    device = Device()
    assert asking(cast(Any, device)) == (device.own,)


def test_code_for_the_processor_alone() -> None:
    device = Device()
    stream = plain_stream("s", load_config("tiny"), b"")
    steps = [plain_step("s", device="accelerator")]
    accelerated = plain_artifact([], steps, streams={"s": stream})
    prepared = Prepared(accelerated)
    made = compile_model(cast(Any, prepared), cast(Any, device), None)
    assert made.manifest == accelerated.manifest
    assert made.fallback is not None
    assert prepared.asked == [(device.targets(), True)]
    # One that has it, or needs none, is left as it is.
    for whole in (made, plain_artifact([], [])):
        prepared = Prepared(whole)
        assert with_fallback(whole, cast(Any, prepared), cast(Any, device), None) is whole
        assert prepared.asked == []
