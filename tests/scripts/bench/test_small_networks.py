"""The benchmark of small networks, with one round."""

from __future__ import annotations

import pytest

pytest.importorskip("onnxruntime", reason="the extra `bench` brings it")
bench = pytest.importorskip("tandem.scripts.bench.small_networks")


def test_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "ROUNDS", 1)
    found = [*bench.measure(["dqn-tiny", "digits"])]
    assert [each.target for each in found] == [None, None, bench.MOST] * 2 + [bench.MEAN]
    ratios = [each.value for each in found if each.target == bench.MOST]
    assert min(ratios) <= found[-1].value <= max(ratios)
    assert all(each.value > 0 for each in found)
