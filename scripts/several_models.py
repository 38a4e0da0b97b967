"""The argument of commands that take several models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tandem.base.input_files import open_input
from tandem.compiler.frontends.onnx.reading import MODEL_BYTES
from tandem.compiler.models import BUILT_IN
from tandem.scripts.completion import complete_model
from tandem.scripts.model_options import MODELS
from tandem.workbench.models import model_file

ModelsArgument = Annotated[
    list[str],
    typer.Argument(metavar="MODEL...", autocompletion=complete_model, help=f"Each is {MODELS}."),
]


def check_models(models: Sequence[str], instead: str = "") -> None:
    """See that the models are built in, or files that can be opened, each once.

    Parameters
    ----------
    instead
        What the error for a model that is there twice says to do.

    Raises
    ------
    OSError
        A file cannot be opened.
    ModelError
        As `model_file`.
    typer.BadParameter
        A model is there twice.
    """
    for model in models:
        if model not in BUILT_IN:
            with open_input(model_file(model), MODEL_BYTES):
                pass  # What is in it is read later.
    # One file has many names.
    files = [model if model in BUILT_IN else Path(model).resolve() for model in models]
    if len({*files}) < len(files):
        raise typer.BadParameter(f"a model is there twice{instead}")
