"""The devices that are listed, with drivers and without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.runtime.errors import RunError
from tandem.workbench.devices import listing
from tandem.workbench.devices.listing import ListedDevice, listed_devices

GPU = SimpleNamespace(name="H", memory=(3 << 30) + 1, capability=(9, 0))
DEVICE = SimpleNamespace(
    name="cpu-x",
    global_mem_size=2 << 30,
    local_mem_size=48 << 10,
    platform=SimpleNamespace(name="PoCL"),
)


def found(monkeypatch: pytest.MonkeyPatch, opencl: Any, cuda: Any) -> list[ListedDevice]:
    def answer(value: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    monkeypatch.setattr(listing, "opencl_devices", lambda: answer(opencl))
    monkeypatch.setattr(listing, "cuda_gpus", lambda: answer(cuda))
    return [*listed_devices()]


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    host = CpuTarget.host()
    assert found(monkeypatch, [DEVICE], [GPU, GPU]) == [
        ListedDevice("accelerator", "simulated", "of any configuration: --config, --engine"),
        ListedDevice("cpu", host.cpu, f"threads: {host.threads}"),
        ListedDevice("opencl", "cpu-x", "PoCL; 2,048 MiB, 48 KiB shared by a block"),
        *[ListedDevice("cuda", "H", "3,072 MiB, compute capability 9.0")] * 2,
    ]


def test_devices_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, [], [])[2:] == [
        ListedDevice("opencl", "", "there is no driver: pocl-binary-distribution is one"),
        ListedDevice("cuda", "", "the driver has no GPU"),
    ]
    broken = found(monkeypatch, RunError("no package"), RunError("no driver"))[2:]
    assert broken == [
        ListedDevice("opencl", "", "no package"),
        ListedDevice("cuda", "", "no driver"),
    ]
