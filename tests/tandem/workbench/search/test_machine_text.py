"""Machines in a few words."""

from __future__ import annotations

from tandem.hw.config_files import load_config
from tandem.workbench.search.machine_text import describe
from tests.support.hw.found_machines import FOUND_FOR_PYNQ


def test_a_machine() -> None:
    small = "1x8x8, uop 10 inp 10 wgt 12 acc 12, 2 ports, 64-bit bus"
    assert describe(load_config("small8")) == small
    assert describe(load_config("small8-x").replace(acc_read_ports=1)) == (
        "1x8x8, uop 10 inp 10 wgt 12 acc 12, 1 port, 64-bit bus, ior"
    )


def test_operations_of_its_own() -> None:
    own = load_config("small8").replace(alu_operations=FOUND_FOR_PYNQ, alu_stages=3)
    assert describe(own).endswith("64-bit bus, ADDB_SHR_MAX_MIN+CUTB")
