"""Training of networks that round as their integers will (`compiler.quantise.fake`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto

from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.quantise.fake.network import FakeQuantised, fake_quantised
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.workbench.training.checkpoints import State
from tandem.workbench.training.samples import Array, Samples
from tandem.workbench.training.trainable import Trainable
from tandem.workbench.training.trainer import (
    Checkpoints,
    Report,
    Trainer,
    TrainingOptions,
    check_batches,
)

CALIBRATION = 128
"""Samples whose values choose the scales of int8."""


@dataclass(frozen=True, slots=True, eq=False)
class RoundedTraining:
    """A training whose scales are chosen again with each epoch.

    Attributes
    ----------
    trainer
        Of the network that rounds.
    """

    trainable: Trainable
    network: FakeQuantised
    trainer: Trainer

    @classmethod
    def of(
        cls,
        trainable: Trainable,
        weights: Mapping[str, Array],
        samples: Samples,
        options: TrainingOptions,
        quantise: QuantiseOptions,
        held_out: Samples | None = None,
    ) -> RoundedTraining:
        """The training of a model from these weights on.

        Parameters
        ----------
        quantise
            The formats of weights, and the scales of values.

        Raises
        ------
        TrainingError, CompilerError
            As of `Trainer` and of `fake_quantised`.
        """
        check_batches(samples, options.batch)
        network = fake_quantised(
            trainable.function,
            weights,
            calibration(trainable, samples, options.batch),
            NativeRunner(),
            quantise,
        )
        trainer = Trainer(
            network.function,
            weights,
            samples,
            options,
            held_out=held_out,
            fixed=network.scales(weights),
        )
        return cls(trainable, network, trainer)

    def choose_scales(self) -> None:
        """Choose the scales for the weights as they are now."""
        self.trainer.fixed.update(self.network.scales(self.trainer.weights))

    def run(
        self,
        checkpoints: Checkpoints | None = None,
        belongs: Mapping[str, str] | None = None,
        report: Report | None = None,
    ) -> State:
        """Train to the end; see `Trainer.run`. At the end the scales are those of the weights."""
        return self.trainer.run(checkpoints, belongs, report, self.choose_scales)

    @property
    def model(self) -> ModelProto:
        """The model with the weights now, rounded."""
        return self.trainable.with_weights(self.network.rounded(self.trainer.weights))


def calibration(trainable: Trainable, samples: Samples, batch: int) -> Sequence[Sequence[Array]]:
    """The inputs of the first samples, by batches, in the order of the network's parameters."""
    count = max(1, min(CALIBRATION, len(samples)) // batch)
    order = [param.name for param in trainable.function.params]
    names = sorted(trainable.inputs.values(), key=order.index)
    batches = [samples.batch(np.arange(batch) + at * batch) for at in range(count)]
    return [[found[name] for name in names] for found in batches]
