"""`tandem run`: its JSON, its table, its errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner, Result

from tandem.scripts.cli import app
from tandem.workbench.models import Source
from tests.support.compiler.models.models import convolution

KEYS = [
    "model",
    "engine",
    "config",
    "cycles",
    "layers",
    "round_trips",
    "outputs",
    "calibration",
    "check",
    "compare",
    "wall_seconds",
    "simulated_cycles_per_second",
]
LAYER = ["name", "op", "device", "macs", "cycles", "utilization", "reason"]


def tandem(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return convolution(tmp_path_factory.mktemp("model") / "net.onnx")


@pytest.fixture(scope="module")
def artifact(model: Path) -> Path:
    path = model.with_name("net.tandem")
    assert tandem("compile", model, "-o", path, "--quantize", "none").exit_code == 0
    return path


def refused(message: str, *arguments: object) -> None:
    result = tandem("run", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_a_layer_in_float32(model: Path, tmp_path: Path) -> None:
    """By its name in the tables; the artifact says what was kept."""
    written = tmp_path / "net.tandem"
    options = ("--keep-float", "r", "--config", "tiny")
    assert tandem("compile", model, "-o", written, *options).exit_code == 0
    for found in (tandem("run", model, *options, "--json"), tandem("run", written, "--json")):
        layers = json.loads(found.stdout)["layers"]
        (layer,) = (each for each in layers if "conv2d" in each["op"])
        assert layer["device"] == "cpu"
        assert layer["reason"].startswith("conv2d, relu: it stays in float32, as asked for")
    refused("has no layer, node or operator 'rr'", model, "--keep-float", "rr")
    refused("--keep-float is for models", written, "--keep-float", "r")
    refused("--keep-float is for --quantize pow2", model, "--keep-float", "r", "--quantize", "none")


def test_json(model: Path) -> None:
    result = tandem("run", model, "--quantize", "none", "--json")
    assert result.exit_code == 0, result.stderr
    written = json.loads(result.stdout)
    assert [*written] == KEYS
    assert written["model"] == "net.onnx"
    assert [written[key] for key in ("engine", "config", "cycles", "check")] == [None] * 4
    assert all([*each] == LAYER for each in written["layers"])
    first = written["layers"][0]
    assert (first["op"], first["device"]) == ("conv2d+relu", "cpu")
    assert first["macs"] == 6 * 8 * 8 * 3 * 3 * 3
    assert first["reason"] == (
        "conv2d: its data is float32, not int8: quantisation, by --quantize multiplier or pow2, "
        "would help; relu: the accelerator has no schedule template for it"
    )
    (output,) = written["outputs"]
    assert (output["name"], output["shape"]) == ("out:0", [1, 6])
    assert len(output["top5"]) == 5
    assert written["wall_seconds"] > 0


def test_a_model_and_its_artifact_give_the_same(model: Path, artifact: Path) -> None:
    found = [
        json.loads(tandem("run", *which, "--json", "--seed", "3").stdout)["outputs"]
        for which in ([model, "--quantize", "none"], [artifact], [artifact, "--device", "cpu"])
    ]
    assert found[0] == found[1] == found[2]


def test_the_outputs_are_those_of_onnx_runtime(model: Path, artifact: Path, tmp_path: Path) -> None:
    image = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
    np.save(tmp_path / "image.npy", image)
    rival = pytest.importorskip("onnxruntime", reason="the extra `bench` brings it")
    session = rival.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, {"image": image})
    for threads in (1, 2):
        arguments = ["--input", tmp_path / "image.npy", "--output", tmp_path / "out.npz"]
        result = tandem("run", artifact, *arguments, "--threads", threads)
        assert result.exit_code == 0, result.stderr
        with np.load(tmp_path / "out.npz") as found:
            np.testing.assert_allclose(found["out:0"], wanted, rtol=1e-5, atol=1e-5)


def test_quantised_it_is_nearly_the_same(model: Path, tmp_path: Path) -> None:
    found = []
    for mode in ("none", "multiplier"):
        arguments = ["--quantize", mode, "--output", tmp_path / "out.npz"]
        assert tandem("run", model, *arguments).exit_code == 0
        with np.load(tmp_path / "out.npz") as outputs:
            found.append(outputs["out:0"])
    one, other = found
    assert 0 < np.abs(one - other).max() < 0.05 * np.abs(one).max()


def test_the_table(artifact: Path) -> None:
    result = tandem("run", artifact)
    assert result.exit_code == 0, result.stderr
    for part in ("net.onnx", "conv2d", "10,368", "total", "out:0: float32[1, 6], greatest at"):
        assert part in result.stdout


def test_why_operators_are_on_the_cpu(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # So that no reason folds.
    result = tandem("run", model, "--config", "tiny", "--explain")
    assert result.exit_code == 0, result.stderr
    (head, *rows) = result.stdout.split("\nlayer               on the CPU")[1].splitlines()
    assert head.split() == ["types", "and", "shapes,", "and", "why"]
    assert rows[0].split()[:2] == ["image_int8", "quantise"]
    assert rows[0].rstrip().endswith("float32[1, 3, 8, 8] -> int8[1, 3, 8, 8]")
    assert rows[1].rstrip().endswith("so that the CPU converts real numbers")
    text = "\n".join(rows)
    assert "dequantise: the accelerator has integers only" in text
    written = json.loads(tandem("run", model, "--config", "tiny", "--json").stdout)["layers"]
    for layer in written:
        assert (layer["reason"] is None) is (layer["device"] == "accelerator")
        if layer["reason"]:
            assert all(reason in text for reason in layer["reason"].split("; "))


def test_why_an_artifact_for_the_cpu_is_on_it(model: Path, tmp_path: Path) -> None:
    refused("--explain is for --device accelerator", model, "--device", "cpu", "--explain")
    path = tmp_path / "net.tandem"
    assert tandem("compile", model, "-o", path, "--device", "cpu").exit_code == 0
    result = tandem("run", path, "--explain")
    assert result.exit_code == 0, result.stderr
    assert "it was compiled for the CPU alone" in result.stdout
    layers = json.loads(tandem("run", path, "--json").stdout)["layers"]
    assert {each["reason"] for each in layers} == {None}


def test_the_table_says_if_nothing_is_on_the_accelerator(model: Path) -> None:
    said = "nothing of it is for the accelerator: the CPU did it all"
    for options, expected in ([], True), (["--device", "cpu"], False):
        result = tandem("run", model, "--quantize", "none", *options)
        assert (said in result.stdout) is expected


def test_compile_options_of_an_artifact(artifact: Path) -> None:
    refused("--quantize is for models", artifact, "--quantize", "none")
    refused("--calibrate is for models", artifact, "--calibrate", artifact)
    refused("--no-latency-hiding is for models", artifact, "--no-latency-hiding")
    refused("--config is for models", artifact, "--config", "tiny")


def test_what_it_refuses_before_it_looks_at_the_model(tmp_path: Path) -> None:
    none, absent = tmp_path / "none.onnx", tmp_path / "absent"
    refused(f"{absent}: No such file", none, "--input", absent)
    refused(f"{absent}: No such file", none, "--calibrate", absent)
    refused(f"{absent}: No such file", none, "--report", absent / "page.html")
    for option in (
        ["--check"],
        ["--no-latency-hiding"],
        # Their defaults, said aloud.
        ["--engine", "cycle"],
        ["--memory", "fast"],
        ["--config", "pynq"],
    ):
        refused(f"{option[0]} is for --device accelerator", none, "--device", "cpu", *option)
    refused("'none' is neither a model that is built in (digits, resnet18, ", "none")


def test_inputs_are_looked_at_before_anything_is_compiled(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled(*_: object) -> None:
        raise AssertionError("too late")

    monkeypatch.setattr(Source, "prepared", compiled)
    path = tmp_path / "x.npy"
    wanted = "input image of net.onnx is float32[1, 3, 8, 8], not "
    for array, message in (
        (np.zeros((1, 3, 8, 9), np.float32), f"{wanted}float32[1, 3, 8, 9]"),
        (np.zeros((1, 3, 8, 8)), f"{wanted}float64[1, 3, 8, 8]"),
        # Of two batches too.
        (np.zeros((2, 3, 8, 8), np.int8), f"{wanted}int8[1, 3, 8, 8]"),
    ):
        np.save(path, array)
        refused(message, model, "--input", path)
    np.savez(tmp_path / "x.npz", picture=np.zeros(1))
    refused(
        "net.onnx has no input picture; it takes image float",
        model,
        "--input",
        path.with_suffix(".npz"),
    )
    refused("there is a file for each input already", model, "--input", path, "--input", path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_integers_do_not_tell(model: Path, tmp_path: Path, value: float) -> None:
    """In the second of two batches, before the first runs."""
    images = np.zeros((2, 3, 8, 8), np.float32)
    images[1, 2, 0, 7] = value
    np.save(tmp_path / "x.npy", images)
    message = f"input image of net.onnx is {value} at [1, 2, 0, 7]: the network is quantised"
    for options in ([], ["--device", "cpu"]):
        refused(message, model, "--input", tmp_path / "x.npy", *options)
    result = tandem("run", model, "--quantize", "none", "--input", tmp_path / "x.npy")
    assert result.exit_code == 0, result.stderr


def test_what_it_refuses_before_a_run_on_the_cpu(model: Path, tmp_path: Path) -> None:
    for option in (
        ["--check"],
        ["--report", tmp_path / "a.html"],
        ["--trace", tmp_path / "a.json"],
    ):
        message = f"{option[0]}: nothing of net.onnx is on an accelerator"
        refused(message, model, "--quantize", "none", "--engine", "rtl", *option)
    assert not [*tmp_path.iterdir()]


def test_what_it_refuses(artifact: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 9), np.float32))
    wrong = ["--input", tmp_path / "x.npy"]
    refused("input image of net.onnx is float32[1, 3, 8, 8], not float32[1, 3", artifact, *wrong)
    refused("No such file", artifact, "--input", tmp_path / "none.npy")
    refused("ends in .npz", artifact, "--output", tmp_path / "out.bin")
    refused("No such file", artifact, "--output", tmp_path / "none" / "out.npz")
    refused("No such file", tmp_path / "none.onnx")
    damaged = bytearray(artifact.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    refused("damaged: this artifact is damaged: its checksum differs", tmp_path / "damaged")
    refused("nothing of net.onnx is on an accelerator", artifact, "--check")
    refused("--report shows the accelerator", artifact, "--device", "cpu", "--report", "a.html")
    refused("ends in .html", artifact, "--report", tmp_path / "page.pdf")
    refused("ends in .json", artifact, "--trace", tmp_path / "trace.txt")
    timeless = ["--engine", "functional"]
    refused("has no time", artifact, *timeless, "--trace", tmp_path / "trace.json")
    assert [each.name for each in sorted(tmp_path.iterdir())] == ["damaged", "x.npy"]


@pytest.mark.parametrize("clock", ["0", "-1", "nan", "inf", "fast"])
def test_clocks_that_are_none(clock: str) -> None:
    result = tandem("run", "digits", "--engine", "rtl", "--clock", clock)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"'{clock}' is no clock in MHz" in result.stderr


def test_a_clock_without_cycles(model: Path, artifact: Path) -> None:
    timeless = ["--engine", "functional", "--clock", "125"]
    refused("--clock needs cycles: the functional engine has no time", model, *timeless)
    refused("--clock is for --device accelerator", model, "--device", "cpu", "--clock", "125")
    options = ["--engine", "rtl", "--clock", "125"]
    refused("--clock: nothing of net.onnx is on an accelerator", artifact, *options)


def test_outputs_that_do_not_fit_on_the_disk(artifact: Path, tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from tandem.scripts.cli import main
import tandem.scripts.run.command
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
sys.argv = ["tandem", "run", sys.argv[1], "--output", "out.npz", "--json"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(artifact)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: out.npz: File too large\n"
    assert [*tmp_path.iterdir()] == []


def test_a_picture(artifact: Path, tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (20, 10), (200, 10, 10)).save(tmp_path / "red.png")
    found = [
        tandem("run", artifact, "--input", tmp_path / "red.png", "--json", *options).stdout
        for options in ([], ["--pixels", "unit"])
    ]
    one, other = (json.loads(each)["outputs"][0]["sha256"] for each in found)
    assert one != other


def test_names_of_files_that_are_no_text(model: Path, tmp_path: Path) -> None:
    path = Path(os.fsdecode(bytes(tmp_path) + b"/\xff.onnx"))
    path.write_bytes(model.read_bytes())
    assert tandem("compile", path, "-o", tmp_path / "a", "--device", "cpu").exit_code == 0
    found = json.loads(tandem("run", tmp_path / "a", "--json").stdout)
    assert found["model"] == "\\xff.onnx"


def test_a_terminal_without_the_characters_of_a_name(tmp_path: Path) -> None:
    graph = onnx.load(convolution(tmp_path / "net.onnx"))
    graph.graph.node[-1].output[0] = graph.graph.output[0].name = "größe"
    onnx.save(graph, tmp_path / "net.onnx")
    done = subprocess.run(
        [sys.executable, "-m", "tandem.scripts.cli", "run", "net.onnx", "--quantize", "none"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[3]),
            "PYTHONIOENCODING": "ascii",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert r"gr\xf6\xdfe: float32[1, 6]" in done.stdout
