"""`tandem discover` on the digits network and a small machine."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tandem.hw.config_files import load_config
from tandem.scripts.cli import app
from tandem.workbench.discovery.judged import open_judged

QUICK = ("--config", "small8", "--area", "30%", "--no-synthesise", "--jobs", "1")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["discover", *arguments])


def found(folder: Path, *arguments: str) -> dict[str, Any]:
    result = invoke(*arguments, "--judged", str(folder / "judged.db"), "--json")
    assert result.exit_code == 0, result.stderr
    made: dict[str, Any] = json.loads(result.stdout)
    return made


def plain(made: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the time, nor on what was judged before."""
    return {key: value for key, value in made.items() if key not in ("seconds", "judged")}


def test_a_search(tmp_path: Path) -> None:
    """Few finalists; the machine that is written runs the network, as fast as was told, and a
    search that finds all judged says the same."""
    output, page = tmp_path / "found.json", tmp_path / "found.html"
    written = ("-o", str(output), "--report", str(page))
    made = found(tmp_path, "digits", *QUICK, "--finalists", "1", *written)
    (network,) = made["networks"]
    assert network["after"] < 0.95 * network["before"]
    assert all(one["proved"] for one in made["operations"])
    assert made["area"]["share"] <= 0.3
    (passes,) = made["passes"]
    kinds = ("requantisation", "residuals", "elementwise", "windows", "copies")
    assert sum(passes[kind] for kind in kinds) == round(network["alu_share"] * network["before"])
    assert [text.partition(" take ")[0] for text in passes["dropped"]] == [
        "counts: reductions",
        "counts: copies and passes over them",
    ]
    # The front ends with what takes no look-up tables: nothing, or a product that is cut.
    assert made["front"][-1]["lut"] == 0
    config = load_config(output)
    assert [one.name for one in config.alu_operations] == [
        one["name"] for one in made["operations"]
    ]
    assert html.escape(made["operations"][0]["expression"]) in page.read_text()
    arguments = ["run", "digits", "--config", str(output), "--check", "--json"]
    run = CliRunner().invoke(app, arguments)
    assert run.exit_code == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["check"]["equal"] is True
    assert told["cycles"] == network["after"]
    again = found(tmp_path, "digits", *QUICK, "--finalists", "1")
    assert plain(again) == plain(made)
    assert again["judged"] == made["judged"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("digits", "digits"), "a model is there twice"),
        (("digits", "--held-out", "digits"), "a model is there twice"),
        (("digits", "--area", "0%"), "no part of the machine's"),
        (("digits", "--area", "0.1"), "no part of the machine's"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_file_by_two_names(tmp_path: Path) -> None:
    (tmp_path / "own.onnx").write_bytes(b"")
    (tmp_path / "other").mkdir()
    result = invoke(f"{tmp_path}/own.onnx", "--held-out", f"{tmp_path}/other/../own.onnx")
    assert result.exit_code == 2
    assert "a model is there twice" in " ".join(result.stderr.split())


def test_what_was_judged_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "judged.db"
    with open_judged(path) as judged:
        judged.put("key", 1)
    result = invoke("digits", *QUICK, "--output", str(path), "--judged", str(path))
    assert result.exit_code == 1
    assert "--output and --judged write the same file" in " ".join(result.stderr.split())
    with open_judged(path) as judged:
        assert judged.get("key") == 1


def test_a_machine_with_operations(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    values = json.loads(Path("hw/presets/tiny.json").read_text())
    path.write_text(json.dumps({**values, "alu_operations": [{"name": "XOR", "result": "a ^ b"}]}))
    result = invoke("digits", "--config", str(path), "--judged", str(tmp_path / "judged.db"))
    assert result.exit_code == 1
    assert "tiny has operations of its own (XOR)" in result.stderr


def test_a_held_out_model_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    judged = tmp_path / "judged.db"
    result = invoke("digits", "--held-out", "absent.onnx", "--judged", str(judged))
    assert result.exit_code == 1
    assert "absent.onnx" in result.stderr
    assert not judged.exists()


def test_a_held_out_model_that_cannot_be_read_is_told_before_the_search(tmp_path: Path) -> None:
    judged, held_out = tmp_path / "judged.db", tmp_path / "broken.onnx"
    held_out.write_bytes(b"no model")
    arguments = ("digits", *QUICK, "--held-out", str(held_out), "--judged", str(judged))
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert "broken.onnx" in result.stderr
    # Nothing was judged but both networks on the machine as it is.
    with open_judged(judged) as kept:
        assert len(kept) == 2


@pytest.mark.exhaustive
def test_real_networks(tmp_path: Path) -> None:
    """What holds of the networks that operations were chosen for, and of one that was held out."""
    models = ("resnet18", "resnet50", "mobilenet-v1", "mobilenet-v2")
    made = found(tmp_path, *models, "--config", "pynq", "--held-out", "dcgan")
    assert all(one["proved"] for one in made["operations"])
    assert made["area"]["share"] <= 0.1
    assert made["area"]["dsp"] <= 32
    ratios = {one["model"]: one["ratio"] for one in made["networks"]}
    assert all(ratio <= 1 for ratio in ratios.values())
    assert all(ratios[model] < 1 for model in models)
