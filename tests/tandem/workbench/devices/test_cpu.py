"""Processors as devices: names, threads, records, and what another one cannot do here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tandem.compiler.errors import CodegenError
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.machines.cpu.target import cpu
from tandem.workbench.devices.cpu import PROCESSOR_NAMES, Cpu
from tandem.workbench.errors import ArgumentValueError


def test_names() -> None:
    assert PROCESSOR_NAMES == tuple(PROCESSORS)
    assert Cpu.named(None) == Cpu()
    assert Cpu.named(None, 3) == Cpu(3)
    found = Cpu.named("cortex-m4", fpu=False)
    assert found.other == PROCESSORS["cortex-m4"].without_fpu()
    assert found.name == found.machine.cpu == "cortex-m4"
    with pytest.raises(ArgumentValueError, match=r"^a processor without an FPU is another than"):
        Cpu.named(None, fpu=False)
    with pytest.raises(CodegenError, match=r"^no processor 'z'"):
        Cpu.named("z")


def test_threads() -> None:
    assert Cpu(2).machine == CpuTarget.host(2)
    assert Cpu().machine == CpuTarget.host(None)
    # Another processor has one unless more are said.
    assert Cpu.named("cortex-a53").machine.threads == 1
    assert Cpu.named("cortex-a53", 4).machine.threads == 4


def test_records() -> None:
    device = Cpu.named("cortex-a53", 4)
    processor = PROCESSORS["cortex-a53"]
    assert device.machine_record == {
        "name": "cortex-a53",
        "features": [*processor.features],
        "threads": 4,
    }
    assert (device.kind, device.memory_record) == ("cpu", "")
    assert device.target() == cpu(device.machine)
    assert device.targets() == (device.target(),)


def test_another_processor_measures_nothing() -> None:
    message = "^schedules are measured on this processor, and cortex-a53 is another$"
    with pytest.raises(ArgumentValueError, match=message):
        Cpu.named("cortex-a53").layer(cast(Any, None))
    with pytest.raises(ArgumentValueError, match=message):
        Cpu.named("cortex-a53")._check_here()
    Cpu(1)._check_here()


def test_code_for_the_processor_alone() -> None:
    alone: Any = SimpleNamespace(fallback=None)
    both: Any = SimpleNamespace(fallback=alone)
    assert Cpu(1).code_of(alone) is alone
    assert Cpu(1).code_of(both) is alone
