"""The programs of `docs/sketches.md` run, and the page's trace is one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.te import Tensor, compute, maximum, placeholder, reduce_axis, sum
from tandem.compiler.te.build import program_of
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.sketches.evolution import replay
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.trace import SketchTrace

PAGE = (Path(__file__).parents[2] / "docs" / "sketches.md").read_text()


def test_the_programs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "docs/sketches.md", "exec"), names)
    assert (tmp_path / "own.jsonl").exists()
    assert "func kernel(a0: float32[64, 128]" in capsys.readouterr().out


def product() -> Tensor:
    """The page's operator."""
    x, w = placeholder((64, 128), FLOAT32, "x"), placeholder((128, 96), FLOAT32, "w")
    k = reduce_axis(128, "k")
    found = compute((64, 96), lambda i, j: sum(x[i, k] * w[k, j], axis=k), "product")
    return compute((64, 96), lambda i, j: maximum(found[i, j], 0.0), "y")


def test_the_trace() -> None:
    (text,) = re.findall(r"```\n(s0\..*?)\n```", PAGE, re.DOTALL)
    computation = Computation.of(program_of([product()]), (1,))
    rules = SketchRules(register_bits=512, registers=32)
    trace = SketchTrace.parse(text)
    replay(computation.start(), rules, computation.constant_names, trace)
