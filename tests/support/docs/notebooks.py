"""Notebooks: executed in a kernel, and their outputs as text that can be compared."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NAMES_OF_OTHERS = ("sim", "hw", "runtime", "compiler")
"""Files that people who work with hardware have beside a notebook."""
SECONDS = 300
"""The longest time of a cell."""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python"}
"""What a stored notebook says of its kernel."""


def read(path: Path) -> Any:
    """The notebook in a file."""
    return nbformat.read(path, as_version=4)


def execute(notebook: Any, folder: Path) -> None:
    """Execute a notebook in a kernel of its own; raises `CellExecutionError` if a cell fails.

    The folder, in which it runs, also has files with the names of Tandem's own packages, which
    raise when they are imported.
    """
    for name in NAMES_OF_OTHERS:
        (folder / f"{name}.py").write_text("raise ImportError('a file beside the notebook')\n")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "__init__.py").write_text("raise ImportError('beside the notebook')\n")
    NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        coalesce_streams=True,
        record_timing=False,
    ).execute()


def clean(notebook: Any) -> None:
    """Remove from an executed notebook what differs from run to run."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": LANGUAGE})
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None


def outputs(notebook: Any) -> list[str]:
    """The outputs of a notebook: printed text, HTML and results; a picture is only there."""
    found: list[str] = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                found.append(output.text)
            elif "image/svg+xml" in output.data:
                found.append("a picture")
            else:
                found += [
                    output.data[kind] for kind in ("text/html", "text/plain") if kind in output.data
                ]
    return found


def without_output(notebook: Any) -> list[str]:
    """The code cells that print or end with a value, and have no output stored."""
    return [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "code" and not cell.outputs and _shows(ast.parse(cell.source))
    ]


def _shows(tree: ast.Module) -> bool:
    """Whether a cell prints or ends with a value."""
    prints = any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree))
    return prints or (bool(tree.body) and isinstance(tree.body[-1], ast.Expr))


def exercises(notebook: Any) -> dict[str, Any]:
    """The cells of a lab that a student fills in, by name."""
    return {
        cell.metadata["exercise"]: cell for cell in notebook.cells if "exercise" in cell.metadata
    }


def solve(notebook: Any, answers: dict[str, str]) -> None:
    """Fill in the exercises of a lab."""
    for name, cell in exercises(notebook).items():
        cell.source = answers[name]
