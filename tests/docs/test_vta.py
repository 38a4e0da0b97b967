"""What `docs/vta.md` says of the program by hand and of shifts is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program, disassemble
from tandem.hw.operations import MAX_SHIFT
from tandem.hw.vta_rules import HLS_SHIFTS, vta_warnings

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "vta.md").read_text()
GUIDE = (ROOT / "docs" / "programs.md").read_text()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The guide's program."""
    monkeypatch.chdir(tmp_path)
    exec(re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)[0], {})
    return Program.from_bytes(HardwareConfig(), (tmp_path / "relu.bin").read_bytes())


def test_the_end_that_is_shown(program: Program) -> None:
    command, shown = re.findall(r"```\n(.*?)```", TEXT, re.DOTALL)
    assert command in GUIDE
    ends = [line.partition("  ")[2] for line in disassemble(program).splitlines()[-3:]]
    assert [line.rstrip() for line in ends] == shown.splitlines()
    assert not vta_warnings(program)


def test_the_shifts() -> None:
    (row,) = [line for line in TEXT.splitlines() if line.startswith("| SHR by an immediate")]
    assert row.count(f"{-MAX_SHIFT}..{MAX_SHIFT}") == 3
    assert f"{HLS_SHIFTS[0]}..{HLS_SHIFTS[-1]}: five signed bits" in row
