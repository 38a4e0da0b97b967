"""The curves of a training: lines of what was measured, and which charts there are."""

from __future__ import annotations

from typing import Any, cast

from tandem.workbench.pages.training.figures import figures
from tandem.workbench.pages.training.page import TrainingPage
from tandem.workbench.table import Column, Table
from tests.support.workbench.pages.specs import rows_of

COLUMNS = (
    Column("epoch", int, "its number"),
    Column("loss", float, "of training"),
    Column("held_out", float, "of others"),
    Column("accuracy", float, "of others"),
    Column("rate", float, "of the last step"),
)


def page(*rows: tuple[Any, ...]) -> TrainingPage:
    return TrainingPage("net", "tandem train net", 10, 1.0, Table(COLUMNS, rows), cast(Any, None))


def test_all_curves() -> None:
    found = figures(page((0, None, 2.5, 0.25, None), (1, 2.0, 1.5, 0.5, 0.01)))
    assert [(each.key, each.leads) for each in found] == [
        ("loss", True),
        ("accuracy", True),
        ("rate", False),
    ]
    loss, accuracy, rate = (each.spec for each in found)
    rows = [(row["of"], row["epoch"], row["value"]) for row in rows_of(loss, loss)]
    assert rows == [("training", 1, 2.0), ("held out", 0, 2.5), ("held out", 1, 1.5)]
    scale = loss["encoding"]["color"]["scale"]
    assert scale == {"domain": ["training", "held out"], "range": ["#0072B2", "#D55E00"]}
    assert loss["encoding"]["strokeDash"]["scale"]["range"] == [[1, 0], [6, 3]]
    assert loss["encoding"]["color"]["legend"] is not None
    # One line has no legend.
    assert accuracy["encoding"]["color"]["legend"] is None
    assert [row["value"] for row in rows_of(accuracy, accuracy)] == [0.25, 0.5]
    assert [(row["epoch"], row["value"]) for row in rows_of(rate, rate)] == [(1, 0.01)]
    assert rate["height"] == 260


def test_what_was_not_measured_has_no_chart() -> None:
    found = figures(page((1, 2.0, None, None, 0.01)))
    assert [each.key for each in found] == ["loss", "rate"]
    assert found[0].spec["encoding"]["color"]["scale"]["domain"] == ["training"]
    assert figures(page()) == ()
