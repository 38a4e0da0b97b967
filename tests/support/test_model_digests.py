"""The cases of a folder of ONNX files: their names, refusals, and that they notice a change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tandem.hw.config_files import preset_names
from tests.support.compiler.frontends.onnx_models import model
from tests.support.digests import main, selected
from tests.support.model_digests import model_cases


def _save(path: Path, operator: str = "Relu", scale: float = 1.0) -> None:
    """Write a network of a convolution and an operator."""
    weights = np.random.default_rng(0).standard_normal((4, 3, 1, 1)).astype(np.float32)
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w"], ["c"]),
        onnx.helper.make_node(operator, ["c"], ["y"]),
    ]
    onnx.save(model(nodes, {"x": ["N", 3, 4, 4]}, ["y"], {"w": scale * weights}), path)


def test_names_of_cases(tmp_path: Path) -> None:
    for name in ("second", "first"):
        _save(tmp_path / f"{name}.onnx")
    ways = (*preset_names(), "fallback", "cpu")
    assert {"pynq", "pynq-x"} <= {*ways}
    names = [case.name for case in model_cases(tmp_path)]
    assert names == [f"models/{name}/{way}" for name in ("first", "second") for way in ways]
    chosen = selected(["models/second/cpu", "random/1"], tmp_path)
    assert [case.name for case in chosen] == ["models/second/cpu", "random/1"]


def test_a_folder_without_models_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="has no ONNX files"):
        list(model_cases(tmp_path))


def test_a_refusal_is_a_digest(tmp_path: Path) -> None:
    _save(tmp_path / "refused.onnx", "Unknown")
    case, *_ = model_cases(tmp_path)
    (found,) = case.digests().items()
    reason = "UnsupportedError operators that are not supported: Unknown of opset 17 (node y)"
    assert found == ("refused", reason)


def test_a_change_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "network.onnx"
    _save(path)
    (case,) = selected(["models/network/tiny-x"], tmp_path)
    found = case.digests()
    assert {"steps", "output", "program", "image", "cycles"} <= {*found}
    assert int(found["cycles"]) > 0
    ways = [part for way in ("tiny-x", "cpu") for part in ("--only", f"models/network/{way}")]
    options = [str(tmp_path / "digests.json"), "--models", str(tmp_path), *ways]
    assert main(["record", *options]) == 0
    assert main(["compare", *options]) == 0
    _save(path, scale=-1.0)
    capsys.readouterr()
    assert main(["compare", *options]) == 1
    *verdicts, total = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()[:-2]) for line in verdicts] == [
        "models/network/tiny-x DIFFERENT: output, image",
        "models/network/cpu DIFFERENT: output",
    ]
    assert total == "0 of 2 cases equal"
