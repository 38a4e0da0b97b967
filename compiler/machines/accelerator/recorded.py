"""Accelerators of records of tuning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from compiler.errors import RecordError
from compiler.machines.accelerator.machine import AcceleratorTarget
from compiler.machines.accelerator.target import accelerator
from compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from compiler.plan.target import Target
from hw.config_files import parse_config
from hw.errors import HardwareError
from hw.memory_model import parse_memory


def recorded_accelerator(machine: Mapping[str, Any], memory: str) -> Target[AcceleratorTarget]:
    """The target of a record's configuration and memory model.

    Raises
    ------
    RecordError
        They are none.
    """
    try:
        config = parse_config(json.dumps(machine), "a record's machine")
        model = parse_memory(memory)
    except HardwareError as error:
        raise RecordError(f"a record's machine: {error}") from None
    return accelerator(config, MemoryTiming(model.latency, model.interval))
