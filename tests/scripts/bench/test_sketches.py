"""Sketches beside the compiler's own schedules: models of one operator, and what a row says."""

from __future__ import annotations

import sys
from math import isfinite
from pathlib import Path

import numpy as np
import onnx
import pytest

from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.tasks import Task
from tandem.scripts.bench import sketches
from tandem.scripts.bench.own_expressions import EXPRESSIONS
from tandem.scripts.bench.sketches import (
    OPERATORS,
    Compared,
    Operator,
    compared,
    seconds_of,
    tasks_of,
)
from tandem.workbench.devices import Cpu

SMALL = Operator("product", "MatMul", ((4, 8), (8, 16)))
WINDOWS = Operator(
    "windows", "Conv", ((1, 16, 12, 12),), ((16, 16, 3, 3),), (("pads", [1, 1, 1, 1]),)
)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_models_are_of_one_operator(operator: Operator, tmp_path: Path) -> None:
    path = tmp_path / "operator.onnx"
    operator.save(path)
    model = onnx.load(path)
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
    (node,), (result,) = inferred.node, inferred.output
    assert node.op_type == operator.kind
    assert all(each.dim_value for each in result.type.tensor_type.shape.dim)
    shapes = [tuple(each.dims) for each in model.graph.initializer]
    assert shapes == [*operator.weights]
    assert len(model.graph.input) == len(operator.data)


def test_weights_are_scaled_by_their_terms(tmp_path: Path) -> None:
    """Results of noise are about as large as it is, whatever is added."""
    path = tmp_path / "operator.onnx"
    WINDOWS.save(path)
    (weight,) = onnx.load(path).graph.initializer
    spread = float(np.std(onnx.numpy_helper.to_array(weight)))
    assert spread == pytest.approx(1 / np.sqrt(16 * 9), rel=0.1)


def test_a_kernel_without_a_template() -> None:
    said: list[str] = []
    (task,) = tasks_of(SMALL, Cpu(1))
    (one,) = compared("product", [task], Cpu(1), 2, None, said.append)
    assert (one.name, one.trials, one.failed, one.direct) == ("product", 2, 0, None)
    assert 0 < one.best < 1
    assert one.ratio == pytest.approx(one.default / one.best, rel=0.9)
    assert 0 < seconds_of(Cpu(1))(task, one.choice) < 1
    assert task.knows(one.choice)
    assert said == []


def test_winograd_s_sums_are_others() -> None:
    """Beside Winograd's schedule the expression's own sums have a row too."""
    windows = next(each for each in OPERATORS if each.name == "conv2d 3x3")
    (one,) = compared("windows", tasks_of(windows, Cpu(1)), Cpu(1), 2, None, print)
    assert one.template == "winograd"
    assert one.direct is not None
    seconds, ratio = one.direct
    assert 0 < seconds < 1
    assert isfinite(ratio)


def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each kernel, and one for its own sums; the mean is of the first ones."""
    choice: Choice = {}
    asked: list[tuple[str, int]] = []

    def found(
        name: str, tasks: list[Task], device: Cpu, trials: int, *rest: object
    ) -> list[Compared]:
        asked.append((name, trials))
        direct = (4e-6, 2.0) if name == "dense" else None
        return [
            Compared(
                name, "dense", trials, 1, 2e-6, 1e-6, {"dense": 0.5}.get(name, 2), 3, choice, direct
            )
        ]

    monkeypatch.setattr(sketches, "compared", found)
    own = next(iter(EXPRESSIONS))
    monkeypatch.setattr(sys, "argv", ["sketches", "--trials", "7", "--only", "dense", own])
    sketches.main()
    shown = capsys.readouterr().out
    assert asked == [("dense", 7), (own, 7)]
    assert "dense  dense  7  1  2.0 us  1.0 us  0.50  3 s" in shown
    assert "dense  its own sums  7  1  4.0 us  1.0 us  2.00  3 s" in shown
    assert "geometric mean 1.00, least 0.50" in shown
