"""`tandem.utilization`: a table that is the verb's, and refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tandem
from tandem.api.measuring import Utilization, utilization
from tandem.scripts.cli import app
from tandem.workbench.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConvolutionError,
    MissingPackageError,
    UntimedError,
)
from tandem.workbench.pages.picture import encode
from tandem.workbench.utilization.models import layers_of as model_layers

LAYERS = {"a": (4, 4, 8, 8, 3, 1, 1), "b": (4, 4, 8, 16, 1, 2, 0)}


@pytest.fixture(scope="module")
def found() -> Utilization:
    return utilization(LAYERS, machine="small8", memory="edge", seed=1)


def test_the_verb_prints_the_same(found: Utilization) -> None:
    options = [f"--layer={name}={','.join(map(str, of))}" for name, of in LAYERS.items()]
    arguments = [*options, "--config", "small8", "--memory", "edge", "--seed", "1", "--json"]
    printed = json.loads(CliRunner().invoke(app, ["utilization", *arguments]).stdout)
    rows = [{key: row[key] for key in row if key != "convolution"} for row in found]
    assert rows == printed["layers"]
    assert found.total.as_json() == printed["total"]


def test_the_total_is_the_last_line(found: Utilization) -> None:
    assert found.total.cycles_with == found["cycles_with"].sum()
    lines = repr(found).splitlines()
    assert len(lines) == len(found) + 2
    assert lines[-1].split()[:2] == ["total", "2"]
    assert found["macs"].tolist() == [4 * 4 * 8 * 8 * 9, 2 * 2 * 8 * 16]


def test_the_verb_draws_the_same(
    found: Utilization, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [f"--layer={name}={','.join(map(str, of))}" for name, of in LAYERS.items()]
    arguments = [*options, "--config", "small8", "--memory", "edge", "--seed", "1"]
    for call in ("plot", "roofline"):
        file = tmp_path / f"{call}.svg"
        done = CliRunner().invoke(app, ["utilization", *arguments, f"--{call}", str(file)])
        assert done.exit_code == 0, done.output
        own, theirs = encode(getattr(found, call)(), "svg"), file.read_bytes()
        # Clips have numbers that go on from picture to picture.
        assert re.sub(rb"clip\d+", b"", own) == re.sub(rb"clip\d+", b"", theirs)
    monkeypatch.setattr("tandem.workbench.pages.write._NEEDED", ("no_such_package",))
    for call in ("plot", "roofline"):
        with pytest.raises(MissingPackageError, match=f"{call} needs Altair, which is not install"):
            getattr(found, call)()


def test_models_and_names() -> None:
    heard: list[tuple[int, int]] = []
    found = utilization(
        tandem.load("digits"),
        machine=tandem.Accelerator("small8"),
        engine="functional",
        progress=lambda done, total, text: heard.append((done, total)),
    )
    assert found["count"].sum() == 9
    assert found.left_out == ()
    assert heard[-1] == (len(found), len(found))
    assert [row["cycles_with"] for row in found] == [None] * len(found)
    assert found.total.cycles_with is None
    with pytest.raises(UntimedError, match="plot needs cycles"):
        found.plot()


def test_what_is_left_out() -> None:
    """Convolutions in groups, as the command says."""
    _, wanted = model_layers("mobilenet-v1-tiny")
    found = utilization("mobilenet-v1-tiny", machine="tiny", engine="functional")
    assert found.left_out == wanted != ()


@pytest.mark.parametrize(
    ("layers", "options", "kind", "message"),
    [
        (["C99"], {}, ArgumentValueError, "layer 'C99': not one of ResNet-18's, C1, C2"),
        ({"a": (1, 2)}, {}, ArgumentTypeError, r"layer a is \(1, 2\): it must be 7 numbers: H, W"),
        ({"a": (4, 4, 8, 8, 9, 1, 0)}, {}, ArgumentValueError, "a window of 9x9 is larger than"),
        (3, {}, ArgumentTypeError, "layers is 3: it must be a mapping from names to numbers"),
        (LAYERS, {"engine": "cycles"}, ArgumentValueError, "no engine 'cycles'"),
        (LAYERS, {"machine": tandem.Cpu()}, ArgumentTypeError, "it must be an accelerator"),
        (LAYERS, {"seed": -1}, ArgumentValueError, "seed is -1"),
        (
            {"a": (8, 8, 16, 16, 3, 1, 1)},
            {"machine": "tiny"},
            ConvolutionError,
            "layer a: tiny is too small for the smallest tiles",
        ),
    ],
)
def test_refusals(layers: Any, options: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        utilization(layers, **options)
