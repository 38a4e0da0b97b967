"""The configurations that the benches run on."""

from __future__ import annotations

import os

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tests.support.hw.found_machines import TINY_FOUND, TINY_PACKED

CONFIG_VARIABLE = "TANDEM_BENCH_CONFIG"
"""How a simulator's process is told which of `MACHINES` it holds."""

TINY = load_config("tiny")
EXTENDED = load_config("tiny-x")
COMPRESSED = load_config("tiny-w")
# Weights take four beats, accumulators two, inputs half of one; addresses are longer than 32 bits.
WIDE = TINY.replace(
    name="bus128",
    log_block_in=3,
    log_block_out=3,
    log_inp_buffer=8,
    log_wgt_buffer=10,
    log_acc_buffer=10,
    bus_bits=128,
    address_bits=40,
    longest_burst=16,
)
_FOUND = (TINY_FOUND, TINY_PACKED)
MACHINES = {config.name: config for config in (TINY, EXTENDED, COMPRESSED, *_FOUND, WIDE)}


def machine_under_test() -> HardwareConfig:
    """Inside the simulator: the configuration of the design."""
    return MACHINES[os.environ[CONFIG_VARIABLE]]
