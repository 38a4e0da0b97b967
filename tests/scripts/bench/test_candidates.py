from __future__ import annotations

import pytest

from tandem.scripts.bench.candidates import LAYERS, Speed, main
from tandem.workbench.utilization.conv_layers import parse_layer


def test_choices_of_a_layer_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    layer = ["--layer", "a=4,4,16,8,1,1,0", "--config", "small8"]
    assert main([*layer, "--choices", "3", "--jobs", "1"]) == 0
    *_, row, total = capsys.readouterr().out.splitlines()
    assert row.split()[:3] == ["a", "3", "0"]
    assert total.split()[:5] == ["all,", "target", "25", "3", "0"]
    assert float(row.split()[-1]) > 0


def test_rates() -> None:
    assert Speed(50, 0, 2.0).rate == 25.0


def test_the_layers_are_known() -> None:
    assert [parse_layer(name).name for name in LAYERS] == [*LAYERS]
