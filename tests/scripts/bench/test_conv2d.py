"""The convolutions' benchmark: its shapes, and one race, whose results it compares itself."""

from __future__ import annotations

import pytest

from tandem.compiler.machines.cpu.codegen import CpuTarget

pytest.importorskip("onnxruntime", reason="the extra `bench` brings it")
conv2d = pytest.importorskip("tandem.scripts.bench.conv2d")


def test_shapes_are_those_of_the_network() -> None:
    """1.8 billion multiplications and additions, says its paper, and most shapes come again."""
    times = (1, 4, 1, 3, 1, 3, 1, 3, 1, 1, 1)
    total = sum(each.operations * count for each, count in zip(conv2d.RESNET18, times, strict=True))
    assert total == pytest.approx(2 * 1.81e9, rel=0.01)
    first = conv2d.RESNET18[0]
    assert first.result == (1, 64, 112, 112)
    assert str(first) == "7x7/2 3->64 @224"


def test_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv2d, "ROUNDS", 1)
    monkeypatch.setattr(conv2d, "CALLS", 1)
    monkeypatch.setattr(conv2d, "RESNET18", (conv2d.Convolution(16, 32, 14, 3, 1),))

    figures = list(conv2d.measure(CpuTarget.host(1)))

    assert [figure.target for figure in figures] == [None, conv2d.LEAST] * 2 + [1.0]
    assert all(figure.value > 0 for figure in figures)
