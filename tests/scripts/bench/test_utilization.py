"""The benchmark of utilisation runs, prints its table, and says what is missed."""

from __future__ import annotations

import pytest

from tandem.scripts.bench import utilization
from tandem.scripts.bench.measurements import print_measurements
from tandem.workbench.utilization import ConvLayer, Row, Times
from tandem.workbench.utilization.rows import Traffic


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    rows = utilization.run("tiny", [ConvLayer("a", 8, 8, 8, 8, 1, 1, 0, count=2)])
    assert "\na      8x8 8->8 1x1      2" in capsys.readouterr().out
    cycles, best, hidden = utilization.figures(rows)
    times = rows[0].times
    assert times.cycles_with is not None
    assert times.cycles_without is not None
    assert times.utilization_with is not None
    assert cycles.value == 2 * times.cycles_with
    assert best.value == pytest.approx(100 * times.utilization_with)
    assert hidden.value == times.cycles_without - times.cycles_with


@pytest.mark.parametrize(
    ("without", "hiding", "missed"),
    [
        (1_900_000, 1_800_000, []),
        (7_500_000, 7_400_001, ["cycles of all layers", "best layer's utilisation"]),
        (1_800_000, 1_800_000, ["hidden in a"]),
        (2_100_000, 2_000_000, ["best layer's utilisation"]),
    ],
)
def test_targets(without: int, hiding: int, missed: list[str]) -> None:
    layer = ConvLayer("a", 56, 56, 256, 64, 3, 1, 1)
    nothing = Traffic(0, 0)
    rows = [Row(layer, Times("a", 1, layer.macs, 256, without, hiding), nothing, nothing)]
    figures = list(utilization.figures(rows))
    assert [figure.name for figure in figures if not figure.met] == missed
    assert print_measurements(figures) == bool(missed)
