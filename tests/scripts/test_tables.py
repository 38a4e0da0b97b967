"""`scripts.tables`, and every table of `tandem` within 80 columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Assembler, Unit, work_of
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.resources import MemoryUse, Resources
from tandem.runtime.artifact import Input, Manifest, Output, Port, Provenance, Step, Tensor
from tandem.scripts.cli import app
from tandem.scripts.counters import print_counters
from tandem.scripts.explain import print_reasons
from tandem.scripts.resources import print_resources
from tandem.scripts.tables import percentage, plain_table, print_table, whole_number
from tandem.scripts.utilization.table import print_rows
from tandem.sim.events import EventTable
from tandem.sim.result import Result, UnitCycles
from tandem.workbench.utilization import ConvLayer, Row, Times
from tandem.workbench.utilization.rows import Traffic

COLUMNS = 80
HUGE = 12_345_678_901
"""A number of 14 characters: an hour of a machine at 3 GHz, in cycles."""


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


def printed(columns: int, texts: int, *rows: tuple[str, ...]) -> list[str]:
    """The lines of a table, whose first columns hold texts."""
    console = Console(width=columns, highlight=False, markup=False, color_system=None)
    heads = [f"head {number}" for number in range(len(rows[0]))]
    table = plain_table(heads[:texts], heads[texts:])
    for row in rows:
        table.add_row(*row)
    with console.capture() as capture:
        print_table(console, table)
    assert console.width == columns
    return [line.rstrip() for line in capture.get().splitlines()]


def test_columns_are_two_apart_where_there_is_room() -> None:
    assert printed(30, 1, ("a", "1,000", "2")) == [
        "head 0  head 1  head 2",
        "a        1,000       2",
    ]


def test_columns_move_together_before_a_text_folds() -> None:
    assert printed(21, 1, ("a" * 6, "1", "2")) == ["head 0 head 1 head 2", "aaaaaa      1      2"]


def test_texts_fold_and_numbers_do_not() -> None:
    found = printed(28, 1, ("a" * 20, "1,234,567", "89"), ("b", "1", "2"))
    assert found == [
        "head 0          head 1 head 2",
        "aaaaaaaaaaaa 1,234,567     89",
        "aaaaaaaa",
        "b                    1      2",
    ]


def test_texts_fold_between_words_before_within() -> None:
    found = printed(35, 2, ("a" * 19, "b" * 8 + " +3", "1"))
    assert found[1:] == [f"{'a' * 19} bbbbbbbb      1", f"{'':19} +3"]


def test_words_stay_whole_where_they_fit() -> None:
    found = printed(20, 2, ("reshape", "no template for it"))
    assert [line.split("  ")[-1].strip() for line in found[1:]] == ["reshape no template", "for it"]


def test_headings_end_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    table = plain_table(("name",), ("two\nlines",))
    table.add_row("a", "1")
    print_table(Console(width=20, color_system=None), table)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "        two",
        "name  lines",
        "a         1",
    ]


def test_missing_values() -> None:
    assert (whole_number(1234567), whole_number(0), whole_number(None, "-")) == (
        "1,234,567",
        "0",
        "-",
    )
    assert (percentage(0.12345), percentage(None), percentage(None, "-")) == ("12.3%", "", "-")


# The tables of the verbs ----------------------------------------------------------------


def check_width(text: str, *numbers: str) -> None:
    """No line is longer than the terminal, nothing is abbreviated, and the numbers are whole."""
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert "…" not in text
    words = text.split()
    assert not set(numbers) - set(words)


def test_counters_of_sim(capsys: pytest.CaptureFixture[str]) -> None:
    asm = Assembler(HardwareConfig())
    asm.finish()
    work = work_of(asm.build())
    work = replace(
        work,
        instructions=dict.fromkeys(work.instructions, HUGE),
        loaded=dict.fromkeys(work.loaded, HUGE),
        gemm_uops=HUGE,
    )
    units = {unit: UnitCycles(HUGE, HUGE + 1, HUGE + 2) for unit in Unit}
    result = Result("functional", 4 * HUGE, units, work, EventTable.of(()), 1.0)
    print_counters(Console(), HardwareConfig(), result, "ab" * 32)
    numbers = [f"{HUGE + number:,}" for number in range(3)]
    check_width(capsys.readouterr().out, f"{4 * HUGE:,}", *numbers, "ab" * 32)


def test_utilization(capsys: pytest.CaptureFixture[str]) -> None:
    name = "/layer1/layer1.0/conv1/Conv_output_0_quantized"
    layer = ConvLayer(name, 224, 224, 1024, 1024, 3, 2, 1, count=12)
    times = Times(name, 12, HUGE, 256, HUGE, HUGE - 1)
    nothing = Traffic(0, 0)
    print_rows([Row(layer, times, nothing, nothing)], "rtl", "pynq", "fast")
    check_width(capsys.readouterr().out, f"{12 * HUGE:,}", f"{HUGE - 1:,}")


def test_resources(capsys: pytest.CaptureFixture[str]) -> None:
    use = MemoryUse(None, block_ram=1, lut_ram=123, registers=45, bram=12_345)
    found = Resources(Family.XC7, HUGE, HUGE, HUGE, HUGE, HUGE, (use,))
    print_resources([replace(found, family=family) for family in Family])
    check_width(capsys.readouterr().out, f"{HUGE:,}", "12,345")


def test_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    name = "layer1_conv1_windows"
    tensors = tuple(
        Tensor(port, (HUGE, 1024, 7, 7, 16), "float32", place)
        for port, place in (("in", Input()), ("out", Output()))
    )
    operators = ("reshape", "dequantise") * 4
    reason = "no schedule template for it; " * 9
    step = Step(name, "cpu", "code", ("in",), ("out",), operators, 0, reason)
    ports = (Port("in", "in"),), (Port("out", "out"),)
    print_reasons(Manifest("net", Provenance("net"), tensors, *ports, (step,), 0))
    check_width(capsys.readouterr().out)


def test_files_of_rtl(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["rtl", "--config", "tiny", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    check_width("\n".join(lines[:-1]))  # The last line is a sentence with a path.
    assert "tandem_registers.h" in result.stdout
    assert str(tmp_path / "tandem.f") in result.stdout
