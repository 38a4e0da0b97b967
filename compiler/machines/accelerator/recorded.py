"""Accelerators of records of tuning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tandem.compiler.errors import RecordError
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.plan.target import Target
from tandem.hw.config_files import parse_config
from tandem.hw.errors import HardwareError
from tandem.hw.memory_model import parse_memory


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
