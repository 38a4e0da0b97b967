"""`tandem.published`: each figure has its conditions and its source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tandem
from tandem.workbench.published import figures


def test_each_row_has_a_source() -> None:
    table = tandem.published()
    assert len(table) >= 12
    for row in table:
        assert all(row[name] for name in table.names)
        assert str(row["url"]).startswith("https://")
    assert len({(row["system"], row["what"]) for row in table}) == len(table)


def test_the_file_has_nothing_else() -> None:
    rows = json.loads(Path(figures.__file__).with_name("figures.json").read_text())
    assert {tuple(row) for row in rows} == {tandem.published().names}


def test_the_figure_of_latency_hiding() -> None:
    shares = [row["value"] for row in tandem.published() if "latency hiding" in str(row["what"])]
    assert shares == [0.70, 0.88]


def test_the_systems() -> None:
    assert {str(row["system"]) for row in tandem.published()} == {
        "TVM with VDLA",
        "TVM with VTA",
        "Gemmini",
    }


def test_values_fit_their_units() -> None:
    """Shares lie between 0 and 1, cycles are whole numbers."""
    for row in tandem.published():
        value = row["value"]
        assert isinstance(value, float)
        match row["unit"]:
            case "of the multipliers' time":
                assert 0 < value < 1
            case "clock cycles":
                assert value > 1_000_000
                assert value.is_integer()
            case unit:
                pytest.fail(f"no such unit: {unit}")


def test_speedups_of_the_pipelined_gemm() -> None:
    """The table that the cycles come from gives their quotients, too."""
    cycles = {row["what"]: float(str(row["value"])) for row in tandem.published()}
    for network, speedup in (("ResNet-18", 3.58), ("ResNet-34", 3.65), ("ResNet-50", 3.10)):
        before, after = (
            cycles[f"{network} {how} the pipelined GEMM unit"] for how in ("before", "with")
        )
        assert before / after == pytest.approx(speedup, abs=0.005)


def test_cycles_and_utilisation_of_gemmini_fit() -> None:
    """Of 256 multipliers: the products of some four images through ResNet-50 (4.1 billion each)."""
    rows = {row["what"]: float(str(row["value"])) for row in tandem.published()}
    cycles = rows["ResNet-50, February 2021"]
    share = rows["utilisation of ResNet-50, February 2021"]
    assert share * 256 * cycles / 4.089e9 == pytest.approx(4, abs=0.2)
