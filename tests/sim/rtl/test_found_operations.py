"""Operations that a search found, with all flags, operands and limits, on the Verilog and on the
engines: what their expressions say."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.topology import BASED
from tandem.sim.engines import make_engine
from tests.support.hw.found_machines import TINY_FOUND, TINY_PACKED
from tests.support.sim.launching import launch
from tests.support.sim.operation_cases import BASES, EveryCase, every_bit, every_case

MACHINES = pytest.mark.parametrize(
    "config", [TINY_FOUND, TINY_PACKED], ids=lambda config: config.name
)
ENGINES = pytest.mark.parametrize("name", ["functional", "cycle", "rtl"])


def check(name: str, config: HardwareConfig, cases: EveryCase) -> None:
    engine = make_engine(name, config)
    bases = tuple(BASES.get(memory, 0) for memory in BASED)
    try:
        _, left = launch(engine, cases.program, cases.image, bases=bases, max_cycles=1_000_000)
    finally:
        engine.close()
    np.testing.assert_array_equal(left, cases.expected)


@MACHINES
@ENGINES
def test_every_case(name: str, config: HardwareConfig) -> None:
    check(name, config, every_case(config))


@MACHINES
@ENGINES
def test_every_bit(name: str, config: HardwareConfig) -> None:
    """A bit that is too high for a clip is seen, wherever it is."""
    check(name, config, every_bit(config))
