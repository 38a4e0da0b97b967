"""The benchmark of small networks, with one round."""

from __future__ import annotations

import pytest

pytest.importorskip("onnxruntime", reason="the extra `bench` brings it")
bench = pytest.importorskip("tandem.scripts.bench.small_networks")


@pytest.mark.parametrize("int8", [False, True])
def test_the_report(int8: bool) -> None:
    found = [*bench.measure(["autoencoder", "DS-CNN"], int8, rounds=1)]
    targets = bench.INT8 if int8 else bench.FLOAT32
    assert [each.target for each in found] == [None, None, targets.most] * 2 + [targets.mean]
    ratios = [each.value for each in found if each.target == targets.most]
    assert min(ratios) <= found[-1].value <= max(ratios)
    assert all(each.value > 0 for each in found)


def test_a_recurrent_network_has_a_target_of_its_own() -> None:
    found = [*bench.measure(["GRU"], rounds=1)]
    assert found[2].target == 2.0


def test_networks_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["ResNet", "AlexNet"])
    assert "no network AlexNet: there are ResNet" in capsys.readouterr().err
