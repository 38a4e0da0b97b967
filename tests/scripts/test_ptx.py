"""`python -m tandem.scripts.ptx`: the files, and what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from tandem.scripts import ptx
from tandem.workbench import gpu_kernels
from tests.support.compiler.machines.gpu.half_networks import two_layers
from tests.support.compiler.models.models import convolution


def test_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, folder = convolution(tmp_path / "net.onnx"), tmp_path / "kernels"
    command = ["ptx", str(model), "-o", str(folder), "--arch", "sm_90", "--float"]
    monkeypatch.setattr("sys.argv", command)
    monkeypatch.setattr(gpu_kernels, "ptxas_path", lambda: None)
    ptx.main()
    files = sorted(folder.iterdir())
    assert files
    assert all(".target sm_90" in each.read_text() for each in files)
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.partition(":")[0] for line in lines) == [each.stem for each in files]
    entries = sum(each.read_text().count(".entry ") for each in files)
    assert sum(int(line.split()[1]) for line in lines) == entries


def test_products(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each it says whether warps multiply, or why not."""
    model = tmp_path / "net.onnx"
    monkeypatch.setattr(gpu_kernels, "ptxas_path", lambda: None)
    monkeypatch.setattr("sys.argv", ["ptx", str(model), "-o", str(tmp_path / "ptx"), "--float"])
    for side, how in (
        (32, "by warps: mma_float16_float16"),
        (16, "by threads: the product has fewer than 32 rows or columns"),
    ):
        two_layers(model, side)
        ptx.main()
        lines = [line for line in capsys.readouterr().out.splitlines() if "float16 by" in line]
        assert len(lines) == 2
        assert all(line.endswith(how) for line in lines)


def test_refusals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["ptx", "nothing.onnx", "-o", str(tmp_path)])
    with pytest.raises(typer.Exit):
        ptx.main()
    assert capsys.readouterr().err.startswith("error: ")
    monkeypatch.setattr("sys.argv", ["ptx", "digits", "-o", str(tmp_path), "--arch", "sm_20"])
    with pytest.raises(SystemExit):
        ptx.main()
    assert "sm_80" in capsys.readouterr().err
