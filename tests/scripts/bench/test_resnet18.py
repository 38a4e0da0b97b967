"""The network's benchmark, with a network that is quick."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from onnx import ModelProto

from tests.support.compiler.models.models import convolution

pytest.importorskip("onnxruntime", reason="the extra `bench` brings it")
resnet18 = pytest.importorskip("tandem.scripts.bench.resnet18")


def test_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resnet18, "ROUNDS", 1)
    model = ModelProto.FromString(convolution(tmp_path / "net.onnx").read_bytes())
    figures = [*resnet18.measure(model)]
    targets = [resnet18.MOST_SECONDS, resnet18.MOST_MEBIBYTES]
    for most in resnet18.MOST.values():
        targets += [None, None, most]
    assert [each.target for each in figures] == targets
    assert all(each.at_most for each in figures if each.target is not None)
    assert all(each.value > 0 for each in figures)


def test_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(resnet18, "ROUNDS", 1)
    model = ModelProto.FromString(convolution(tmp_path / "net.onnx").read_bytes())
    monkeypatch.setattr(resnet18, "built_in", lambda _: model)
    for threads in (1, 2):
        assert resnet18.main(["--json", "--threads", str(threads)]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found.pop("threads") == threads
        assert set(found) == {"float32", "int8"}
        for race in found.values():
            assert race["ratio"] == race["seconds"] / race["rival_seconds"] > 0


@pytest.mark.parametrize("wrong", [["--jsn"], ["--threads", "0"], ["--threads", "two"]])
def test_refuses(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        resnet18.main(wrong)
    assert stopped.value.code == 2
