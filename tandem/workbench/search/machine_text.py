"""Machines in a few words."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig

_SHORT = {
    "log_uop_buffer": "uop",
    "log_inp_buffer": "inp",
    "log_wgt_buffer": "wgt",
    "log_acc_buffer": "acc",
}


def describe(config: HardwareConfig) -> str:
    """A machine in a few words: array, log2 of its memories, bus, features."""
    memories = " ".join(f"{short} {getattr(config, name)}" for name, short in _SHORT.items())
    features = "".join(sorted(feature.value[0] for feature in config.features))
    ports = f", {config.acc_read_ports} port" + "s" * (config.acc_read_ports > 1)
    return (
        f"{config.batch}x{config.block_in}x{config.block_out}, {memories}{ports}, "
        f"{config.bus_bits}-bit bus" + (f", {features}" if features else "")
    )
