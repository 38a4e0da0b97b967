"""Yosys's proposals, as values."""

from __future__ import annotations

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.rtl.design import verilog_of
from tests.mutation.mutants import Mutant, list_mutants, shares

LINE = (
    r"mutate -mode cnot1 -module tandem_mac -cell $memrd$\array$tandem_mac.v:34$1061 -port B "
    "-portbit 6 -ctrlbit 5 -wire product -wirebit 7 -src tandem_mac.v:10.1-10.9 "
    "-src tandem_mac.v:34.17-34.28"
)


@pytest.fixture(scope="module")
def design() -> VerilogDesign:
    return verilog_of(load_config("tiny"))


def test_a_line_of_yosys() -> None:
    mutant = Mutant.parse(LINE)
    assert (mutant.bit, mutant.control) == (6, 5)
    assert mutant.name == "tandem_mac.v:34.17-34.28 B[6] cnot1 by [5] (product[7])"
    assert mutant.options == LINE[len("mutate ") : LINE.index(" -wire")]


def test_a_line_without_a_second_bit_or_a_wire() -> None:
    mutant = Mutant.parse("mutate -mode inv -module m -cell c -port Y -portbit 0 -wire _1_")
    assert mutant.control is None
    assert mutant.name == "m.v Y[0] inv"
    assert mutant.options == "-mode inv -module m -cell c -port Y -portbit 0"


def test_every_module_has_a_share(design: VerilogDesign) -> None:
    quotas = shares(design, design.modules, 150)
    assert quotas.keys() == set(design.modules)
    assert min(quotas.values()) >= 1
    assert abs(sum(quotas.values()) - 150) <= len(quotas)
    assert set(shares(design, design.modules, 0).values()) == {1}


def test_every_module_has_a_mutant(design: VerilogDesign) -> None:
    found = list_mutants(design, design.modules, 0, 1)
    assert [mutant.module for mutant in found] == list(design.modules)


@pytest.mark.exhaustive
def test_same_seed_same_mutants(design: VerilogDesign) -> None:
    modules = ("tandem_mac", "tandem_gate", "tandem_queue_9x4")
    first, again, other = (list_mutants(design, modules, 30, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert {mutant.module for mutant in first} == set(modules)
    assert len(set(first)) == len(first) >= 25


def test_no_mutant_stops_a_clock(design: VerilogDesign) -> None:
    found = list_mutants(design, ["tandem_token_counter"], 500, 1)
    assert len(found) > 100
    assert not [mutant for mutant in found if mutant.port in ("CLK", "clk")]


def test_a_module_that_is_not_there(design: VerilogDesign) -> None:
    with pytest.raises(ValueError, match=r"^the design has no module tandem_cache: tandem, "):
        list_mutants(design, ["tandem_cache"], 10, 1)
