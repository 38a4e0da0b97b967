"""What is trained, with what and how: a model by name, its samples, and a trainer of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from hashlib import sha256
from typing import Any

import numpy as np
from onnx import ModelProto

from tandem.compiler.frontends.onnx import StatedShape
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.weight_options import WeightOptions
from tandem.workbench.errors import TrainingError
from tandem.workbench.models import ReadModel
from tandem.workbench.training.checkpoints import State
from tandem.workbench.training.data_files import array_samples
from tandem.workbench.training.digits import OPTIONS, digits_samples
from tandem.workbench.training.rounded import RoundedTraining
from tandem.workbench.training.samples import Array, ArraySamples
from tandem.workbench.training.step import StepMemory
from tandem.workbench.training.trainable import Trainable, trainable
from tandem.workbench.training.trainer import Checkpoints, Report, Trainer, TrainingOptions


class Initial(Enum):
    """The weights that training begins with."""

    GIVEN = "given"
    """The model's."""
    RANDOM = "random"
    """Drawn with the seed: `Trainable.random_weights`."""


def default_options(model: str) -> TrainingOptions:
    """The options of a model that is called so, where nobody says others."""
    return OPTIONS if model == "digits" else TrainingOptions()


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A training that has not begun.

    Attributes
    ----------
    belongs
        What the training is: see `write_checkpoint`.
    rounding
        How the network rounds while it is trained; None for real numbers.
    """

    trainable: Trainable
    samples: ArraySamples
    held_out: ArraySamples
    options: TrainingOptions
    weights: Mapping[str, Array]
    belongs: Mapping[str, str]
    rounding: QuantiseOptions | None = None

    def trainer(self) -> Trainer:
        """The training in real numbers, compiled for this processor; raises as `Trainer`."""
        held_out = self.held_out if len(self.held_out) else None
        return Trainer(
            *(self.trainable.function, self.weights, self.samples, self.options),
            held_out=held_out,
        )

    def run(
        self, checkpoints: Checkpoints | None = None, report: Report | None = None
    ) -> tuple[ModelProto, State, StepMemory]:
        """The model that was trained, the state at the end, and the memory of a step.

        Raises
        ------
        TrainingError, OSError
            As of `Trainer.run`.
        CompilerError
            As of `fake_quantised`.
        """
        if self.rounding is not None:
            rounded = RoundedTraining.of(
                *(self.trainable, self.weights, self.samples, self.options, self.rounding),
                self.held_out if len(self.held_out) else None,
            )
            state = rounded.run(checkpoints, self.belongs, report)
            return rounded.model, state, rounded.trainer.memory
        trainer = self.trainer()
        state = trainer.run(checkpoints, self.belongs, report)
        return self.trainable.with_weights(trainer.weights), state, trainer.memory


def plan_training(
    read: ReadModel,
    options: TrainingOptions,
    arrays: Mapping[str, Array] | None = None,
    *,
    held_out: int | None = None,
    initial: Initial | None = None,
    freeze: Sequence[str] = (),
    shapes: Sequence[StatedShape] = (),
    what: str = "data",
    rounding: QuantiseOptions | None = None,
) -> Plan:
    """A training of a model.

    Parameters
    ----------
    arrays
        Samples, by the names of the model's inputs, and `target`; None for those of `digits`.
    held_out
        How many of the samples are measured only; by default a tenth. `digits` has 360.
    initial
        By default random weights of `digits` that does not round, and else the model's.
    freeze, shapes
        As of `trainable`.

    Raises
    ------
    TrainingError
        Samples are missing, or do not fit the model; as `trainable`.
    CompilerError
        Something in the model is not supported.
    """
    own = arrays is None
    if own and (read.name != "digits" or read.digest is not None):
        raise TrainingError(f"no data to train {read.name} with: --data FILE has it")
    if own and held_out is not None:
        raise TrainingError("the images of digits that are held out are always the same 360")
    found = trainable(read.proto, options.batch, shapes, freeze)
    if arrays is None:
        samples, unseen = digits_samples(found)
    else:
        whole = array_samples(arrays, found.function, found.inputs, options.loss, what)
        number = len(whole) // 10 if held_out is None else held_out
        samples, unseen = whole.split(number, options.seed)
    if initial is None:
        initial = Initial.RANDOM if own and rounding is None else Initial.GIVEN
    weights = found.random_weights(options.seed) if initial is Initial.RANDOM else found.weights
    belongs = {
        "model": _digest(read.proto, weights),
        **({} if rounding is None else {"weights": _format(rounding.weights)}),
        **{
            field.name: str(_plain(getattr(options, field.name)))
            for field in fields(options)
            if field.name not in ("threads", "memory_limit")
        },
    }
    return Plan(found, samples, unseen, replace(options), weights, belongs, rounding)


def _format(weights: WeightOptions) -> str:
    return f"{weights}, groups of {weights.group}"


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _digest(model: ModelProto, weights: Mapping[str, Array]) -> str:
    """A digest of a model's operators and of the weights that training begins with."""
    found = sha256(model.SerializeToString(deterministic=True))
    for name, array in sorted(weights.items()):
        found.update(name.encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()[:16]
