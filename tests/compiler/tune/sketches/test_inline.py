"""Stages that are inlined: those that are read once, and those of which it is a decision."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.ir.visit import blocks
from tandem.compiler.te import Tensor, compute, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.inline import inline_stages
from tandem.compiler.tune.sketches.rules import SketchRules
from tests.support.compiler.te.schedules import blur, matmul, relu_of_sum
from tests.support.compiler.tune.sketches import built


def stages(start: Schedule, **values: Any) -> tuple[list[str], dict[str, list[Any]]]:
    builder, asked = built(start, None, **values)
    inline_stages(builder)
    return [each.name for each in blocks(builder.program.body)], asked


def test_what_is_read_once() -> None:
    assert stages(Schedule.of(relu_of_sum())) == (["relu"], {})


def test_what_is_read_three_times() -> None:
    assert stages(Schedule.of(blur())) == (["blurx", "blury"], {"s0.inline": [0, 1]})
    assert stages(Schedule.of(blur()), s0__inline=1)[0] == ["blury"]


def test_outputs_and_reductions_stay() -> None:
    assert stages(Schedule.of(matmul())) == (["C"], {})
    a = placeholder((4, 4), FLOAT32, "a")
    k = reduce_axis(4, "k")
    rows = compute((4,), lambda i: sum(a[i, k], k), "rows")
    twice = compute((4,), lambda i: rows[i] * 2.0, "twice")
    assert stages(Schedule.of(twice)) == (["rows", "twice"], {})


def repeated(times: int) -> Tensor:
    """A row that is read so often."""
    a = placeholder((8,), FLOAT32, "a")
    one = compute((8,), lambda i: a[i] + 1.0, "one")
    return compute((times, 8), lambda t, i: one[i] * 2.0, "many")


@pytest.mark.parametrize(
    ("times", "options"),
    [(1, None), (2, [0, 1]), (10, [0, 1]), (11, None)],
)
def test_how_often(times: int, options: list[int] | None) -> None:
    # Up to 8 times 1.25.
    names, asked = stages(Schedule.of(repeated(times)))
    assert asked.get("s0.inline") == options
    assert names == (["many"] if times == 1 else ["one", "many"])


def test_fewer_repetitions() -> None:
    builder, asked = built(Schedule.of(repeated(3)), SketchRules(128, 16, most_repeated=2))
    inline_stages(builder)
    assert asked == {}


def test_long_expressions_stay() -> None:
    a = placeholder((8,), FLOAT32, "a")

    def chain(terms: int) -> Schedule:
        def value(i: object) -> object:
            found = a[i]  # type: ignore[index]
            for _ in range(terms):
                found = found + 1.0
            return found

        long = compute((8,), value, "long")  # type: ignore[arg-type]
        return Schedule.of(compute((8,), lambda i: long[i] * 2.0, "out"))

    # Two nodes a term, three more, and five of the reader: 200 are allowed.
    assert stages(chain(96))[0] == ["out"]
    assert stages(chain(97))[0] == ["long", "out"]


def test_stages_without_elements() -> None:
    a = placeholder((0,), FLOAT32, "a")
    one = compute((0,), lambda i: a[i] + 1.0, "one")
    two = compute((0,), lambda i: one[i] * 2.0, "two")
    assert stages(Schedule.of(two)) == (["one", "two"], {})
