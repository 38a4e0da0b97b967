"""Checkpoints: the state of a training in a file that is replaced as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.base.files import replacing
from tandem.runtime.errors import InputError
from tandem.runtime.inputs import read_archive
from tandem.workbench.errors import TrainingError

_ABOUT: Final = "about.json"
_FORMAT: Final = 2


@dataclass(frozen=True, slots=True)
class Epoch:
    """What an epoch came to.

    Attributes
    ----------
    loss
        The mean over the epoch's steps, of the weights that each step began with.
    held_out, accuracy
        Loss of the samples that are held out, and the part of them that is right; None without
        such samples, or of a loss without classes.
    rate
        The learning rate of the last step.
    seconds
        Since the training began.
    """

    step: int
    loss: float
    rate: float
    seconds: float
    held_out: float | None = None
    accuracy: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """All that a training needs to go on.

    Attributes
    ----------
    arrays
        Weights, and what the optimiser keeps, by the names of the step's parameters; in a
        checkpoint also the scales of a training that rounds.
    losses
        Of the steps of the epoch that is under way, or over and not measured yet.
    seconds
        The time that training has taken so far.
    rate
        The learning rate of the last step.
    unsaved
        Why the checkpoint at the end could not be written; empty if it was, or none is kept.
    """

    step: int
    arrays: Mapping[str, NDArray[Any]]
    losses: tuple[float, ...] = ()
    seconds: float = 0.0
    epochs: tuple[Epoch, ...] = field(default=())
    rate: float = 0.0
    unsaved: str = ""


def write_checkpoint(path: Path, state: State, belongs: Mapping[str, str]) -> None:
    """Replace a checkpoint as a whole: whatever ends the program, the file is one or the other.

    Parameters
    ----------
    belongs
        What the training is: it can be resumed where all is equal.
    """
    about = {
        "format": _FORMAT,
        "belongs": dict(belongs),
        "step": state.step,
        "losses": state.losses,
        "seconds": state.seconds,
        "rate": state.rate,
        "epochs": [asdict(epoch) for epoch in state.epochs],
    }
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with replacing(path) as draft:
        try:
            # Closed within `try`: what is buffered is written then.
            with draft.open("wb") as file:
                np.savez(file, **{_ABOUT: text}, **state.arrays)  # type: ignore[arg-type]
        except OSError as error:
            # The error of a failed write (disk full) does not name the file.
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def read_checkpoint(path: Path, belongs: Mapping[str, str], like: State) -> State:
    """The state in a checkpoint.

    Parameters
    ----------
    like
        A state of the same training.

    Raises
    ------
    TrainingError
        The file is no checkpoint, is damaged, or belongs to another training; the message says
        what differs.
    """
    try:
        arrays = read_archive(path)
        about = json.loads(arrays.pop(_ABOUT).tobytes())
        if about["format"] != _FORMAT:
            raise TrainingError(f"{path}: a checkpoint of format {about['format']}, not {_FORMAT}")
        epochs = tuple(Epoch(**epoch) for epoch in about["epochs"])
        step, losses = int(about["step"]), tuple(map(float, about["losses"]))
        seconds, other = float(about["seconds"]), dict(about["belongs"])
        rate = float(about["rate"])
    except InputError as error:
        raise TrainingError(f"{path}: no checkpoint, or damaged ({error})") from None
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise TrainingError(f"{path}: no checkpoint, or damaged ({error})") from None
    for name, value in belongs.items():
        if other.get(name) != value:
            raise TrainingError(
                f"{path}: a checkpoint of another training: {name} was {other.get(name)}, "
                f"and is {value}"
            )
    for name, array in like.arrays.items():
        if name not in arrays or (arrays[name].shape, arrays[name].dtype) != (
            array.shape,
            array.dtype,
        ):
            raise TrainingError(f"{path}: no checkpoint, or damaged (array {name})")
    return State(step, {name: arrays[name] for name in like.arrays}, losses, seconds, epochs, rate)
