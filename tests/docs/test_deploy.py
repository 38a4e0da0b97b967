"""The programs and commands of `docs/deploy.md` do what the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.scripts.cli import app
from tests.support.compiler.models.models import convolution

pytest.importorskip("litex", reason="the extra soc")

PAGE = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    convolution(tmp_path / "model.onnx")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    with pytest.warns(UserWarning, match="calibrated with noise"):
        exec(compile(code, "docs/deploy.md", "exec"), {})
    commands = re.findall(r"^tandem (.*?)(?:  +#.*)?$", PAGE, re.MULTILINE)
    assert len(commands) == 3
    # Building, simulating and routing is what `tests/tandem/workbench/soc` does; with the port
    # `events` the Verilog is kept from other tests.
    left_out = ("--run", "--gateware", "--no-events")
    short = (
        tuple(word for word in shlex.split(command) if word not in left_out) for command in commands
    )
    for words in dict.fromkeys(short):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.stderr
    for made in ("network/tandem.c", "rtl/tandem.v", "system/gateware/soc.v", "system/LICENSES.md"):
        assert (tmp_path / made).is_file()
