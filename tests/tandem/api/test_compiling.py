"""`tandem.compile`: what its options change, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tandem
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError

Image = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def test_hiding_latency_takes_fewer_cycles() -> None:
    model = tandem.load("digits")
    cycles = []
    for hide_latency in (True, False):
        artifact = tandem.compile(model, "small8", hide_latency=hide_latency)
        cycles.append(tandem.Session(artifact).run(artifact.noise()).cycles or 0)
    assert 0 < cycles[0] < cycles[1]


def test_calibration_may_have_any_form(model_file: Path, image: Image, tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", image)
    forms = (image, {"image": image}, [{"image": image}], [image], str(tmp_path / "image.npy"))
    outputs = [
        tandem.Session(tandem.compile(model_file, tandem.Cpu(threads=1), calibrate=form)).run(
            image
        )["out:0"]
        for form in forms
    ]
    assert all((output == outputs[0]).all() for output in outputs)
    larger = tandem.compile(model_file, tandem.Cpu(threads=1), calibrate=10 * image)
    assert (tandem.Session(larger).run(image)["out:0"] != outputs[0]).any()


def test_noise_is_a_warning(model_file: Path) -> None:
    with pytest.warns(UserWarning, match=r"net.onnx is calibrated with noise: .* calibrate= takes"):
        tandem.compile(model_file, tandem.Cpu(threads=1))


def test_progress(model_file: Path, image: Image) -> None:
    heard: list[tuple[int, int, str]] = []
    tandem.compile(
        model_file,
        tandem.Cpu(threads=1),
        calibrate=image,
        progress=lambda done, total, text: heard.append((done, total, text)),
    )
    assert (0, 0, "calibrating") in heard


def test_a_bar(model_file: Path, image: Image) -> None:
    artifact = tandem.compile(model_file, tandem.Cpu(threads=1), calibrate=image, progress=True)
    assert artifact.name == "net.onnx"


def test_a_layer_in_float32(model_file: Path) -> None:
    """It is on the CPU, where its reason is said."""
    image = np.random.default_rng(0).standard_normal((8, 3, 8, 8), np.float32)
    plain, kept = (
        tandem.compile(model_file, "tiny", calibrate=image, keep_float=names)
        for names in ((), "Conv")
    )
    devices = [
        {row["device"] for row in artifact.explain() if "conv2d" in str(row["operators"])}
        for artifact in (plain, kept)
    ]
    assert devices == [{"accelerator"}, {"cpu"}]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"quantize": "int4"},
            ArgumentValueError,
            "no quantize 'int4': there are multiplier, pow2",
        ),
        ({"quantize": None, "calibrate": 1}, ArgumentValueError, "calibrate is for quantize='mult"),
        ({"quantize": None, "keep_float": "r"}, ArgumentValueError, "keep_float is for quantize="),
        ({"keep_float": 3}, ArgumentTypeError, "keep_float is 3: it must be a sequence of names"),
        ({"keep_float": [3]}, ArgumentTypeError, "a name of keep_float is 3: it must be a str"),
        ({"keep_float": ["rr"]}, tandem.Error, "no layer, node or operator 'rr'"),
        ({"machine": "tinny"}, ArgumentValueError, "'tinny' is neither a preset"),
        ({"machine": 3}, ArgumentTypeError, "machine is 3: it must be an Accelerator, a Cpu"),
        ({"memory": 3}, ArgumentTypeError, "memory is 3: it must be a name, latency=N"),
        ({"pixels": "raw"}, ArgumentValueError, "no pixels 'raw': there are imagenet, unit"),
        ({"records": "no.jsonl"}, ArgumentValueError, "no.jsonl"),
        ({"calibrate": np.zeros(3, np.float32)}, ArgumentValueError, "input image of net.onnx is"),
        ({"progress": 1}, ArgumentTypeError, "progress is 1: it must be None, True, or a callback"),
    ],
)
def test_refusals(model_file: Path, options: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        tandem.compile(model_file, **{"machine": "tiny", **options})


def test_layers_have_formats_of_weights_by_name() -> None:
    formats = {"blocks_blocks_2_*": "int4", "output": "ternary"}
    artifact = tandem.compile("digits", "small8-w", weights_of=formats)
    found = [row["weights"] for row in artifact.explain() if row["weights"] is not None]
    assert {"int4/32", "ternary", "int8"} <= set(found)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"weights_of": "output=int4"}, ArgumentTypeError, "weights_of is str: a mapping"),
        ({"weights_of": {"output": 4}}, ArgumentTypeError, "weights_of has 'output': 4; strings"),
        ({"weights_of": {"output": "int5"}}, ArgumentValueError, "'int5' is no format: int8, "),
        ({"weights_of": {"fc": "int8"}, "max_loss": 3}, ArgumentValueError, "for other weights"),
        (
            {"weights_of": {"fc": "int8"}, "weight_group": 32},
            ArgumentValueError,
            "for other weights",
        ),
        ({"weights": "int3"}, ArgumentValueError, "no weights 'int3': there are int8, "),
        (
            {"weights": "int4", "weight_group": 48},
            ArgumentValueError,
            "weight_group is 48: 16, 32, 64, 128 are allowed",
        ),
        *(
            (
                {"weights": "int4", "max_loss": loss},
                ArgumentValueError,
                f"max_loss is {loss!r}: decibels, 0 or more, are allowed",
            )
            for loss in (-0.5, float("nan"), "1")
        ),
        (
            {"smooth": True, "quantize": None},
            ArgumentValueError,
            "weights and smooth are for quantize=",
        ),
        (
            {"weights_of": {"fc": "int4"}, "quantize": None},
            ArgumentValueError,
            "weights and smooth are for quantize=",
        ),
    ],
)
def test_formats_of_layers_that_are_not_allowed(
    given: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        tandem.compile("digits", "small8-w", **given)


def test_layers_that_nothing_has() -> None:
    with pytest.raises(tandem.Error, match="weights of fc: no layer with weights has such a name"):
        tandem.compile("digits", "small8-w", weights_of={"fc": "int4"})
