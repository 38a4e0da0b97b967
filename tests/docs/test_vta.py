"""What `docs/vta.md` says of the program by hand and of shifts is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tandem
from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program, disassemble
from tandem.hw.operations import MAX_SHIFT
from tandem.hw.vta_rules import HLS_SHIFTS, vta_warnings
from tandem.scripts.cli import app

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "vta.md").read_text()
NETWORKS = (ROOT / "docs" / "networks.md").read_text()
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


def numbers(line: str) -> list[int]:
    """Numbers of a table's row that have thousands."""
    return [int(each.replace(",", "")) for each in re.findall(r"\b\d{1,3}(?:,\d{3})+\b", line)]


COMPARED = {
    line.split()[1]: numbers(line) for line in TEXT.splitlines() if line.startswith("| ResNet-")
}
"""Of each network: VTA's cycles before and with the pipelined GEMM, ours in total and in part."""


def test_published_cycles() -> None:
    published = {row["what"]: row["value"] for row in tandem.published()}
    for network, (before, after, *_) in COMPARED.items():
        assert published[f"{network} before the pipelined GEMM unit"] == before
        assert published[f"{network} with the pipelined GEMM unit"] == after


def test_totals_are_those_of_the_page_of_networks() -> None:
    for network, (*_, total, part) in COMPARED.items():
        name = network.lower().replace("-", "")
        # The first: of all networks in int8.
        row, *_ = [line for line in NETWORKS.splitlines() if line.startswith(f"| `{name}` | ")]
        assert numbers(row)[1] == total > part


@pytest.mark.exhaustive
@pytest.mark.parametrize("network", COMPARED)
def test_cycles_of_the_part(network: str) -> None:
    name = network.lower().replace("-", "")
    printed = CliRunner().invoke(app, ["run", name, "--config", "pynq", "--engine", "cycle"]).stdout
    lines = printed.splitlines()
    # Of each line products come before cycles, where a line has products.
    cycles = {
        line.split()[0]: numbers(line)[-1] if numbers(line) else int(line.split()[-1])
        for line in lines
        if line.startswith(("relu ", "maxpool ", "avgpool ", "output  ", "total "))
        and "convert" not in line
    }
    total = cycles.pop("total")
    assert [total, total - sum(cycles.values())] == COMPARED[network][2:]


def test_cycles_of_the_products() -> None:
    """ResNet-18's convolutions but the first one, on 256 multipliers."""
    products = tandem.load("resnet18").macs - 118_013_952 - 512_000
    assert f"{products // 256:,} cycles" in TEXT
