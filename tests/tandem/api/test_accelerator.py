"""Accelerators as values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tandem
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError


def test_presets_files_and_configurations(tmp_path: Path) -> None:
    machine = tandem.Accelerator("tiny")
    assert machine.config == load_config("tiny")
    (tmp_path / "mine.json").write_text(machine.to_json())
    for same in (str(tmp_path / "mine.json"), tmp_path / "mine.json", machine.config, machine):
        assert tandem.Accelerator(same) == machine
    assert tandem.Accelerator().config == HardwareConfig()
    assert (machine.name, machine.macs) == ("tiny", 16)
    assert hash(machine) == hash(tandem.Accelerator("tiny"))


@given(st.sampled_from([64, 128, 256, 512]), st.integers(1, 2))
def test_changes(bus_bits: int, ports: int) -> None:
    base = load_config("pynq")
    machine = tandem.Accelerator("pynq", bus_bits=bus_bits, acc_read_ports=ports)
    assert machine.config == base.replace(bus_bits=bus_bits, acc_read_ports=ports)


def test_features_have_names() -> None:
    machine = tandem.Accelerator("tiny", features=["overwrite", Feature.REQUANTISE])
    assert machine.config.features == {Feature.OVERWRITE, Feature.REQUANTISE}
    assert repr(machine) == (
        "Accelerator(tiny: 1x4x4 multipliers, 64-bit bus, overwrite, requantise)"
    )


@pytest.mark.parametrize(
    ("machine", "changes", "kind", "message"),
    [
        ("pink", {}, ArgumentValueError, "'pink' is neither a preset .*pynq"),
        (3, {}, ArgumentTypeError, "machine is 3: it must be a preset, a path"),
        ("tiny", {"bus": 64}, ArgumentValueError, r"no field of a machine 'bus'.*bus_bits"),
        (
            "tiny",
            {"bus_bits": "64"},
            ArgumentTypeError,
            "bus_bits is '64': it must be a whole numb",
        ),
        ("tiny", {"bus_bits": 7}, ArgumentValueError, "bus_bits is 7"),
        ("tiny", {"features": "overwrite"}, ArgumentTypeError, "a list with any of overwrite"),
        ("tiny", {"features": ["fast"]}, ArgumentValueError, "no feature 'fast': there are overw"),
    ],
)
def test_refusals(machine: Any, changes: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        tandem.Accelerator(machine, **changes)


def test_it_is_frozen() -> None:
    with pytest.raises(AttributeError):
        tandem.Accelerator("tiny").config = load_config("pynq")  # type: ignore[misc]


def test_threads() -> None:
    assert tandem.Cpu(threads=2) == tandem.Cpu(threads=2) != tandem.Cpu()
    with pytest.raises(ArgumentValueError, match="threads is 0: it must be 1 or more"):
        tandem.Cpu(threads=0)
