"""Verilog in caches of tests' own, which need not make it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.hw.config import HardwareConfig
from tandem.sim.rtl import design
from tandem.sim.rtl.design import verilog_of


def keep_verilog(config: HardwareConfig, cache: Path) -> None:
    """Put a configuration's Verilog into another cache, as if it had been made with it."""
    made = verilog_of(config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(design, "generate", lambda *_, **__: made)
        assert verilog_of(config, cache) == made
