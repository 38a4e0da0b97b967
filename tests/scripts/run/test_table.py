"""What `tandem run` prints for people, of a network that both devices work on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from typer.testing import CliRunner

from tandem.hw.config_files import dump_config, load_config
from tandem.scripts.cli import app
from tandem.scripts.run.table import _speed
from tandem.workbench.run_report import RunReport

# Its memory of weights is too small for most layers.
MACHINE = load_config("tiny").replace(name="small", log_wgt_buffer=6)


def printed(columns: int, *arguments: str) -> list[str]:
    """The lines of a run on a terminal of so many columns."""
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The machine, as a command takes it."""
    config = tmp_path_factory.mktemp("table") / "machine.json"
    config.write_text(dump_config(MACHINE))
    return ["--config", str(config), "--memory", "edge"]


@pytest.fixture(scope="module")
def arguments(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A run of the network, which is compiled once."""
    artifact = str(tmp_path_factory.mktemp("table") / "digits.tandem")
    assert CliRunner().invoke(app, ["compile", "digits", *options, "-o", artifact]).exit_code == 0
    return ["run", artifact, "--engine", "cycle", "--memory", "edge"]


@pytest.fixture(scope="module")
def lines(arguments: list[str]) -> list[str]:
    return printed(80, *arguments)


def table(lines: list[str]) -> list[str]:
    """The lines of the table, which stands between two empty lines."""
    first, last, *_ = [number for number, line in enumerate(lines) if not line.strip()]
    return lines[first + 1 : last]


def test_the_total_counts_for_the_accelerator_what_it_did(
    arguments: list[str], lines: list[str]
) -> None:
    written = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    macs = {"cpu": 0, "accelerator": 0}
    for layer in written["layers"]:
        macs[layer["device"]] += layer["macs"]
    assert all(macs.values()), "both multiply"
    (total,) = (line.split() for line in lines if line.startswith("total"))
    share = macs["accelerator"] / (written["cycles"] * MACHINE.macs)
    assert total[1:4] == [f"{sum(macs.values()):,}", f"{written['cycles']:,}", f"{share:.1%}"]


def test_the_cpus_time_is_the_sum_of_its_steps(lines: list[str]) -> None:
    milliseconds = [re.findall(r" (\d+\.\d{3})$", line) for line in table(lines)]
    *own, total = [float(found[0]) for found in milliseconds if found]
    assert len(own) > 2
    assert total == pytest.approx(sum(own), abs=5e-4 * (1 + len(own)))


def test_a_layer_has_cycles_or_milliseconds(lines: list[str]) -> None:
    *rows, total = [line for line in table(lines) if re.search(r"\d$|%", line)]
    assert len(rows) > 5
    for row in rows:
        assert bool(re.search(r"\d%  +$", row)) is not bool(re.search(r"\d\.\d{3}$", row)), row
    assert re.search(r"\d%  *\d+\.\d{3}$", total)


def test_what_the_figures_rest_on(lines: list[str]) -> None:
    assert lines[0] == "digits on small, engine cycle, memory edge:"
    (speed,) = (line for line in lines if line.startswith("cycle: "))
    assert re.fullmatch(r"cycle: [\d,]+ cycles in \d+\.\d m?s, [\d,]+ a second", speed)


@pytest.mark.exhaustive
def test_a_table_of_cycles_fits_80_columns(
    options: list[str], lines: list[str], tmp_path: Path
) -> None:
    """With the column of cycles without latency hiding, which a page adds."""
    page = ["--check", "--report", str(tmp_path / "page.html")]
    compared = printed(80, "run", "digits", *options, *page)
    assert max(map(len, compared)) <= 80
    assert "hiding" in "".join(table(compared)[:2])
    macs, _, cycles, *_ = re.findall(r"[\d,]+", table(compared)[-1])
    assert [macs, cycles] == re.findall(r"[\d,]+", table(lines)[-1])[:2]


def test_without_cycles_the_table_names_the_device(arguments: list[str]) -> None:
    lines = printed(80, *arguments, "--engine", "functional")
    assert max(map(len, lines)) <= 80
    head, *rows, _ = table(lines)
    assert "device" in head + rows[0]
    devices = {word for row in rows for word in row.split() if word in ("cpu", "accelerator")}
    assert devices == {"cpu", "accelerator"}


@pytest.mark.parametrize(
    ("seconds", "speed", "text"),
    [
        (1.0, None, "1.0 s"),
        (1.26, None, "1.3 s"),
        (0.99, None, "990.0 ms"),
        (0.00125, None, "1.2 ms"),
        (2.0, 6_172_839.6, "12,345,679 cycles in 2.0 s, 6,172,840 a second"),
        (0.5, 24_691_358.0, "12,345,679 cycles in 500.0 ms, 24,691,358 a second"),
    ],
)
def test_the_speed_of_a_simulation(seconds: float, speed: float | None, text: str) -> None:
    profile = SimpleNamespace(cycles=12_345_679)
    report = SimpleNamespace(
        simulated_seconds=seconds, cycles_per_second=speed, run=SimpleNamespace(profile=profile)
    )
    assert _speed(cast(RunReport, report)) == text
