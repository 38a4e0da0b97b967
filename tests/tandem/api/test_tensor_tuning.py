"""`tandem.tune` of one's own operator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tandem
from tandem import te
from tandem.compiler.errors import Refusal
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32
from tandem.compiler.te.build import program_of
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError

HERE = tandem.Cpu(threads=1)


def layer() -> tuple[te.Tensor, te.Tensor]:
    """A product of matrices with a ReLU, and its weight."""
    x = te.placeholder((12, 16), FLOAT32, "x")
    w = te.placeholder((16, 24), FLOAT32, "w")
    k = te.reduce_axis(16, "k")
    product = te.compute((12, 24), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), "product")
    return te.compute((12, 24), lambda i, j: te.maximum(product[i, j], 0.0), "y"), w


def test_a_tensor_is_tuned(tmp_path: Path) -> None:
    y, w = layer()
    records = tmp_path / "records.jsonl"

    def tuned() -> tandem.Tuning:
        return tandem.tune(
            y, HERE, explorer="sketches", trials=4, constants=[w], records=records, seed=1
        )

    found = tuned()
    (row,) = found.tasks
    assert (row["name"], row["template"], row["trials"]) == ("y", "sketches", 4)
    assert found.default is not None
    assert found.best is not None
    assert 0 < found.best <= found.default
    assert not found.certified
    assert found.schedule is not None
    start = program_of([y])
    random = np.random.default_rng(0)
    arrays = [random.integers(-8, 9, each.shape).astype(np.float32) for each in start.inputs]
    (wanted,) = interpreter.run(start, arrays)
    (result,) = interpreter.run(found.schedule.program, arrays)
    np.testing.assert_array_equal(result, wanted)
    again = tuned()
    assert again.tasks.to_dict() == found.tasks.to_dict()
    assert again.schedule == found.schedule


def test_records_of_a_tensor_are_read(tmp_path: Path) -> None:
    y, w = layer()
    records = tmp_path / "records.jsonl"
    tandem.tune(y, HERE, explorer="sketches", trials=2, constants=[w], records=records)
    (known,) = tandem.records(records)
    assert known["template"] == "sketches"


_X = te.placeholder((4,), FLOAT32, "x")
_Y = te.compute((4,), lambda i: _X[i] + 1.0, "y")
_OTHER = te.placeholder((4,), FLOAT32, "other")


@pytest.mark.parametrize(
    ("model", "options", "kind", "message"),
    [
        (_Y, {}, ArgumentValueError, "a tensor is tuned with explorer='sketches', not 'xgboost'"),
        (_X, {"explorer": "sketches"}, ArgumentValueError, "x is a placeholder"),
        (
            _Y,
            {"explorer": "sketches", "constants": [_OTHER]},
            ArgumentValueError,
            "constants has other: y reads x",
        ),
        (
            _Y,
            {"explorer": "sketches", "constants": ["x"]},
            ArgumentTypeError,
            "constants has 'x': placeholders of te are expected",
        ),
        ("digits", {"reassociate": True}, ArgumentValueError, "reassociate are of a tensor"),
    ],
)
def test_refusals(model: Any, options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        tandem.tune(model, HERE, **options)


def test_an_accelerator_refuses_what_no_instruction_computes() -> None:
    with pytest.raises(Refusal, match="y has to be a cast to int8"):
        tandem.tune(_Y, "pynq", explorer="sketches")


def test_a_tensor_is_tuned_on_an_accelerator(tmp_path: Path) -> None:
    """A product of 1x1 with its channels last, which no template matches."""
    x, w = te.placeholder((4, 6, 8), INT8, "x"), te.placeholder((8, 12), INT8, "w")
    c = te.reduce_axis(8, "c")
    sums = te.compute(
        (4, 6, 12),
        lambda i, j, o: te.sum(te.cast(x[i, j, c], INT32) * te.cast(w[c, o], INT32), axis=c),
        "sums",
    )
    y = te.compute((4, 6, 12), lambda i, j, o: te.cast(sums[i, j, o] >> 4, INT8), "y")
    records = tmp_path / "records.jsonl"

    def tuned() -> tandem.Tuning:
        return tandem.tune(
            y, tandem.Accelerator("tiny"), explorer="sketches", trials=4, records=records
        )

    found = tuned()
    (row,) = found.tasks
    assert (row["name"], row["template"]) == ("y", "array_sketches")
    assert found.default is not None
    assert found.best is not None
    # 24 pixels, 3 blocks of outputs and 2 of inputs.
    assert 24 * 3 * 2 < found.best <= found.default
    assert found.schedule is not None
    assert "invoke gemm" in str(found.schedule)
    assert tuned().tasks.to_dict() == found.tasks.to_dict()
    with pytest.raises(ArgumentValueError, match="reassociate is of floats"):
        tandem.tune(y, "tiny", explorer="sketches", reassociate=True)
