"""The benchmark of the RTL builds a simulator of its own, and runs it."""

from __future__ import annotations

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.errors import ProgramError
from tandem.scripts.bench import rtl


@pytest.mark.exhaustive
def test_it_reports_the_build_and_the_run() -> None:
    build, run = rtl.measure(load_config("tiny"), size=16)
    # No cache has it: Verilator and the compiler were at work.
    assert (build.unit, build.target, build.at_most) == ("s", rtl.MOST_SECONDS, True)
    assert build.value > 1
    assert (run.unit, run.target) == ("cycles/s", rtl.LEAST_CYCLES)
    assert run.value > 0


@pytest.mark.exhaustive
def test_it_compares_a_machine_with_extensions() -> None:
    configs = load_config("tiny"), load_config("tiny-x")
    (share,) = rtl.measure_extensions(*configs, size=16)
    assert (share.name, share.target, share.at_most) == ("tiny-x / tiny", rtl.LEAST_SHARE, False)
    assert 0 < share.value < 10


@pytest.mark.exhaustive
def test_it_compares_both_machines_on_a_network() -> None:
    configs = load_config("pynq"), load_config("pynq-x")
    same, own = rtl.measure_network(*configs, model="digits")
    name = "digits: pynq-x / pynq, {} programs"
    assert (same.name, same.target) == (name.format("the same"), rtl.LEAST_SHARE)
    assert (own.name, own.target) == (name.format("its own"), None)
    assert 0 < same.value < 10
    assert 0 < own.value < 10


@pytest.mark.exhaustive
def test_programs_that_the_other_machine_encodes_otherwise_are_refused() -> None:
    configs = load_config("small8"), load_config("small8-x")
    with pytest.raises(ProgramError, match="extension"):
        list(rtl.measure_network(*configs, model="digits"))
