"""Machines and memories as arguments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tandem
from tandem.api.machines import NamedMemory, accelerator_of, device_of, machine_of
from tandem.hw.config_files import dump_config, load_config
from tandem.hw.memory_model import MemoryModel, parse_memory
from tandem.workbench import devices
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError


def test_memories() -> None:
    assert NamedMemory.of("ddr") == NamedMemory("ddr", parse_memory("ddr"))
    model = MemoryModel(latency=5, interval=2, in_flight=3)
    assert NamedMemory.of(model) == NamedMemory("latency=5,interval=2,in_flight=3", model)
    assert parse_memory(NamedMemory.of(model).name) == model
    with pytest.raises(ArgumentTypeError, match="memory is 3: it must be a name, latency=N,interv"):
        NamedMemory.of(3)
    with pytest.raises(ArgumentValueError):
        NamedMemory.of("slow")


def test_machines(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(dump_config(load_config("small8")))
    own, processor = tandem.Accelerator("tiny"), tandem.Cpu()
    assert machine_of(own) is own
    assert machine_of(processor) is processor
    for named, wanted in (("tiny", "tiny"), (load_config("tiny"), "tiny"), (path, "small8")):
        found = machine_of(named)
        assert isinstance(found, tandem.Accelerator)
        assert found.config == load_config(wanted)
    assert accelerator_of(own, "call") is own
    with pytest.raises(
        ArgumentTypeError, match="machine is 3: it must be an Accelerator, a Cpu, a"
    ):
        machine_of(3)
    message = "machine of tune is .*: it must be an accelerator$"
    with pytest.raises(ArgumentTypeError, match=message):
        accelerator_of(processor, "tune")


def test_devices() -> None:
    found = device_of("tiny", "ddr", hiding=False, records=None, processor=tandem.Cpu(threads=3))
    assert found == devices.Accelerator(
        load_config("tiny"), parse_memory("ddr"), False, devices.Cpu(3)
    )
    assert device_of("tiny", "fast", hiding=True, records=None) == devices.Accelerator(
        load_config("tiny"), parse_memory("fast")
    )
    own = device_of(tandem.Cpu(threads=2), "fast", hiding=True, records=None)
    assert own == devices.Cpu(2)


def test_devices_that_are_none() -> None:
    message = "processor is the one beside an accelerator: machine is a Cpu"
    with pytest.raises(ArgumentValueError, match=f"^{re.escape(message)}$"):
        device_of(tandem.Cpu(), "fast", hiding=True, records=None, processor=tandem.Cpu())
    with pytest.raises(
        ArgumentTypeError, match=r"^processor is 3: it must be a tandem.Cpu, or None"
    ):
        device_of("tiny", "fast", hiding=True, records=None, processor=3)
    with pytest.raises(ArgumentTypeError, match=r"^records is 3: it must be a path"):
        device_of("tiny", "fast", hiding=True, records=3)
    with pytest.raises(ArgumentValueError, match=r"missing\.jsonl"):
        device_of("tiny", "fast", hiding=True, records="missing.jsonl")
