"""A model's convolutions as layers."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.compiler.errors import FrontendError
from tandem.scripts.cli import app
from tandem.workbench.utilization.conv_layers import FIRST, RESNET18
from tandem.workbench.utilization.models import layers_of


def shape(layer: object) -> tuple[object, ...]:
    names = ("height", "width", "inputs", "outputs", "kernel", "stride", "padding", "count")
    return tuple(getattr(layer, each) for each in names)


def test_resnet18_has_the_layers_of_the_table() -> None:
    layers, left = layers_of("resnet18")
    assert not left
    assert {shape(each) for each in layers} == {shape(each) for each in (FIRST, *RESNET18)}


def test_bottlenecks() -> None:
    layers, left = layers_of("resnet50")
    assert not left
    assert sum(each.count for each in layers) == 53
    assert len({each.name for each in layers}) == len(layers)


def test_a_model_or_layers() -> None:
    result = CliRunner().invoke(app, ["utilization", "digits", "--layer", "C8"])
    assert result.exit_code == 2
    assert "one or the other" in result.output


def test_what_is_no_convolution_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "none.onnx"
    with pytest.raises(FrontendError):
        layers_of(str(path))
