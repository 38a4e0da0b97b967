"""The digests of what makes Verilog and has it synthesised."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tandem.base.sources import source_modules
from tandem.hw.sources import area_digest, clock_digest, resources_digest, verilog_digest

SMALL = "HardwareConfig(log_block_in=2, log_block_out=2, log_wgt_buffer=8, log_acc_buffer=9)"
LOADED = f"""
import sys
from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.verilog import generate
generate({SMALL})
print(*(name for name, module in sys.modules.items() if not hasattr(module, "__path__")))
"""
"""Prints the modules that are loaded when Verilog has been made, without packages."""


def test_they_are_of_different_parts() -> None:
    digests = (verilog_digest(), area_digest(), resources_digest(), clock_digest())
    assert len({*digests}) == 4


def test_verilog_depends_on_what_is_loaded_to_make_it() -> None:
    """Nothing is missing, and nothing more is taken."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED], check=True, capture_output=True, text=True
    )
    loaded = {name for name in done.stdout.split() if name.startswith("tandem.hw.")}
    assert loaded == {*source_modules("tandem.hw.rtl.verilog", within=("tandem.hw",))}


@pytest.mark.parametrize(
    ("module", "own"),
    [
        ("tandem.hw.area.synthesis", {"tandem.hw.area.gates", "tandem.hw.area.synthesis"}),
        (
            "tandem.hw.synthesis.synthesize",
            {"tandem.hw.synthesis.families", "tandem.hw.synthesis.resources"},
        ),
        (
            "tandem.hw.synthesis.place",
            {"tandem.hw.synthesis.shell", "tandem.hw.synthesis.product_registers"},
        ),
    ],
)
def test_what_synthesis_says_depends_on_the_verilog_too(module: str, own: set[str]) -> None:
    found = {*source_modules(module, within=("tandem.hw",))}
    assert {*source_modules("tandem.hw.rtl.verilog", within=("tandem.hw",))} < found
    assert own < found
    # Models learn from samples, and make none.
    assert not found & {
        "tandem.hw.area.estimate",
        "tandem.hw.synthesis.estimate",
        "tandem.hw.synthesis.clock",
    }
