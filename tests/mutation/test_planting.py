"""A planted design is the original at number 0, and at any other number differs by one fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.rtl.design import verilog_of
from tests.mutation.equivalence import is_equivalent
from tests.mutation.mutants import Mutant, list_mutants
from tests.mutation.planting import NUMBER_VARIABLE, plant
from tests.mutation.yosys import YosysError, netlist, run_yosys

MODULE = "tandem_token_counter"


@pytest.fixture(scope="module")
def design() -> VerilogDesign:
    """A design of one module."""
    whole = verilog_of(load_config("tiny"))
    return VerilogDesign(MODULE, {f"{MODULE}.v": whole.files[f"{MODULE}.v"]}, (MODULE,))


@pytest.fixture(scope="module")
def mutants(design: VerilogDesign) -> tuple[Mutant, ...]:
    return list_mutants(design, [MODULE], 5, 1)


def with_number(planted: VerilogDesign, number: int) -> VerilogDesign:
    """The planted design as it is when the environment gives `number`; Yosys knows no `$c`."""
    text = planted.files[f"{MODULE}.v"]
    before, _, rest = text.partition("  initial tandem_mutant =")
    assert NUMBER_VARIABLE in rest
    fixed = f"{before}  always @* tandem_mutant = {number};{rest.partition(';')[2]}"
    return replace(planted, files={f"{MODULE}.v": fixed})


def equal(first: VerilogDesign, second: VerilogDesign) -> bool:
    """Whether Yosys proves that the two modules have the same outputs."""
    files = {"first.v": first.files[f"{MODULE}.v"], "second.v": second.files[f"{MODULE}.v"]}
    commands = [
        *("read_verilog first.v", f"rename {MODULE} first"),
        *("read_verilog second.v", f"rename {MODULE} second"),
        *("proc", "opt_expr", "opt_clean", "equiv_make first second both", "cd both"),
        *("equiv_simple -undef", "equiv_induct -undef", "equiv_status -assert"),
    ]
    try:
        run_yosys(tuple(commands), files)
    except YosysError as error:
        if "unproven" not in str(error):
            raise
        return False
    return True


def test_number_0_is_the_original(design: VerilogDesign, mutants: tuple[Mutant, ...]) -> None:
    assert equal(design, with_number(plant(design, mutants), 0))


@pytest.mark.parametrize("count", [2, pytest.param(None, marks=pytest.mark.exhaustive)])
def test_every_number_is_its_mutant_alone(
    design: VerilogDesign, mutants: tuple[Mutant, ...], count: int | None
) -> None:
    planted = plant(design, mutants)
    for number, mutant in enumerate(mutants[:count], start=1):
        commands = (*netlist(design), f"mutate {mutant.options}", f"write_verilog {MODULE}_m.v")
        alone = run_yosys(commands, design.files)[f"{MODULE}_m.v"]
        one = replace(design, files={f"{MODULE}.v": alone})
        assert equal(one, with_number(planted, number)), mutant.name
        assert equal(design, one) == is_equivalent(design, mutant), mutant.name


def test_a_module_that_is_not_there(design: VerilogDesign, mutants: tuple[Mutant, ...]) -> None:
    stray = replace(mutants[0], module="tandem_cache")
    with pytest.raises(ValueError, match=r": the design has no module tandem_cache$"):
        plant(design, [stray])


def test_a_cell_that_is_not_there(design: VerilogDesign, mutants: tuple[Mutant, ...]) -> None:
    stray = replace(mutants[0], cell="none")
    with pytest.raises(YosysError, match="none not found in module"):
        plant(design, [stray])
