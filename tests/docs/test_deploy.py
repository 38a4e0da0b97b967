"""The programs and commands of `docs/deploy.md` do what the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.scripts.cli import app
from tests.support.compiler.models.models import convolution

pytest.importorskip("litex", reason="the extra soc")

PAGE = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    convolution(tmp_path / "model.onnx")
    samples = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)
    for name in ("samples", "test"):
        np.save(tmp_path / f"{name}.npy", samples)
    np.save(tmp_path / "labels.npy", np.zeros(2, np.int64))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/deploy.md", "exec"), {})
    commands = re.findall(r"^tandem (.*?)(?:  +#.*)?$", PAGE, re.MULTILINE)
    assert len(commands) == 4
    # Building, simulating and routing is what `tests/tandem/workbench/soc` does.
    left_out = ("--run", "--gateware")
    short = (
        tuple(word for word in shlex.split(command) if word not in left_out) for command in commands
    )
    for words in dict.fromkeys(short):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.stderr
    for made in ("network/tandem.c", "rtl/tandem.v", "system/gateware/soc.v", "system/LICENSES.md"):
        assert (tmp_path / made).is_file()
    library = re.search(r"AR=riscv64-unknown-elf-ar (\S+)", PAGE)
    assert library
    assert f"\n{library[1]}: " in (tmp_path / "network" / "Makefile").read_text()
    board = (tmp_path / "network" / "board.c").read_text()
    assert {*re.findall(r"-D(\w+)=", PAGE)} == {*re.findall(r"defined (\w+)", board)}


def test_processors() -> None:
    table = PAGE.partition("\n## The processor\n")[2].partition("\n## ")[0]
    named = {
        name
        for row in table.splitlines()
        if row.startswith("| ")
        for name in re.findall(r"`([a-z0-9-]+)`", row.split("|")[2])
    }
    assert {*PROCESSORS} - named == {"cortex-a55", "neoverse-n1", "wasm32"}
    assert named - {*PROCESSORS} == {"--target", "--cpu"}
