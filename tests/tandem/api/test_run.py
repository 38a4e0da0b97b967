"""A network from a file to its outputs, against ONNX's reference; and all that a run tells."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec import structs
from onnx.reference import ReferenceEvaluator

import tandem
from tandem.hw.memory_model import MemoryModel
from tandem.workbench.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LabelsError,
    MissingPackageError,
    UntimedError,
)

Image = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
LAYER = "r"


@pytest.fixture(scope="module")
def session(artifact: tandem.Artifact) -> tandem.Session:
    return tandem.Session(artifact, memory=MemoryModel(16), threads=1)


@pytest.fixture(scope="module")
def run(session: tandem.Session, image: Image) -> tandem.Run:
    return session.run({"image": image})


def reference(path: Path, image: Image) -> Image:
    (found,) = ReferenceEvaluator(onnx.load(path)).run(None, {"image": image})
    return np.asarray(found)


def test_outputs_are_those_of_the_model(run: tandem.Run, model_file: Path, image: Image) -> None:
    wanted = reference(model_file, image)
    error = np.square(run["out:0"] - wanted).sum() / np.square(wanted).sum()
    assert run["out:0"].shape == wanted.shape
    assert 0 < error < 1e-3
    assert [*run.outputs] == ["out:0"]


def test_float32_on_the_cpu(model_file: Path, image: Image) -> None:
    artifact = tandem.compile(model_file, tandem.Cpu(threads=1), quantize=None)
    assert artifact.machine is None
    run = tandem.Session(artifact, threads=1).run(image)
    np.testing.assert_allclose(run["out:0"], reference(model_file, image), rtol=1e-5, atol=1e-6)
    assert run.cycles is run.utilization is None
    with pytest.raises(UntimedError, match=r"all of net.onnx was on the CPU"):
        run.trace("timeline.json")


def test_time(run: tandem.Run) -> None:
    layers = run.layers
    on_accelerator = layers["device"].index("accelerator")
    assert layers["cycles"][on_accelerator] > 0
    assert np.nansum(layers["cycles"]) == run.cycles
    assert run.cycles is not None
    macs = layers["macs"][~np.isnan(layers["cycles"])].sum()
    assert run.utilization == pytest.approx(macs / (run.cycles * tandem.Accelerator("tiny").macs))
    assert run.seconds > 0


def test_the_verb_prints_the_same(
    run: tandem.Run, artifact: tandem.Artifact, tmp_path: Path, image: Image
) -> None:
    from typer.testing import CliRunner

    from tandem.scripts.cli import app

    artifact.save(tmp_path / "net.tandem")
    np.save(tmp_path / "image.npy", image)
    arguments = ["run", "net.tandem", "--input", "image.npy", "--why", LAYER, "--json"]
    arguments = [str(tmp_path / each) if (tmp_path / each).exists() else each for each in arguments]
    result: dict[str, Any] = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert result["cycles"] == run.cycles
    for own, theirs in zip(run.layers, result["layers"], strict=True):
        names = {"name": "name", "operators": "op", "device": "device", "macs": "macs"}
        names |= {"cycles": "cycles", "utilization": "utilization", "reason": "reason"}
        assert {names[key]: own[key] for key in names} == theirs
    why = run.why(LAYER)
    assert result["why"]["cycles"] == why.cycles
    assert [*result["why"]["parts"].values()] == why.parts["cycles"].tolist()
    assert [edge["end"] for edge in result["why"]["path"]] == why.path["end"].tolist()


def test_the_verb_writes_the_same_page(
    run: tandem.Run, model_file: Path, image: Image, tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    from tandem.scripts.cli import app

    def content(path: Path) -> str:
        """The page without its footer, and without the times of this computer."""
        text = path.read_text("utf-8")
        assert ("<pre>run.report(" in text) is (path.name == "page.html")
        text = re.sub(r"<footer>.*?</footer>", "", text, flags=re.DOTALL)
        return re.sub(r"[\d.,e-]+ ms|<td>\d\.\d{3}</td>", "", text)

    np.save(tmp_path / "image.npy", image)
    heard: list[str] = []
    labels = [int(run["out:0"].argmax())]
    run.report(
        tmp_path / "page.html",
        mhz=100,
        losses=True,
        labels=labels,
        progress=lambda done, total, text: heard.append(text),
    )
    np.save(tmp_path / "labels.npy", labels)
    arguments = ["run", str(model_file), "--config", "tiny", "--memory", run.memory, "--accuracy"]
    arguments += ["--clock", "100", "--threads", "1", "--report", str(tmp_path / "verb.html")]
    for option in ("--input", "--calibrate"):
        arguments += [option, str(tmp_path / "image.npy")]
    done = CliRunner().invoke(app, [*arguments, "--labels", str(tmp_path / "labels.npy")])
    assert done.exit_code == 0, done.output
    assert content(tmp_path / "page.html") == content(tmp_path / "verb.html")
    assert any("r" in text for text in heard)


def test_pages_are_html_of_an_accelerator(
    run: tandem.Run, model_file: Path, image: Image, tmp_path: Path
) -> None:
    with pytest.raises(ArgumentValueError, match=r"page.pdf: a report ends in .html"):
        run.report(tmp_path / "page.pdf")
    with pytest.raises(ArgumentTypeError, match="mhz is 'fast': it must be a number above 0"):
        run.report(tmp_path / "page.html", mhz="fast")  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="0"):
        run.report(tmp_path / "page.html", mhz=0)
    artifact = tandem.compile(model_file, tandem.Cpu(threads=1), quantize=None)
    with pytest.raises(UntimedError, match=r"report needs an accelerator: all of net.onnx was on"):
        tandem.Session(artifact, threads=1).run(image).report(tmp_path / "page.html")
    assert not [*tmp_path.iterdir()]


def test_what_draws_may_be_missing(
    run: tandem.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tandem.workbench.pages.write._NEEDED", ("no_such_package",))
    with pytest.raises(MissingPackageError, match=r"pip install 'tandem-workbench\[report\]'"):
        run.report(tmp_path / "page.html")


def test_why(run: tandem.Run) -> None:
    why = run.why(LAYER)
    assert why.cycles == why.parts["cycles"].sum() == why.path["cycles"].sum()
    assert why.parts["share"].sum() == pytest.approx(1)
    assert repr(why).startswith(f"{LAYER}: {why.cycles:,} cycles\ncause ")
    with pytest.raises(ArgumentValueError, match="no layer of the accelerator 'R': there are r"):
        run.why("R")


def test_losses_and_round_trips(
    run: tandem.Run, artifact: tandem.Artifact, image: Image, tmp_path: Path
) -> None:
    losses = run.losses()
    assert set(losses["name"]) == {"image", "r", "g"}
    assert (losses["own_sqnr"] >= losses["sqnr"]).all()
    assert (losses["sqnr"] > 20).all()
    assert len(run.round_trips) == 0
    artifact.save(tmp_path / "net.tandem")
    with tandem.Session(tandem.Artifact.load(tmp_path / "net.tandem")) as session:
        loaded = session.run(image)
    with pytest.raises(ArgumentValueError, match="has no real numbers to compare with"):
        loaded.losses()


def test_classes_are_found(run: tandem.Run) -> None:
    best = int(run["out:0"].argmax())
    found = run.accuracy([best])
    assert found.int8 is not None
    assert (found.int8.top1, found.int8.samples) == (1, 1)
    with pytest.raises(LabelsError, match="has 2 labels, and --input 1 samples"):
        run.accuracy([best, best])
    with pytest.raises(ArgumentTypeError, match="it must be a sequence of whole numbers"):
        run.accuracy([0.5])


def test_a_timeline(run: tandem.Run, tmp_path: Path) -> None:
    run.trace(str(tmp_path / "run.json"))
    assert json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    with pytest.raises(ArgumentValueError, match=r"run\.txt: a timeline is a file that ends in"):
        run.trace(tmp_path / "run.txt")
    with pytest.raises(OSError, match="No such file"):
        run.trace(tmp_path / "no" / "run.json")


def test_a_timeline_is_of_the_longest_stream(run: tandem.Run, tmp_path: Path) -> None:
    (first,) = run.runs
    (stream,) = first.profile.streams
    assert stream.cycles is not None
    code = stream.stream
    renamed = tuple(structs.replace(layer, name=f"short_{layer.name}") for layer in code.layers)
    short = replace(
        stream,
        stream=replace(code, layers=renamed),
        result=replace(stream.result, cycles=stream.cycles - 1),
    )
    steps = [
        replace(step, run=one)
        for step in first.profile.steps
        if step.stream is not None
        for one in (short, stream, short)
    ]
    profile = replace(first.profile, steps=steps)
    three = replace(run, runs=(replace(first, profile=profile),))
    three.trace(tmp_path / "three.json")
    run.trace(tmp_path / "one.json")
    assert (tmp_path / "three.json").read_text() == (tmp_path / "one.json").read_text()
    assert renamed[0].name not in (tmp_path / "three.json").read_text()


def test_without_time(artifact: tandem.Artifact, run: tandem.Run, image: Image) -> None:
    with tandem.Session(artifact, engine="functional") as session:
        untimed = session.run(image)
    assert (untimed["out:0"] == run["out:0"]).all()
    assert untimed.cycles is None
    for call in (lambda: untimed.why(LAYER), lambda: untimed.trace("x.json")):
        with pytest.raises(UntimedError, match="needs cycles: the engine functional counts none"):
            call()
    with pytest.raises(ArgumentValueError, match="is closed"):
        session.run(image)


def test_batches_are_joined(session: tandem.Session, run: tandem.Run, image: Image) -> None:
    both = session.run(np.concatenate([image, -image]))
    assert both["out:0"].shape == (2, 6)
    assert (both["out:0"][:1] == run["out:0"]).all()
    assert both.cycles == 2 * (run.cycles or 0)
    assert "2 batches" in repr(both)


def test_it_fits_on_a_screen(run: tandem.Run) -> None:
    lines = repr(run).splitlines()
    assert lines[0] == "net.onnx on tiny, engine cycle, memory latency=16,interval=1,in_flight=16"
    assert lines[1] == f"  cycles   {run.cycles:,}, utilisation {run.utilization:.1%}"
    assert lines[-1].startswith("  output   out:0 float32[1, 6], greatest at ")
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("inputs", "kind", "message"),
    [
        ({}, ValueError, r"input image of net.onnx is missing; it takes image float32\[1, 3, 8, 8"),
        ({"picture": 1}, ValueError, "has no input picture; it takes image"),
        (np.zeros((1, 3, 8, 8)), ValueError, r"is float32\[1, 3, 8, 8\], not float64"),
        (np.full((1, 3, 8, 8), np.nan, np.float32), ValueError, "is nan at"),
        ("image.npy", TypeError, "the input of net.onnx is 'image.npy': .* a mapping, or an array"),
    ],
)
def test_wrong_inputs(
    session: tandem.Session, inputs: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(tandem.Error, match=message) as caught:
        session.run(inputs)
    assert isinstance(caught.value, kind)


def test_a_notebook_shows_its_layers(run: tandem.Run) -> None:
    html = run._repr_html_()
    assert html.startswith("<pre>net.onnx on tiny, ")
    assert html.count("<tr>") == len(run.layers) + 1


def test_milliseconds(run: tandem.Run) -> None:
    assert run.milliseconds(100) == pytest.approx((run.cycles or 0) / 100e3)
    with pytest.raises(ArgumentValueError, match="a clock of 0 MHz: it must be a finite number"):
        run.milliseconds(0)


def test_wrong_outputs(run: tandem.Run) -> None:
    with pytest.raises(ArgumentValueError, match="no output 'out': there are out:0"):
        run["out"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "cycles"}, "no engine 'cycles': .*mean cycle"),
        ({"memory": "slow"}, "memory 'slow': expected one of fast, ddr, edge"),
        ({"threads": 0}, "threads is 0: it must be 1 or more"),
    ],
)
def test_wrong_options(artifact: tandem.Artifact, options: Any, message: str) -> None:
    with pytest.raises(ArgumentValueError, match=message):
        tandem.Session(artifact, **options)


def test_an_artifact_is_wanted() -> None:
    with pytest.raises(ArgumentTypeError, match="it must be an Artifact"):
        tandem.Session("net.tandem")  # type: ignore[arg-type]
