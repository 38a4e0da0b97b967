"""Machines in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation

_SHORT = {
    "log_uop_buffer": "uop",
    "log_inp_buffer": "inp",
    "log_wgt_buffer": "wgt",
    "log_acc_buffer": "acc",
}


def describe(config: HardwareConfig) -> str:
    """A machine in a few words: array, log2 of its memories, bus, features, own operations."""
    memories = " ".join(f"{short} {getattr(config, name)}" for name, short in _SHORT.items())
    features = "".join(sorted(feature.value[0] for feature in config.features))
    ports = f", {config.acc_read_ports} port" + "s" * (config.acc_read_ports > 1)
    array = f"{config.batch}x{config.block_in}x{config.block_out}"
    parts = (
        *(array, memories + ports, f"{config.bus_bits}-bit bus", features),
        operation_names(config.alu_operations, "+"),
    )
    return ", ".join(filter(None, parts))


def operation_names(operations: Sequence[CustomOperation], between: str = " ") -> str:
    """The names of a machine's own operations."""
    return between.join(operation.name for operation in operations)
