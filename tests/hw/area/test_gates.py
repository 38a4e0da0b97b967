"""Gate equivalents of Yosys's cells."""

from __future__ import annotations

import pytest

from tandem.hw.area.gates import gate_area
from tandem.hw.synthesis.errors import SynthesisError


def test_gates_in_nand2() -> None:
    assert gate_area("$_NAND_") == 1
    assert gate_area("$_NOT_") == pytest.approx(2 / 3)
    assert gate_area("$_XOR_") == pytest.approx(2)
    assert gate_area("$mem_v2") == 0


def test_flip_flops_with_enable_and_reset_are_larger() -> None:
    plain = gate_area("$_DFF_P_")
    enable = gate_area("$_DFFE_PP_") - plain
    reset = gate_area("$_SDFF_PP0_") - plain
    assert plain == pytest.approx(17 / 3)
    assert enable == pytest.approx(gate_area("$_MUX_"))
    assert reset == pytest.approx(gate_area("$_AND_"))
    for both in ("$_SDFFE_PP0P_", "$_SDFFCE_PN1P_"):
        assert gate_area(both) == pytest.approx(plain + enable + reset)


@pytest.mark.parametrize("cell", ["$add", "$_DLATCH_P_", "LUT4"])
def test_unknown_cells_are_refused(cell: str) -> None:
    with pytest.raises(SynthesisError, match="whose area is not known"):
        gate_area(cell)
