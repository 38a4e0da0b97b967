"""The benchmark of small steps, with few of them and one round."""

from __future__ import annotations

import pytest

import tandem

pytest.importorskip("onnxruntime", reason="the extra `bench` brings it")
bench = pytest.importorskip("tandem.scripts.bench.steps")


def test_the_report() -> None:
    found = [*bench.measure(20, rounds=1)]
    assert [each.target for each in found] == [None, None, 1.0, 0.05]
    assert found[2].value == pytest.approx(found[0].value / found[1].value)
    assert all(each.value > 0 for each in found)


def test_steps_are_not_fused() -> None:
    for model in (bench.softmaxes(7), bench.running_sums(7)):
        artifact = tandem.compile(model, tandem.Cpu(threads=1), quantize=None)
        assert len(artifact.network.artifact.manifest.steps) == 7


def test_it_takes_no_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["more"])
    assert "unrecognized arguments: more" in capsys.readouterr().err
