"""The limits of a configuration: a refusal names the field, what was asked, what is allowed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hw.config import HardwareConfig
from hw.errors import ConfigError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"log_batch": 5}, "log_batch is 5: it must lie in 0..4"),
        ({"log_batch": True}, "log_batch is True: it must be a whole number"),
        ({"bus_bits": 96}, "bus_bits is 96: it must be one of (64, 128, 256, 512)"),
        ({"fetch_buffer": 24}, "fetch_buffer is 24: it must be a power of two"),
        ({"load_buffer": 32}, "load_buffer is 32 beats: a burst of 64 (longest_burst)"),
        ({"log_acc_buffer": 6}, "log_acc_buffer: 64 bytes hold fewer than two elements of 64"),
        ({"log_inp_buffer": 21}, "log_inp_buffer: 131072 elements of 16 bytes"),
        ({"acc_read_ports": 3}, "acc_read_ports is 3: it must lie in 1..2"),
    ],
)
def test_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        HardwareConfig(**changes)


@pytest.mark.parametrize("log_block_in", [0, 1, 4])
@pytest.mark.parametrize("ports", [1, 2])
def test_read_ports_of_acc(ports: int, log_block_in: int) -> None:
    config = HardwareConfig(
        acc_read_ports=ports, log_block_in=log_block_in, log_inp_buffer=10, log_wgt_buffer=12
    )
    assert config.acc_read_ports == ports
