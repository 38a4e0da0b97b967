"""`tandem run` on the simulated accelerator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from runtime.executor import Run
from runtime.profile import Profile
from scripts.cli import app
from scripts.run.comparison import compare
from tests.support.models import convolution


def tandem(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return convolution(tmp_path_factory.mktemp("model") / "net.onnx")


def test_cycles_layer_by_layer(model: Path, tmp_path: Path) -> None:
    page, trace = tmp_path / "page.html", tmp_path / "trace.json"
    result = tandem(
        *("run", model, "--engine", "rtl", "--config", "tiny", "--check", "--json"),
        *("--report", page, "--trace", trace),
    )
    assert result.exit_code == 0, result.stderr
    written = json.loads(result.stdout)
    assert (written["engine"], written["config"]) == ("rtl", "tiny")
    assert written["check"]["equal"] is True
    assert written["check"]["first"] is None
    layers = [each for each in written["layers"] if each["device"] == "accelerator"]
    assert layers
    assert sum(each["cycles"] for each in layers) == written["cycles"]
    assert written["simulated_cycles_per_second"] > 0
    assert all(each["cycles"] is None for each in written["layers"] if each["device"] == "cpu")
    assert all(layer["name"] in page.read_text() for layer in layers)
    assert '"kind": "instructions"' in page.read_text()
    assert json.loads(trace.read_text())["traceEvents"]


def test_hiding_latency_saves_cycles(model: Path) -> None:
    cycles = [
        json.loads(tandem("run", model, "--engine", "rtl", "--json", *options).stdout)["cycles"]
        for options in ([], ["--no-latency-hiding"])
    ]
    assert cycles[0] < cycles[1]


def test_an_artifact_keeps_its_machine(model: Path, tmp_path: Path) -> None:
    artifact = tmp_path / "net.tandem"
    assert tandem("compile", model, "-o", artifact, "--config", "small8").exit_code == 0
    written = json.loads(tandem("run", artifact, "--json").stdout)
    assert (written["engine"], written["config"]) == ("functional", "small8")
    assert written["cycles"] is None
    again = json.loads(tandem("run", model, "--config", "small8", "--json").stdout)
    on_cpu = json.loads(tandem("run", model, "--device", "cpu", "--json").stdout)
    assert written["outputs"] == again["outputs"] == on_cpu["outputs"]
    checked = json.loads(tandem("run", artifact, "--engine", "rtl", "--check", "--json").stdout)
    assert checked["check"]["equal"] is True
    fallback = json.loads(tandem("run", artifact, "--device", "cpu", "--json").stdout)
    assert (fallback["outputs"], fallback["config"]) == (written["outputs"], None)
    page = tmp_path / "page.html"
    assert tandem("run", artifact, "--engine", "rtl", "--report", page).exit_code == 0
    assert "<th>cycles</th>" in page.read_text()
    assert "<th>cycles without</th>" not in page.read_text()


def test_several_batches(model: Path, tmp_path: Path) -> None:
    images = np.random.default_rng(0).normal(size=(3, 3, 8, 8)).astype(np.float32)
    paths = []
    for name, some in (("all", images), ("last", images[2:])):
        paths.append(tmp_path / f"{name}.npy")
        np.save(paths[-1], some)
    outputs = []
    for path in paths:
        archive = path.with_suffix(".npz")
        result = tandem(
            *("run", model, "--engine", "rtl", "--config", "tiny", "--check", "--json"),
            *("--input", path, "--output", archive),
        )
        written = json.loads(result.stdout)
        assert written["check"]["equal"] is True
        layers = [each["cycles"] for each in written["layers"] if each["cycles"] is not None]
        assert sum(layers) == written["cycles"]
        (found,) = np.load(archive).values()
        outputs.append(found)
    several, one = outputs
    assert len(several) == 3 * len(one)
    np.testing.assert_array_equal(several[2 * len(one) :], one)
    page = tmp_path / "page.html"
    result = tandem("run", model, "--config", "tiny", "--input", paths[0], "--report", page)
    assert result.stdout.startswith("net.onnx on tiny, engine functional, 3 batches:\n")
    assert "<b>3 batches</b>" in page.read_text()
    # Without time there is nothing to gain, and the network is run once only.
    assert "with latency hiding" not in page.read_text()


def test_how_far_it_is_from_float32(model: Path, tmp_path: Path) -> None:
    """As computed from both runs' outputs, of two batches."""
    images = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", images)
    given = ["--input", tmp_path / "x.npy"]
    archives = []
    for name, options in (("int8", ["--check"]), ("real", ["--quantize", "none"])):
        path = tmp_path / f"{name}.npz"
        result = tandem("run", model, *given, *options, "--output", path)
        assert result.exit_code == 0, result.stderr
        archives.append(np.load(path)["out:0"].astype(np.float64))
        if options == ["--check"]:
            (line,) = (each for each in result.stdout.splitlines() if "float32:" in each)
    found, real = archives
    ratio = 10 * np.log10((real**2).sum() / ((found - real) ** 2).sum())
    assert line == f"against float32: SQNR {ratio:.1f} dB"


def test_engines_are_known_before_anything_is_compiled(model: Path) -> None:
    result = tandem("run", model, "--engine", "none")
    assert result.exit_code == 1
    assert result.stderr == (
        "error: no engine is called 'none': there are functional, rtl, pysim\n"
    )


def test_a_difference_is_told() -> None:
    def run(values: list[float], small: list[int]) -> Run:
        watched = {"a": np.array(small, np.int8)}
        return Run({"y": np.array(values, np.float32)}, Profile((), 0.0), watched)

    same = compare(run([1.5, float("nan")], [1, 2]), run([1.5, float("nan")], [1, 2]))
    assert (same.equal, same.mismatches, same.first) == (True, 0, "")
    assert (same.tensors, same.elements) == (2, 4)
    other = compare(run([1.5, 2.0], [1, 5]), run([1.5, -2.0], [1, 2]))
    assert (other.equal, other.mismatches, other.largest) == (False, 2, 4.0)
    assert other.first == "a[1] is 5 and has to be 2"
    assert other.as_json() == {
        "reference": "cpu",
        "equal": False,
        "mismatches": 2,
        "max_abs_diff": 4.0,
        "first": "a[1] is 5 and has to be 2",
    }
