"""What `tandem run` prints for people, of a network that both devices work on."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from hw.config_files import load_config
from scripts.cli import app

ARGUMENTS = ["run", "digits", "--config", "tiny", "--engine", "rtl", "--memory", "edge"]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    result = CliRunner().invoke(app, ARGUMENTS)
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


def test_the_total_counts_for_the_accelerator_what_it_did(lines: list[str]) -> None:
    told = json.loads(CliRunner().invoke(app, [*ARGUMENTS, "--json"]).stdout)
    macs = {"cpu": 0, "accelerator": 0}
    for each in told["layers"]:
        macs[each["device"]] += each["macs"]
    assert all(macs.values()), "both multiply"
    (total,) = (line.split() for line in lines if line.startswith("total"))
    share = macs["accelerator"] / (told["cycles"] * load_config("tiny").macs)
    assert total[1:4] == [f"{sum(macs.values()):,}", f"{told['cycles']:,}", f"{share:.1%}"]


def test_the_cpus_time_is_the_sum_of_its_steps(lines: list[str]) -> None:
    own = [line.split()[-1] for line in lines if re.search(r" cpu ", line)]
    (total,) = (line.split()[-1] for line in lines if line.startswith("total"))
    assert len(own) > 2
    assert float(total) == pytest.approx(sum(map(float, own)), abs=5e-4 * (1 + len(own)))


def test_what_the_figures_rest_on(lines: list[str]) -> None:
    assert lines[0] == "digits on tiny, engine rtl, memory edge:"
    (speed,) = (line for line in lines if line.startswith("rtl: "))
    assert re.fullmatch(r"rtl: [\d,]+ cycles in \d+\.\d m?s, [\d,]+ a second", speed)
