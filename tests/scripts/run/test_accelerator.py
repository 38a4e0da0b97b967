"""`tandem run` on the simulated accelerator."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner, Result

from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.hw.synthesis import place
from tandem.hw.synthesis.nextpnr import Device
from tandem.hw.synthesis.routes import Route, Timing
from tandem.runtime.artifact import (
    Arena,
    Artifact,
    Input,
    Manifest,
    PaddedAxis,
    Port,
    Provenance,
    Tensor,
)
from tandem.runtime.executor import Run
from tandem.runtime.joined import join_runs
from tandem.runtime.profile import Profile
from tandem.scripts.cli import app
from tandem.sim.rtl.design import verilog_of
from tandem.workbench.device_comparison import compare
from tests.support.compiler.models.models import convolution, one_channel


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


def test_milliseconds_at_a_clock_that_is_named(model: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    options = ["run", model, "--engine", "rtl", "--config", "tiny", "--clock", "62.5"]
    written = json.loads(tandem(*options, "--json", "--report", page).stdout)
    assert [*written][3:6] == ["cycles", "clock", "milliseconds"]
    assert written["clock"] == {"mhz": 62.5, "source": "as given"}
    assert written["milliseconds"] == pytest.approx(written["cycles"] / 62_500)
    assert "<span>at 62.5 MHz, as given</span>" in page.read_text()
    line = f"accelerator: {written['milliseconds']:,.3f} ms at 62.5 MHz, as given\n"
    assert line in tandem(*options).stdout


def test_milliseconds_at_a_clock_that_was_measured(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, artifact = tmp_path / "page.html", tmp_path / "net.tandem"
    assert tandem("compile", model, "--config", "tiny", "-o", artifact).exit_code == 0
    options = ["run", artifact, "--engine", "cycle", "--json", "--report", page]
    found: list[Timing | None] = [None]
    asked: list[tuple[VerilogDesign, list[int]]] = []

    def cached(design: VerilogDesign, *, seeds: Iterable[int]) -> Timing | None:
        asked.append((design, [*seeds]))
        return found[0]

    monkeypatch.setattr(place, "cached_timing", cached)
    none = json.loads(tandem(*options).stdout)
    assert "No clock is known" in page.read_text()
    routes = tuple(Route(seed, mhz, ()) for seed, mhz in enumerate((80.0, 89.87, 95.0), 1))
    found[0] = Timing(Device.ECP5_85, 6, routes)
    known = json.loads(tandem(*options).stdout)
    card = "<span>at 89.9 MHz, measured: ECP5 85k, speed 6, median of 3 seeds</span>"
    assert card in page.read_text()
    # JSON does not depend on the cache.
    assert [*none] == [*known]
    assert "clock" not in known
    design, seeds = asked[0]
    assert (design, seeds) == (verilog_of(load_config("tiny")), [1, 2, 3])
    # Without a page, the cache is not read.
    assert tandem(*options[:-2]).exit_code == 0
    assert len(asked) == 2


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
    assert (written["engine"], written["config"]) == ("cycle", "small8")
    assert written["cycles"] > 0
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
    timeless = ["--engine", "functional", "--config", "tiny", "--report", page]
    result = tandem("run", model, "--input", paths[0], *timeless)
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
        "error: no engine is called 'none': there are functional, cycle, rtl, pysim\n"
    )


@pytest.mark.parametrize("images", [1, 2])
def test_rows_of_a_block_without_an_image_are_not_compared(images: int, tmp_path: Path) -> None:
    path = convolution(tmp_path / "net.onnx", (images, 3, 8, 8))
    result = tandem("run", path, "--config", "batch2", "--check", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["check"]["equal"] is True


def test_lanes_of_a_block_without_a_channel_are_not_compared(tmp_path: Path) -> None:
    """Of both of two batches, one channel of images of 6 x 2; and five channels before it."""
    onnx.save(one_channel(), tmp_path / "net.onnx")
    np.save(
        tmp_path / "x.npy", np.random.default_rng(0).normal(size=(2, 5, 6, 2)).astype(np.float32)
    )
    options = ("--config", "block4", "--quantize", "pow2", "--input", tmp_path / "x.npy")
    result = tandem("run", tmp_path / "net.onnx", *options, "--check")
    assert result.exit_code == 0, result.stderr
    elements = 2 * (6 * 2 * 5 + 6 * 2 + 6 * 2)  # Packed, computed and unpacked.
    assert f"equal to the CPU's, every bit: {elements} elements, tensors compared: 3" in (
        result.stdout
    )


def results(*values: int) -> Run:
    """A run whose result is `y`."""
    return Run({"y": np.array(values, np.int64)}, Profile((), 0.0), {})


def network(*tensors: Tensor, dtype: str = "int64") -> Artifact:
    """A network that returns its input `x` as `y`, and has other tensors."""
    tensors = (Tensor("x", (2,), dtype, Input()), *tensors)
    ports = (Port("x", "x"),), (Port("y", "x"),)
    return Artifact(Manifest("net", Provenance("net"), tensors, *ports, (), 64), {}, {})


def test_padding_is_not_compared() -> None:
    """Of a tensor that has the name of a result, which is compared whole."""

    def run(*blocks: int) -> Run:
        return replace(results(1, 2), watched={"y": np.array([blocks], np.int8)})

    padded = Tensor("y", (1, 2), "int8", Arena(0), padded=(PaddedAxis(1, 0, 1),))
    artifact = network(padded)
    same = compare(run(1, 2), run(1, 100), artifact)
    assert (same.equal, same.elements) == (True, 1 + 2)
    other = compare(run(5, 2), run(1, 100), artifact)
    assert (other.mismatches, other.largest) == (1, 4.0)
    assert other.first == "y[0, 0] is 5 and has to be 1"
    joined = compare(join_runs([run(1, 2)] * 2), join_runs([run(1, 100)] * 2), artifact)
    assert (joined.equal, joined.elements) == (True, 2 + 4)


def test_batches_that_take_different_branches() -> None:
    """Each writes the tensors of its branch."""

    def run(**watched: int) -> Run:
        arrays = {name: np.array([value], np.int8) for name, value in watched.items()}
        return replace(results(1, 2), watched=arrays)

    artifact = network(*(Tensor(name, (1,), "int8", Arena(0)) for name in "ab"))
    joined = join_runs([run(a=1), run(b=2), run(b=3)])
    assert {name: array.tolist() for name, array in joined.watched.items()} == {
        "a": [[1]],
        "b": [[2], [3]],
    }
    assert compare(joined, joined, artifact).equal
    other = compare(joined, join_runs([run(a=1), run(b=2), run(b=4)]), artifact)
    assert (other.mismatches, other.first) == (1, "b[1, 0] is 3 and has to be 4")


def test_one_device_takes_another_branch() -> None:
    artifact = network(*(Tensor(name, (1,), "int8", Arena(0)) for name in "ab"))
    a, b = (replace(results(1, 2), watched={name: np.zeros(1, np.int8)}) for name in "ab")
    found = compare(a, b, artifact)
    assert not found.equal
    assert found.mismatches == 2
    assert found.first == "b is [0] and has to be [1]"


def test_results_of_different_shapes() -> None:
    other = compare(results(1, 2), results(1, 2, 3), network())
    assert (other.equal, other.elements, other.mismatches) == (False, 3, 3)
    assert other.first == "y is [2] and has to be [3]"
    assert other.as_json()["max_abs_diff"] is None


def test_a_difference_is_told() -> None:
    def run(values: list[float], small: list[int]) -> Run:
        watched = {"a": np.array(small, np.int8)}
        return Run({"y": np.array(values, np.float32)}, Profile((), 0.0), watched)

    artifact = network(Tensor("a", (2,), "int8", Arena(0)), dtype="float32")
    same = compare(run([1.5, float("nan")], [1, 2]), run([1.5, float("nan")], [1, 2]), artifact)
    assert (same.equal, same.mismatches, same.first) == (True, 0, "")
    assert (same.tensors, same.elements) == (2, 4)
    other = compare(run([1.5, 2.0], [1, 5]), run([1.5, -2.0], [1, 2]), artifact)
    assert (other.equal, other.mismatches, other.largest) == (False, 2, 4.0)
    assert other.first == "a[1] is 5 and has to be 2"
    assert other.as_json() == {
        "reference": "cpu",
        "equal": False,
        "mismatches": 2,
        "max_abs_diff": 4.0,
        "first": "a[1] is 5 and has to be 2",
    }
