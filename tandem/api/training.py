"""`tandem.train`: models trained on this processor."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tandem.api.loading import Loadable, in_memory, load, model_of
from tandem.api.model import Model
from tandem.api.progress import Progress, steps_of
from tandem.base.files import write_atomically
from tandem.compiler.errors import GradientError, QuantisationError
from tandem.compiler.graph.gradients import Adam, Optimiser, Sgd
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.weight_kinds import DEFAULT_GROUP, WeightKind
from tandem.compiler.quantise.weight_options import WeightOptions
from tandem.workbench.arguments import at_least, choice, expect, file_path, texts, value_errors
from tandem.workbench.byte_sizes import FORMS, bytes_of
from tandem.workbench.errors import ArgumentValueError, TrainingError
from tandem.workbench.models import source_of
from tandem.workbench.pages.training.page import TrainingPage
from tandem.workbench.pages.write import write_page
from tandem.workbench.table import Column, Table
from tandem.workbench.training.checkpoints import State
from tandem.workbench.training.data_files import read_arrays
from tandem.workbench.training.losses import Loss
from tandem.workbench.training.plan import Initial, default_options, plan_training
from tandem.workbench.training.schedules import Curve, Schedule
from tandem.workbench.training.step import StepMemory
from tandem.workbench.training.trainable import stated_batch
from tandem.workbench.training.trainer import Checkpoints, TrainingOptions

OPTIMIZERS = ("adam", "sgd")
TRAINED = tuple(kind for kind in WeightKind if kind is not WeightKind.AUTO)
"""The formats of weights that are trained."""
_COLUMNS = (
    Column("epoch", int, "from 1 on"),
    Column("step", int, "the steps so far"),
    Column("loss", float, "the mean over the epoch's steps"),
    Column("held_out", float, "the loss of the samples that are held out"),
    Column("accuracy", float, "the part of them that is right"),
    Column("rate", float, "the learning rate of the last step"),
    Column("seconds", float, "s since the training began"),
)


@dataclass(frozen=True, slots=True, repr=False)
class Training:
    """What a training came to.

    Attributes
    ----------
    model
        The model with the weights at the end.
    epochs
        A row for each epoch.
    held_out
        The number of samples that were measured only.
    seconds
        The time that the steps took, with what was held out.
    step
        The memory of a step, part by part: `run` in bytes, `steps` calls of kernels, of which
        `again` compute again what was not kept.
    unsaved
        Why the checkpoint at the end could not be written; empty if it was, or none is kept.
    """

    model: Model
    epochs: Table
    held_out: int
    seconds: float
    step: StepMemory
    unsaved: str = ""

    @property
    def memory(self) -> int:
        """The bytes of a step: weights, what the optimiser keeps, a batch, intermediate values and
        what kernels take."""
        return self.step.run.total

    @property
    def accuracy(self) -> float | None:
        """The part of the held-out samples that is right at the end; None if it is not known."""
        value = self.epochs[-1]["accuracy"] if len(self.epochs) else None
        assert value is None or isinstance(value, float), "a column of floats"
        return value

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as an ONNX file, as a whole or not at all.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, OSError
            No path, or one that cannot be written.
        """
        content = self.model.read.proto.SerializeToString(deterministic=True)
        write_atomically(file_path("path", path), content)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page (.html) with the curves, which opens offline.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, OSError
            The path has another suffix, or cannot be written.
        MissingPackageError
            A library that draws is not installed (the extra `report`).
        """
        file = file_path("path", path)
        write_page(self.page(f"training.report({str(file)!r})"), file)

    def page(self, command: str) -> TrainingPage:
        """The content of the page that `report` writes."""
        return TrainingPage(
            self.model.name, command, self.held_out, self.seconds, self.epochs, self.step
        )

    def __repr__(self) -> str:
        return repr(self.epochs)


def training_options(
    base: TrainingOptions,
    *,
    loss: str | None,
    optimizer: str | None,
    rate: float | None,
    decay: float | None,
    momentum: float | None,
    schedule: str | None,
    warmup: float | None,
    batch: int | None,
    epochs: int | None,
    steps: int | None,
    minutes: float | None,
    clip: float | None,
    seed: int,
    threads: int | None,
    memory_limit: int | str | None,
) -> TrainingOptions:
    """Options by their names; None for those of `base`. Raises as `train`."""
    with value_errors(TrainingError, GradientError):
        found = replace(
            base,
            seed=at_least("seed", seed, 0),
            threads=threads,
            memory_limit=_limit(memory_limit),
            optimiser=_optimiser(base.optimiser, optimizer, decay, momentum),
            schedule=Schedule(
                base.schedule.curve
                if schedule is None
                else Curve(choice("schedule", schedule, [each.value for each in Curve])),
                base.schedule.warmup if warmup is None else warmup,
            ),
        )
        if loss is not None:
            found = replace(found, loss=Loss(choice("loss", loss, [each.value for each in Loss])))
        if rate is not None:
            found = replace(found, rate=rate)
        if batch is not None:
            found = replace(found, batch=at_least("batch", batch, 1))
        if clip is not None:
            found = replace(found, clip=clip)
        if not epochs is steps is minutes is None:
            seconds = None if minutes is None else _seconds(minutes)
            epochs = None if epochs is None else at_least("epochs", epochs, 1)
            steps = None if steps is None else at_least("steps", steps, 1)
            found = replace(found, epochs=epochs, steps=steps, seconds=seconds)
        return found


def _limit(memory: int | str | None) -> int | None:
    if memory is None or (isinstance(memory, int) and not isinstance(memory, bool)):
        return memory
    if not isinstance(memory, str):
        expect("memory_limit", memory, FORMS)
    found = bytes_of(memory)
    if found is None:
        raise ArgumentValueError(f"memory_limit is {memory!r}: it must be {FORMS}")
    return found


def _seconds(minutes: float) -> float:
    if not 0 < minutes < float("inf"):
        raise TrainingError(f"minutes is {minutes}: over 0 is allowed")
    return 60.0 * minutes


def _optimiser(
    base: Optimiser, name: str | None, decay: float | None, momentum: float | None
) -> Optimiser:
    if name is None:
        name = "sgd" if isinstance(base, Sgd) else "adam"
    own = base.decay if isinstance(base, Adam | Sgd) else 0.0
    if choice("optimizer", name, OPTIMIZERS) == "sgd":
        return Sgd(0.9 if momentum is None else momentum, own if decay is None else decay)
    if momentum is not None:
        raise TrainingError("momentum is for the optimizer sgd")
    return Adam(decay=own if decay is None else decay)


def train(
    model: Model | Loadable,
    data: str | os.PathLike[str] | Mapping[str, ArrayLike] | None = None,
    *,
    loss: str | None = None,
    optimizer: str | None = None,
    rate: float | None = None,
    decay: float | None = None,
    momentum: float | None = None,
    schedule: str | None = None,
    warmup: float | None = None,
    batch: int | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    minutes: float | None = None,
    clip: float | None = None,
    held_out: int | None = None,
    initial: str | None = None,
    freeze: Sequence[str] = (),
    weights: str | None = None,
    weight_group: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 30.0,
    memory_limit: int | str | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Training:
    """Train a model on this processor, in float32, or rounded as it will be quantised.

    Parameters
    ----------
    data
        A .npz file, or arrays by name: each input of the model, and `target`, with a row for each
        sample; None for the images of `digits`.
    loss
        `cross-entropy` (of logits and numbers of classes), `mse`, `mae`, `binary-cross-entropy`.
    optimizer, rate, decay, momentum
        `adam`, with decoupled weight decay, or `sgd`; the greatest learning rate.
    schedule, warmup
        How the rate goes down, `cosine`, `linear` or `constant`, after the part of the training in
        which it rises.
    batch
        Samples of a step: the first extent of the model's inputs where it is open. By default that
        of a model which states one, and else 64.
    epochs, steps, minutes
        The limit, one of them: 10 epochs by default. With `minutes` the schedule follows the clock.
    clip
        The greatest norm of all gradients.
    held_out
        Samples that are measured only, drawn with the seed: a tenth by default.
    initial
        `given`: the model's weights, or `random`.
    freeze
        Names of weights that stay as they are; `*` stands for any characters.
    weights, weight_group
        A format of compressed weights, as of `compile`, or `int8`: weights and values are rounded
        while the network is trained, and `compile` with this format keeps the weights that come of
        it. Such a training begins with the model's weights by default.
    checkpoint, checkpoint_seconds
        A file for the state, written so often; if it exists, training goes on from there, and is
        equal, bit for bit, to one that was not interrupted.
    memory_limit
        The most bytes of a step, or a text, as `64MB`: gradients compute again what does not fit.
        That takes time, and changes no number.
    threads
        Of this processor; None for all cores.
    seed
        Of weights, of the order of samples, and of what is held out.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Something else than is allowed.
    TrainingError
        Samples do not fit the model, or a step its limit of memory; the checkpoint is another
        training's; the loss is no number.
    CompilerError
        An operator has no gradient.
    OSError
        A file cannot be read or written; but a checkpoint at the end is warned of, so that the
        training is not lost (`Training.unsaved`).
    """
    found = model_of(model) if isinstance(model, Model) else load(model, seed=seed)
    base = default_options(found.name)
    options = training_options(
        replace(base, batch=stated_batch(found.read.proto) or base.batch),
        loss=loss,
        optimizer=optimizer,
        rate=rate,
        decay=decay,
        momentum=momentum,
        schedule=schedule,
        warmup=warmup,
        batch=batch,
        epochs=epochs,
        steps=steps,
        minutes=minutes,
        clip=clip,
        seed=seed,
        threads=threads,
        memory_limit=memory_limit,
    )
    arrays: Mapping[str, NDArray[np.generic]] | None = None
    if isinstance(data, str | os.PathLike):
        arrays = read_arrays(file_path("data", data))
    elif isinstance(data, Mapping):
        arrays = {name: np.asarray(array) for name, array in data.items()}
    elif data is not None:
        expect("data", data, "the path of a .npz file, or a mapping from names to arrays")
    plan = plan_training(
        found.read,
        options,
        arrays,
        held_out=None if held_out is None else at_least("held_out", held_out, 0),
        initial=(
            None
            if initial is None
            else Initial(choice("initial", initial, [each.value for each in Initial]))
        ),
        freeze=texts("freeze", freeze),
        shapes=found.options.shapes,
        rounding=rounding_of(weights, weight_group),
        what=str(data) if isinstance(data, str | os.PathLike) else "data",
    )
    checkpoints = (
        None
        if checkpoint is None
        else Checkpoints(Path(file_path("checkpoint", checkpoint)), checkpoint_seconds)
    )
    with steps_of("train", progress) as progressed:
        progressed.say("compiling")
        proto, state, memory = plan.run(
            checkpoints, lambda now, total: progressed.at(now.step, total, described(now))
        )
    trained = replace(found, read=in_memory(proto, found.name, seed), named=None)
    trained = replace(
        trained, source=source_of(trained.read, found.options, dict(found.source.imported.bound))
    )
    if state.unsaved:
        warnings.warn(f"no checkpoint of the end: {state.unsaved}", UserWarning, stacklevel=2)
    return Training(
        *(trained, epoch_table(state), len(plan.held_out), state.seconds, memory, state.unsaved)
    )


def rounding_of(weights: str | None, group: int | None) -> QuantiseOptions | None:
    """How a network rounds that is trained with weights in a format; raises as `train`."""
    if weights is None:
        if group is not None:
            raise TrainingError("weight_group is for weights in a format")
        return None
    kind = WeightKind(choice("weights", weights, [each.value for each in TRAINED]))
    if group is not None and not kind.has_groups:
        raise TrainingError(f"weights in {weights} have no groups with a scale")
    with value_errors(QuantisationError):
        size = DEFAULT_GROUP if group is None else at_least("weight_group", group, 1)
        return QuantiseOptions(weights=WeightOptions(kind, size))


def described(state: State) -> str:
    """A state in a few words."""
    if state.losses:
        return f"step {state.step:,}, loss {state.losses[-1]:.4g}"
    return f"epoch {len(state.epochs)}, loss {state.epochs[-1].loss:.4g}"


def epoch_table(state: State) -> Table:
    """A row for each epoch."""
    rows = (
        (at, row.step, row.loss, row.held_out, row.accuracy, row.rate, row.seconds)
        for at, row in enumerate(state.epochs, 1)
    )
    return Table(_COLUMNS, tuple(rows))
