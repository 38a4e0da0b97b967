"""The machines whose Verilog gets faults, by name."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tests.support.hw.found_machines import TINY_FOUND


def machine_of(name: str) -> HardwareConfig:
    """The small machine with operations that were found, or the preset of that name."""
    return TINY_FOUND if name == TINY_FOUND.name else load_config(name)
