"""The Verilog of a configuration is generated once."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.rtl import design as designs
from tandem.sim.rtl.design import verilog_of

TINY = load_config("tiny")


def text(config: HardwareConfig, events: bool = True, locations: bool = False) -> str:
    """What stands for the Verilog."""
    return f"{config.name} {events} {locations}"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[HardwareConfig]:
    """The configurations that were generated, by a generator that takes no time."""
    calls: list[HardwareConfig] = []

    def generate(config: HardwareConfig, *, events: bool, locations: bool) -> VerilogDesign:
        calls.append(config)
        return VerilogDesign("tandem", {"tandem.v": text(config, events, locations)}, ("tandem",))

    monkeypatch.setattr(designs, "generate", generate)
    return calls


def test_once_for_each_configuration(asked: list[HardwareConfig], tmp_path: Path) -> None:
    others = (TINY.replace(bus_bits=128), TINY.replace(name="other"))
    for config in (TINY, *others) * 2:
        kept = verilog_of(config, tmp_path)
        assert kept == VerilogDesign("tandem", {"tandem.v": text(config)}, ("tandem",))
    assert asked == [TINY, *others]


def test_once_for_each_option(asked: list[HardwareConfig], tmp_path: Path) -> None:
    for events, locations in product((True, False), repeat=2):
        for _ in range(2):
            kept = verilog_of(TINY, tmp_path, events=events, locations=locations)
            assert kept.files == {"tandem.v": text(TINY, events, locations)}
    assert len(asked) == 4


def test_again_for_other_sources_or_tools(
    asked: list[HardwareConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verilog_of(TINY, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(designs, "verilog_digest", lambda: "other")
        verilog_of(TINY, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(designs, "version", lambda _: "99")
        verilog_of(TINY, tmp_path)
    verilog_of(TINY, tmp_path)
    assert len(asked) == 3
