"""Blocks of the accelerator as FPGAs hold them, and what is kept of that."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.hw.synthesis import synthesize as module
from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.families import MEMORY_CELLS, Family
from tandem.hw.synthesis.resources import Resources
from tandem.hw.synthesis.synthesize import synthesize
from tandem.hw.synthesis.yowasp import Report
from tandem.hw.topology import MemoryId
from tandem.sim.rtl.design import verilog_of

BOTH = (Family.XC7, Family.ECP5)
BLOCK_BITS = 16 * 1024
"""What block RAM of 18 Kbit holds without its parity bits."""
DEFAULT = "pynq"


@cache
def design(name: str) -> VerilogDesign:
    """A preset's."""
    return verilog_of(load_config(name))


def block(name: str, top: str) -> VerilogDesign:
    """One block of a preset, by itself."""
    assert top in design(name).modules
    return replace(design(name), top=top)


def scratchpad(memory: MemoryId) -> str:
    """The module of an on-chip memory of the default."""
    config = load_config(DEFAULT)
    return f"tandem_scratchpad_{8 * config.element_bytes(memory)}x{config.depth(memory)}"


def check_scratchpad(memory: MemoryId, family: Family) -> None:
    found = synthesize(block(DEFAULT, scratchpad(memory)), family)
    config = load_config(DEFAULT)
    bits = 8 * config.element_bytes(memory) * config.depth(memory)
    (use,) = found.memories
    assert (use.lut_ram, use.registers) == (0, 0)
    assert found.bram == use.bram == bits // BLOCK_BITS
    # Nothing around it: no comparison of addresses, no second copy of what was written.
    assert (found.lut, found.ff) == (0, 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("memory", [MemoryId.UOP, MemoryId.WGT, MemoryId.INP])
def test_every_scratchpad_of_the_default_is_block_ram(memory: MemoryId, family: Family) -> None:
    check_scratchpad(memory, family)


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", [Family.ECP5, Family.XC7])
def test_the_accumulators_of_the_default_are_block_ram(family: Family) -> None:
    config = load_config(DEFAULT)
    found = synthesize(block(DEFAULT, "tandem_accumulator"), family)
    (use,) = found.memories
    assert (use.lut_ram, use.registers) == (0, 0)
    values = config.acc_lanes * config.depth(MemoryId.ACC)
    bits = 32 * values * config.acc_read_ports + 8 * values
    assert found.bram == use.bram == bits // BLOCK_BITS
    assert found.ff == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", BOTH)
def test_every_memory_of_the_default_is_block_ram(family: Family) -> None:
    config = load_config(DEFAULT)
    found = synthesize(design(DEFAULT), family)
    uses = {use.memory: use for use in found.memories}
    assert list(uses) == [*(memory for memory in MemoryId if memory != MemoryId.ACC_8BIT), None]
    for memory, use in uses.items():
        if memory is not None:
            assert (use.lut_ram, use.registers) == (0, 0), memory
            copies = config.acc_read_ports if memory == MemoryId.ACC else 1
            bits = 8 * config.element_bytes(memory) * config.depth(memory)
            assert use.bram == copies * bits // BLOCK_BITS, memory
    assert found.bram == sum(use.bram for use in found.memories)
    assert found.dsp > config.macs


@pytest.mark.exhaustive
def test_a_small_queue_is_no_block_ram() -> None:
    found = synthesize(block("tiny", "tandem_queue_9x4"), Family.ECP5)
    assert found.bram == 0
    assert [(use.memory, use.lut_ram) for use in found.memories] == [(None, 1)]
    assert found.lutram > 0


@pytest.mark.exhaustive
def test_twice_the_channels_take_twice_the_multipliers() -> None:
    small, large = (
        synthesize(block(name, "tandem_mac"), Family.ECP5) for name in ("tiny", "small8")
    )
    assert (small.dsp, large.dsp) == (4, 8)
    assert small.lut < large.lut
    assert small.ff < large.ff


FAKE = VerilogDesign("tandem", {"tandem.v": "module tandem; endmodule\n"}, ("tandem",))


class FakeYosys:
    """Leaves the files that the script asks for."""

    def __init__(self, statistics: str | None = None) -> None:
        cells = {"num_submodules": 0, "num_cells_by_type": {"LUT6": 3, "RAMB18E1": 1}}
        self._statistics = json.dumps({"design": cells}) if statistics is None else statistics
        self.runs = 0

    def __call__(self, script: str, folder: Path, root: Path, report: Report | None) -> None:
        """In the place of `hw.synthesis.yosys.run`."""
        self.runs += 1
        assert (folder / "tandem.v").read_text() == FAKE.files["tandem.v"]
        for cell in MEMORY_CELLS[Family.XC7]:
            (folder / f"{cell}.txt").write_text("")
        (folder / "RAMB18E1.txt").write_text("tandem/a.storage.0.0\n")
        (folder / "arrays.txt").write_text("tandem/a.storage\n")
        (folder / "statistics.json").write_text(self._statistics)


def synthesize_fake(root: Path, changed: VerilogDesign = FAKE) -> Resources:
    return synthesize(changed, Family.XC7, root=root)


def test_what_is_known_is_not_done_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeYosys()
    monkeypatch.setattr(module, "run", fake)
    first = synthesize_fake(tmp_path)
    assert (first.lut, first.bram) == (3, 1)
    assert synthesize_fake(tmp_path) == first
    assert fake.runs == 1
    monkeypatch.setattr(module, "yosys_version", lambda: "another")
    assert synthesize_fake(tmp_path) == first
    assert fake.runs == 2


@pytest.mark.parametrize("file", ["statistics.json", "arrays.txt", "RAMB18E1.txt", "manifest.json"])
def test_a_damaged_entry_is_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str
) -> None:
    fake = FakeYosys()
    monkeypatch.setattr(module, "run", fake)
    first = synthesize_fake(tmp_path)
    (damaged,) = (tmp_path / "synthesis").glob(f"*/{file}")
    damaged.write_text('{"design": 0')
    assert synthesize_fake(tmp_path) == first
    assert fake.runs == 2


def test_an_interruption_leaves_no_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(script: str, folder: Path, root: Path, report: Report | None) -> None:
        (folder / "statistics.json").write_text("{")
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        synthesize_fake(tmp_path)
    assert [path.suffix for path in (tmp_path / "synthesis").iterdir()] == [".lock"]
    fake = FakeYosys()
    monkeypatch.setattr(module, "run", fake)
    assert synthesize_fake(tmp_path).lut == 3


@pytest.mark.parametrize(
    ("statistics", "message"), [("{", "are no JSON"), ("[]", "cannot be read"), ("", "are no JSON")]
)
def test_statistics_that_are_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, statistics: str, message: str
) -> None:
    monkeypatch.setattr(module, "run", FakeYosys(statistics))
    with pytest.raises(SynthesisError, match=f"Yosys's statistics {message}"):
        synthesize_fake(tmp_path)


def test_a_design_that_yosys_refuses() -> None:
    broken = replace(FAKE, files={"tandem.v": "module tandem(input a; endmodule\n"})
    with pytest.raises(SynthesisError, match="ERROR: "):
        synthesize(broken, Family.XC7)
