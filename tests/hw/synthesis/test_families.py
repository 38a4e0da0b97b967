"""The tables of cells."""

from __future__ import annotations

import pytest

from tandem.hw.synthesis.families import CELLS, MEMORY_CELLS, Family


@pytest.mark.parametrize("family", Family)
def test_costs_make_sense(family: Family) -> None:
    assert MEMORY_CELLS[family].items() <= CELLS[family].items()
    for cell, cost in CELLS[family].items():
        assert cost.lutram <= cost.lut, cell
    for cell, cost in MEMORY_CELLS[family].items():
        assert (cost.lutram > 0) != (cost.bram > 0), cell
        assert cost.ff == cost.dsp == 0, cell


@pytest.mark.parametrize("name", ["spartan", "XC7", ""])
def test_an_unknown_family(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is not a valid Family"):
        Family(name)
