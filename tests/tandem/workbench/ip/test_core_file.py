"""The core file, as FuseSoC takes it, in a folder outside of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tandem.hw.config_files import load_config
from tandem.sim.rtl.design import verilog_of
from tandem.workbench.ip.core_file import core_file, core_name
from tests.support.workbench.benches import fusesoc, passed, written

TINY = load_config("tiny")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(TINY, tmp_path_factory.mktemp("rtl"))


def test_every_file_is_in_a_fileset(folder: Path) -> None:
    text = (folder / "tandem.core").read_text()
    assert text.startswith("CAPI=2:\n")
    core = yaml.safe_load(text.split("\n", 1)[1])
    listed = [
        file if isinstance(file, str) else next(iter(file))
        for fileset in core["filesets"].values()
        for file in fileset["files"]
    ]
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    others = {"tandem.core", "tandem.f", "tandem.rdl", "config.json", "block_design.tcl"}
    assert len(listed) == len({*listed})
    assert {*listed} | others == there
    assert core["filesets"]["rtl"]["files"] == (folder / "tandem.f").read_text().split()
    for target in core["targets"].values():
        assert {*target["filesets"]} <= core["filesets"].keys()


def test_names() -> None:
    assert core_name(TINY).startswith("tandem:accelerator:tiny:")
    plus = TINY.replace(name="a+b.c-d_e")
    assert core_name(plus).split(":")[2] == "a_b.c-d_e"
    text = core_file(plus, verilog_of(TINY), [], "mine:ip:core:1.0")
    assert yaml.safe_load(text.split("\n", 1)[1])["name"] == "mine:ip:core:1.0"


def test_lint_is_silent(folder: Path, tmp_path: Path) -> None:
    status, output = fusesoc(tmp_path, (folder,), "--target=lint", core_name(TINY))
    assert status == 0, output
    assert "Warning" not in output


def test_lint_sees_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    design = verilog_of(TINY)
    wrong = "reg left_over; always @(posedge aclk) left_over = 1'b1; endmodule"
    for name, text in design.files.items():
        changed = text.replace("endmodule", wrong) if name == "tandem.v" else text
        (tmp_path / name).write_text(changed)
    for name in ("tandem.core", "lint.vlt"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    work = tmp_path / "work"
    work.mkdir()
    status, output = fusesoc(work, (tmp_path,), "--target=lint", core_name(TINY))
    assert status != 0
    assert "left_over" in output


@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="icarus"),
        pytest.param(("--tool", "verilator"), id="verilator", marks=pytest.mark.exhaustive),
    ],
)
def test_simulation(options: tuple[str, ...], folder: Path, tmp_path: Path) -> None:
    status, output = fusesoc(tmp_path, (folder,), "--target=sim", core_name(TINY), *options)
    assert status == 0, output
    assert passed(output) == 4
