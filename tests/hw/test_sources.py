"""The digests of what makes Verilog and has it synthesised."""

from __future__ import annotations

import subprocess
import sys

import pytest

from base.sources import source_modules
from hw.sources import area_digest, clock_digest, resources_digest, verilog_digest

LOADED = """
import sys
from hw.config import HardwareConfig
from hw.rtl.verilog import generate
generate(HardwareConfig())
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
    loaded = {name for name in done.stdout.split() if name.startswith("hw.")}
    assert loaded == {*source_modules("hw.rtl.verilog", within=("hw",))}


@pytest.mark.parametrize(
    ("module", "own"),
    [
        ("hw.area.synthesis", {"hw.area.gates", "hw.area.synthesis"}),
        ("hw.synthesis.synthesize", {"hw.synthesis.families", "hw.synthesis.resources"}),
        ("hw.synthesis.place", {"hw.synthesis.shell", "hw.synthesis.product_registers"}),
    ],
)
def test_what_synthesis_says_depends_on_the_verilog_too(module: str, own: set[str]) -> None:
    found = {*source_modules(module, within=("hw",))}
    assert {*source_modules("hw.rtl.verilog", within=("hw",))} < found
    assert own < found
    # Models learn from samples, and make none.
    assert not found & {"hw.area.estimate", "hw.synthesis.estimate", "hw.synthesis.clock"}
