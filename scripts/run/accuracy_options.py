"""`--accuracy` and `--labels`: the options, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tandem.runtime.artifact import is_artifact
from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import Quantise
from tandem.workbench.labels import Labels

AccuracyOption = Annotated[
    bool,
    typer.Option(
        "--accuracy",
        help="Compare each layer with float32, on the inputs of the run: the signal-to-noise ratio "
        "with all that the layer inherits, and of the layer by itself, worst first.",
    ),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        readable=False,
        help="The class of each sample of --input: .npy, .npz, .txt or .csv, integers from 0. "
        "Prints how often float32 and int8 find it (top-1 and top-5).",
    ),
]


def check_accuracy(model: str, quantise: Quantise | None) -> None:
    """Raise `CommandError` if `--accuracy` cannot be had of a model, before anything runs."""
    if is_artifact(Path(model)):
        raise CommandError(
            f"--accuracy is for models: the artifact {model} has no float32 network inside to "
            "compare with; name the model that it was compiled from"
        )
    if quantise is Quantise.NONE:
        raise CommandError(
            "--accuracy compares int8 with float32: --quantize none has no int8; multiplier and "
            "pow2 have"
        )


def read_labels(path: Path | None, *, has_inputs: bool) -> Labels | None:
    """The labels of a file, if there is one.

    Raises
    ------
    CommandError
        Labels of random inputs.
    InputError, OSError
        Those of `Labels.read`.
    """
    if path is None:
        return None
    if not has_inputs:
        raise CommandError("--labels has the classes of samples of yours, which --input names")
    return Labels.read(path)
