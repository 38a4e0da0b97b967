"""`tandem tune --explain`: what choices beside a layer's own would cost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.scripts.cli import app
from tandem.scripts.tune.neighbours import causes_text
from tandem.sim.why.causes import Cause
from tandem.workbench.neighbours import ChoiceCost
from tests.support.compiler.models.models import convolution

MODEL = ("digits", "--config", "small8-x")
LAYER = "blocks_blocks_0_Relu_output_0"


def explain(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["tune", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_a_table_and_the_same_as_json() -> None:
    code, text, errors = explain(*MODEL, "--explain", LAYER)
    assert code == 0, errors
    _, printed, _ = explain(*MODEL, "--explain", LAYER, "--json")
    found = json.loads(printed)
    assert found["layer"] == LAYER
    assert text.startswith(f"{LAYER}: {found['cycles']:,} cycles, ")
    assert sum(found["causes"].values()) == found["cycles"]
    for beside in found["neighbours"]:
        assert sum(beside["causes"].values()) == beside["cycles"]
        assert f"{beside['cycles']:,}" in text
    # The compiler's choice is good: nothing beside it is better by a tenth.
    assert min(each["cycles"] for each in found["neighbours"]) > 0.9 * found["cycles"]


def test_with_records_it_is_the_recorded_choice(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    model = (convolution(tmp_path / "net.onnx"), *MODEL[1:])
    tune = (*model, "--records", records, "--trials", 3, "--explorer", "estimate", "--jobs", 1)
    code, _, errors = explain(*tune)
    assert code == 0, errors
    _, shown, _ = explain("--show", "--records", records, *model, "--json")
    best = {row["name"]: row["best"] for row in json.loads(shown)["tasks"]}
    layer = next(iter(best))
    code, printed, errors = explain(*model, "--records", records, "--explain", layer, "--json")
    assert code == 0, errors
    assert json.loads(printed)["cycles"] == best[layer]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--layer", "a=4,4,8,8,3,1,1", "--explain", "a"), "--explain is of a MODEL"),
        ((*MODEL, "--explain", LAYER, "--report", "page.html"), "--report is of a tuning"),
        ((*MODEL, "--explain", LAYER, "--trials", "64"), "--trials is of a tuning"),
        ((*MODEL, "--network", "--explorer", "exact"), "--explorer is of a tuning: --network"),
        ((*MODEL, "--network", "--explain", LAYER), "--explain or --network"),
        (("digits", "--device", "cpu", "--explain", LAYER), "--explain"),
        ((*MODEL, "--explain", "blocks"), "no layer of the accelerator is called 'blocks'"),
    ],
)
def test_refused(arguments: tuple[str, ...], message: str) -> None:
    code, text, errors = explain(*arguments)
    assert code in (1, 2)
    assert not text
    assert message in " ".join(errors.replace("│", " ").split())


def test_causes_that_change_little_are_left_out() -> None:
    causes = dict.fromkeys(Cause, 0)
    own = ChoiceCost(1_000, {**causes, Cause.GEMM: 900, Cause.ALU: 100}, 0, 0, 1)
    other = ChoiceCost(
        1_201, {**causes, Cause.GEMM: 1_000, Cause.ALU: 99, Cause.WAIT_LOAD: 102}, 0, 0, 1
    )
    assert causes_text(own, other) == "waits for loads +102, products +100"
    assert causes_text(own, own) == ""
