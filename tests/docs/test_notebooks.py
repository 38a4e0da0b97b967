"""Notebooks and labs run in a kernel; what they show is what they print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from docs.site.labs_archive import solutions
from tests.support.docs.names import unknown
from tests.support.docs.notebooks import (
    clean,
    execute,
    exercises,
    outputs,
    read,
    solve,
    without_output,
)

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
LABS = sorted((DOCS / "labs").glob("*.ipynb"))
MOST_BYTES = 100_000


def one_of(paths: Sequence[Path], quick: str) -> list[Any]:
    """All paths as parameters; all but the quick one are exhaustive, as they take minutes."""
    left = pytest.mark.exhaustive
    return [path if path.stem == quick else pytest.param(path, marks=left) for path in paths]


def test_there_are_some() -> None:
    assert (len(NOTEBOOKS), len(LABS)) == (7, 6)


@pytest.mark.parametrize("path", [*NOTEBOOKS, *LABS], ids=lambda path: path.stem)
def test_what_cells_name_is_there(path: Path) -> None:
    """Of those that nothing executes by default, too."""
    assert unknown(read(path)) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_printed_is_stored(path: Path) -> None:
    assert without_output(read(path)) == []


def test_what_is_not_there_is_found() -> None:
    """Names, arguments, modules, cells that are no Python, and outputs."""
    cells = (
        "import tandem\n\nmachine = tandem.Acelerator('tiny')",
        "import tandem as td\n\ntd.compile('digits', machin='tiny')",
        "from tandem.workbench.nowhere import x",
        "from tandem import te, nothing",
        "for x in:",
        "import numpy as np\n\nnp.nothing(tandem_x=1)",
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    assert unknown(notebook) == [
        "tandem.Acelerator",
        "tandem.compile(machin=)",
        "tandem.workbench.nowhere",
        "tandem.nothing",
        "for x in:",
    ]
    printing = [nbformat.v4.new_code_cell(each) for each in ("x = 1", "print(1)", "x = 1\nx")]
    assert without_output(nbformat.v4.new_notebook(cells=printing)) == ["print(1)", "x = 1\nx"]


@pytest.mark.parametrize("path", one_of(NOTEBOOKS, "6-own-operator"), ids=lambda path: path.stem)
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


@pytest.mark.parametrize("path", one_of(LABS, "lab4"), ids=lambda path: path.stem)
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
