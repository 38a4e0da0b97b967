"""Machines and memories as arguments of calls: from what users name to the compiler's devices."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tandem.api.accelerator import Accelerator
from tandem.api.processor import Cpu
from tandem.hw.config import HardwareConfig
from tandem.hw.errors import MemoryModelError
from tandem.hw.memory_model import MemoryModel, parse_memory
from tandem.workbench.arguments import expect, file_path, value_errors
from tandem.workbench.errors import ArgumentValueError

if TYPE_CHECKING:
    from tandem.workbench import devices

Path: TypeAlias = str | os.PathLike[str]
Machine: TypeAlias = Accelerator | Cpu | HardwareConfig | Path
Memory: TypeAlias = str | MemoryModel


@dataclass(frozen=True, slots=True)
class NamedMemory:
    """A memory model, and its name in reports."""

    name: str
    model: MemoryModel

    @staticmethod
    def of(memory: object) -> NamedMemory:
        """The memory of an argument: `fast`, `ddr`, `edge`, `latency=N,...`, or a model."""
        match memory:
            case str():
                with value_errors(MemoryModelError):
                    return NamedMemory(memory, parse_memory(memory))
            case MemoryModel(latency=latency, interval=interval, in_flight=in_flight):
                name = f"latency={latency},interval={interval},in_flight={in_flight}"
                return NamedMemory(name, memory)
            case _:
                expect("memory", memory, "a name, latency=N,interval=N,in_flight=N, or a model")


def machine_of(machine: object) -> Accelerator | Cpu:
    """The machine of an argument: a machine, or what `Accelerator` takes."""
    if isinstance(machine, Accelerator | Cpu):
        return machine
    if isinstance(machine, str | os.PathLike | HardwareConfig):
        return Accelerator(machine)
    expect("machine", machine, "an Accelerator, a Cpu, a preset, a path or a HardwareConfig")


def accelerator_of(machine: object, call: str) -> Accelerator:
    """The accelerator of an argument; a processor is refused."""
    found = machine_of(machine)
    if isinstance(found, Cpu):
        expect(f"machine of {call}", machine, "an accelerator")
    return found


def device_of(
    machine: object,
    memory: object,
    *,
    hiding: bool,
    records: object,
    processor: object = None,
) -> devices.TargetDevice:
    """The compiler's device of a machine, with the schedules of records.

    Parameters
    ----------
    memory
        The accelerator's; a processor needs none.
    hiding
        Whether latency is hidden.
    records
        A file of records; `default` for those that come with Tandem; None for no records.
    processor
        The `Cpu` beside an accelerator; None for this one.
    """
    # Imported here: `Session` uses this module, and runs artifacts without the compiler.
    from tandem.compiler.errors import RecordError
    from tandem.workbench import devices
    from tandem.workbench.recorded_choices import BUILT_IN, best_known

    found = machine_of(machine)
    device: devices.TargetDevice
    if isinstance(found, Cpu):
        if processor is not None:
            raise ArgumentValueError("processor is the one beside an accelerator: machine is a Cpu")
        device = devices.Cpu(found.threads, found.other())
    else:
        beside = Cpu() if processor is None else processor
        if not isinstance(beside, Cpu):
            expect("processor", processor, "a tandem.Cpu, or None for this one")
        host = devices.Cpu(beside.threads, beside.other())
        device = devices.Accelerator(found.config, NamedMemory.of(memory).model, hiding, host)
    if records is None:
        return device
    source = BUILT_IN if records == BUILT_IN else str(file_path("records", records))
    with value_errors(RecordError):
        return device.with_tuned(best_known(source, device, warn))


def warn(text: str) -> None:
    """Warn the caller of a call of the front door."""
    warnings.warn(text, UserWarning, stacklevel=4)
