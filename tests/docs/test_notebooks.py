"""Notebooks and labs run in a kernel; what they show is what they print."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from docs.site.labs_archive import solutions
from tests.support.docs.notebooks import (
    clean,
    execute,
    exercises,
    outputs,
    read,
    solve,
)

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
LABS = sorted((DOCS / "labs").glob("*.ipynb"))
MOST_BYTES = 100_000


def test_there_are_some() -> None:
    assert (len(NOTEBOOKS), len(LABS)) == (7, 6)


@pytest.mark.every(3)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    notebook = read(path)
    shown = outputs(notebook)
    execute(notebook, tmp_path)
    if request.config.getoption("--update-golden"):
        clean(notebook)
        nbformat.write(notebook, path)
    else:
        assert outputs(notebook) == shown
    assert path.stat().st_size < MOST_BYTES


@pytest.mark.every(3)
@pytest.mark.parametrize("path", LABS, ids=lambda path: path.stem)
def test_a_lab_with_its_solutions(path: Path, tmp_path: Path) -> None:
    notebook = read(path)
    solve(notebook, solutions(DOCS / "labs" / "solutions" / f"{path.stem}.py"))
    execute(notebook, tmp_path)


@pytest.mark.parametrize("path", LABS, ids=lambda path: path.stem)
def test_a_lab_as_it_is_handed_out(path: Path) -> None:
    notebook = read(path)
    tasks = exercises(notebook)
    assert len(tasks) >= 3
    assert {*tasks} == {*solutions(DOCS / "labs" / "solutions" / f"{path.stem}.py")}
    for cell in tasks.values():
        assert "raise NotImplementedError" in cell.source
    assert not outputs(notebook)
    # Behind each exercise stands what checks it.
    cells = notebook.cells
    for at, cell in enumerate(cells):
        if "exercise" in cell.metadata:
            assert "assert" in cells[at + 1].source


def test_an_exercise_that_is_not_done_fails(tmp_path: Path) -> None:
    with pytest.raises(CellExecutionError, match="NotImplementedError"):
        execute(read(LABS[0]), tmp_path)
