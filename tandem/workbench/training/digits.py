"""How the built-in model `digits` is trained: its images, their changes, and its first weights.

The images are those of Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI Machine
Learning Repository (1998), CC BY 4.0, as scikit-learn has them: 1,797 of 8 x 8 pixels from 0 to 16.
`compiler/models/digits.LICENSE` has the licence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from tandem.compiler import models
from tandem.compiler.graph.gradients import Adam
from tandem.workbench.training.losses import TARGET, Loss
from tandem.workbench.training.samples import Array, ArraySamples
from tandem.workbench.training.schedules import Curve, Schedule
from tandem.workbench.training.trainable import Trainable
from tandem.workbench.training.trainer import TrainingOptions

IMAGES: Final = Path(models.__file__).with_name("digits_images.npz")
HELD_OUT: Final = 360
SPLIT: Final = 0
"""The seed of what is held out: the same images for all weights."""
OPTIONS: Final = TrainingOptions(
    loss=Loss.CROSS_ENTROPY,
    optimiser=Adam(decay=0.01),
    rate=3e-3,
    schedule=Schedule(Curve.COSINE, warmup=0.2),
    batch=64,
    epochs=100,
)


def digits_samples(trainable: Trainable) -> tuple[ArraySamples, ArraySamples]:
    """The images to train with, shifted by up to a pixel, and those that are held out."""
    (name,) = trainable.inputs.values()

    def augmented(batch: dict[str, Array], random: np.random.Generator) -> dict[str, Array]:
        return {**batch, name: shifted(batch[name], random)}

    with np.load(IMAGES) as file:
        images, labels = file["images"].astype(np.float32) / 16, file["labels"].astype(np.int64)
    return ArraySamples({name: images, TARGET: labels}, augmented).split(HELD_OUT, SPLIT)


def shifted(images: Array, random: np.random.Generator) -> Array:
    """Images [N, 1, H, W], each shifted by up to a pixel; what comes in is 0."""
    height, width = images.shape[2:]
    padded = np.pad(images[:, 0], ((0, 0), (1, 1), (1, 1)))
    y, x = random.integers(0, 3, (2, len(images)))
    rows = (y[:, None] + np.arange(height))[:, :, None]
    columns = (x[:, None] + np.arange(width))[:, None, :]
    return np.ascontiguousarray(
        padded[np.arange(len(images))[:, None, None], rows, columns][:, None]
    )
