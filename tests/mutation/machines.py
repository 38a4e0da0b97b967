"""The machines whose Verilog gets faults, by name."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tests.support.hw.found_machines import TINY_FOUND, TINY_PACKED

_OWN = {config.name: config for config in (TINY_FOUND, TINY_PACKED)}


def machine_of(name: str) -> HardwareConfig:
    """A small machine with operations that were found, or the preset of that name."""
    return _OWN.get(name) or load_config(name)
