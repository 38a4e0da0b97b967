"""`hw.registers`: the map as drivers know it, which never changes."""

from __future__ import annotations

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.registers import Control, Interrupt, Status, Waits, register_map, registers_of
from tandem.hw.topology import MemoryId

EXTENDED = HardwareConfig(features=frozenset(Feature))


def test_offsets() -> None:
    """Drivers in the field hold these numbers."""
    offsets = {register.name: register.offset for register in register_map()}
    known = {
        "magic": 0x000,
        "version": 0x004,
        "control": 0x008,
        "status": 0x00C,
        "irq_enable": 0x010,
        "irq_status": 0x014,
        "error_code": 0x018,
        "error_instruction": 0x01C,
        "shape": 0x020,
        "buffers": 0x024,
        "bus": 0x028,
        "features": 0x02C,
        "instruction_address": 0x030,
        "instruction_count": 0x038,
        "bus_timeout": 0x03C,
        "base_uop": 0x040,
        "base_par": 0x070,
        "par_buffer": 0x078,
        "error_address": 0x080,
        "cycles": 0x100,
        "store_memory": 0x148,
        "load_instruction": 0x180,
        "store_waits": 0x194,
    }
    assert known.items() <= offsets.items()


def test_bits() -> None:
    assert [flag.value for flag in Control] == [1, 2, 4]
    assert [flag.value for flag in Status] == [1, 2, 4, 8, 16]
    assert [flag.value for flag in Interrupt] == [1, 2]
    assert [flag.value for flag in Waits] == [1, 2, 0x100]


def test_a_machine_has_the_registers_of_its_features() -> None:
    base = {register.name for register in registers_of(frozenset())}
    assert {register.name for register in register_map()} - base == {"base_par", "par_buffer"}


@pytest.mark.parametrize("config", [HardwareConfig(), EXTENDED], ids=["base", "extended"])
def test_constants_are_the_configuration(config: HardwareConfig) -> None:
    values = {
        register.name: register.value(config)
        for register in registers_of(config.features)
        if register.constant
    }
    wanted = {
        "magic": 0x544E444D,
        "version": 0x0001_0002,
        "shape": 0x00_04_04_00,
        "buffers": 0x11_12_0F_0F,
        "bus": 0x3F_20_0040,
        "features": 0b1111 if config.features else 0,
    }
    if MemoryId.PAR in config.memories:
        wanted["par_buffer"] = config.log_par_buffer
    assert values == wanted
