"""The loop of training: steps of one artifact, epochs, held-out samples, checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import TypeAlias

import numpy as np

from tandem.base.interrupts import interrupts_held
from tandem.compiler.driver import build
from tandem.compiler.graph.gradients import Adam, Optimiser, training_step
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.types import TensorType
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.workbench.errors import TrainingError
from tandem.workbench.training.checkpoints import (
    Epoch,
    State,
    read_checkpoint,
    write_checkpoint,
)
from tandem.workbench.training.losses import (
    TARGET,
    Loss,
    check_input_names,
    with_loss,
    with_sample_losses,
)
from tandem.workbench.training.samples import Array, Samples
from tandem.workbench.training.schedules import Schedule
from tandem.workbench.training.step import compiled_step

Report: TypeAlias = Callable[[State, int], None]
"""Called after each step with the state, and the number of all steps (0 if a time is the limit)."""


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How a network is trained.

    Attributes
    ----------
    rate
        The greatest learning rate.
    clip
        The greatest norm of all gradients; None for any.
    epochs
        How often all samples are seen.
    steps, seconds
        Limits instead of `epochs`. With `seconds` the schedule follows the clock, so that no two
        trainings are equal.
    threads
        Of this processor; None for all of its cores.
    memory_limit
        The most bytes of a step (`Trainer.memory`): what does not fit is computed a second time for
        gradients, which changes no number. None for any.
    """

    loss: Loss = Loss.CROSS_ENTROPY
    optimiser: Optimiser = field(default_factory=lambda: Adam(decay=0.01))
    rate: float = 3e-3
    schedule: Schedule = field(default_factory=Schedule)
    batch: int = 64
    clip: float | None = None
    epochs: int | None = 10
    steps: int | None = None
    seconds: float | None = None
    seed: int = 0
    threads: int | None = None
    memory_limit: int | None = None

    def __post_init__(self) -> None:
        limits = [self.epochs, self.steps, self.seconds]
        if sum(limit is not None for limit in limits) != 1:
            raise TrainingError("training has one limit: epochs, steps, or a time")
        for name in ("rate", "batch", "epochs", "steps", "seconds", "memory_limit"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise TrainingError(f"{name} is {value}: over 0 is allowed")


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Where the state is kept, and how often.

    Attributes
    ----------
    seconds
        At most this much work is lost, whatever ends the program.
    """

    path: Path
    seconds: float = 30.0


def check_batches(samples: Samples, batch: int) -> None:
    """Raise `TrainingError` if there are too few samples for a batch."""
    if len(samples) < batch:
        raise TrainingError(f"{len(samples)} samples are fewer than a batch of {batch}")


class Trainer:
    """A network that is trained, compiled for this processor.

    Parameters
    ----------
    network
        A function of inputs [N, ...], with N the batch, of weights, and of `fixed`; it gives one
        output.
    weights
        The weights before training, float32, by the names of parameters.
    samples, held_out
        Samples to train with; others, to measure after each epoch, or None.
    fixed
        Parameters that training does not change. They may be changed between steps
        (`Trainer.fixed`), as scales of weights that are rounded are.

    Attributes
    ----------
    memory
        That of a step: weights and what the optimiser keeps, which a step changes in place; the
        batch; intermediate values; what kernels take.

    Raises
    ------
    TrainingError
        Parameters, weights and samples do not fit each other, or a step its memory limit.
    CompilerError
        An operator has no gradient, or cannot be compiled.
    """

    def __init__(
        self,
        network: Function,
        weights: Mapping[str, Array],
        samples: Samples,
        options: TrainingOptions,
        *,
        held_out: Samples | None = None,
        fixed: Mapping[str, Array] | None = None,
    ) -> None:
        self._options = options
        self._samples = samples
        self._held_out = held_out
        self.fixed: dict[str, Array] = dict(fixed or {})
        check_batches(samples, options.batch)
        loss = with_loss(network, options.loss)
        self._names = [param.name for param in network.params]
        self._target = loss.params[-1].name
        self._data = [
            name for name in self._names if name not in weights and name not in self.fixed
        ]
        self._types = {
            param.name: param.type for param in loss.params if isinstance(param.type, TensorType)
        }
        self._check(weights)
        self._weights = [name for name in self._names if name in weights]
        step = training_step(loss, self._weights, options.optimiser, options.clip)
        first = len(loss.params)
        self._rate, self._number = (param.name for param in step.params[first : first + 2])
        kept_names = [param.name for param in step.params[first + 2 :]]
        changed = {f"next {name}": name for name in (*self._weights, *kept_names)}
        compiled = compiled_step(step, changed, options.threads, options.memory_limit)
        self._step = Executor(compiled.artifact, [CpuDevice(options.threads)])
        self.memory = compiled.memory
        self._losses: Executor | None = None
        if held_out is not None and len(held_out):
            measure = with_sample_losses(network, options.loss)
            classes = options.loss is Loss.CROSS_ENTROPY
            self._losses = self._executor(measure, ["losses", "right"][: 1 + classes])
        kept = {
            param.name: np.zeros(param.type.static_shape(param.name), np.float32)
            for param in step.params[first + 2 :]
            if isinstance(param.type, TensorType)
        }
        given = {name: np.array(weights[name], np.float32) for name in self._weights}
        self.state = State(0, {**given, **kept})
        self._ordered: tuple[int, Array] | None = None

    @property
    def weights(self) -> dict[str, Array]:
        """The weights now, by the names of parameters; further steps change these arrays."""
        return {name: self.state.arrays[name] for name in self._weights}

    @property
    def total(self) -> int:
        """The number of all steps; 0 if a time is the limit."""
        if self._options.seconds is not None:
            return 0
        return self._options.steps or (self._options.epochs or 0) * self.steps_of_epoch

    @property
    def steps_of_epoch(self) -> int:
        """The steps of an epoch: samples that fill no batch wait for another epoch."""
        return len(self._samples) // self._options.batch

    def run(
        self,
        checkpoints: Checkpoints | None = None,
        belongs: Mapping[str, str] | None = None,
        report: Report | None = None,
        after_epoch: Callable[[], None] = lambda: None,
    ) -> State:
        """Train to the end, from a checkpoint on if there is one; the state at the end.

        Each batch follows from the seed and the number of its step, so that a training that is
        resumed is equal, bit for bit, to one that was never interrupted.

        Parameters
        ----------
        belongs
            What the training is, beside its samples: see `write_checkpoint`.
        after_epoch
            Called when an epoch has ended, and once more where training goes on from there: it may
            change what is fixed, by the weights alone.

        Raises
        ------
        TrainingError
            The checkpoint is damaged or of another training; the loss is no number any more.
        OSError
            A checkpoint before the end cannot be written; the one before is as it was. At the end
            the state says why (`State.unsaved`), so that the training is not lost.
        """
        about = {**(belongs or {}), "samples": self._samples.digest}
        if checkpoints is not None and checkpoints.path.is_file():
            self._resume(read_checkpoint(checkpoints.path, about, self._whole_state))
            if self._at_end_of_epoch:
                after_epoch()
        written, begun = self.state.step, perf_counter() - self.state.seconds
        saved = perf_counter()

        def save() -> None:
            nonlocal written, saved
            if checkpoints is not None and self.state.step != written:
                write_checkpoint(checkpoints.path, self._whole_state, about)
                written = self.state.step
            saved = perf_counter()

        try:
            while self._is_due(self.state) or not self._over(self.state):
                if not self._is_due(self.state):
                    self._advance(begun)
                if self._is_due(self.state):
                    self._end_epoch(begun)
                    after_epoch()
                if checkpoints is not None and perf_counter() - saved >= checkpoints.seconds:
                    save()
                if report is not None:
                    report(self.state, self.total)
        except KeyboardInterrupt:
            save()
            raise
        try:
            save()
        except OSError as error:
            self.state = replace(self.state, unsaved=str(error))
        return self.state

    def measure(
        self, samples: Samples, weights: Mapping[str, Array] | None = None
    ) -> tuple[float, float | None]:
        """The mean loss of samples, and the part of them that is right, or None.

        Parameters
        ----------
        weights
            By the names of parameters; None for the weights now.
        """
        if self._losses is None:
            raise TrainingError("the training has no held-out samples")
        weights = self.weights if weights is None else weights
        batch = self._options.batch
        found: list[dict[str, Array]] = []
        for start in range(0, len(samples), batch):
            own = min(batch, len(samples) - start)
            # The last batch is filled up with its last sample, whose losses are dropped.
            numbers = np.minimum(np.arange(start, start + batch), len(samples) - 1)
            data = self._inputs(samples.batch(numbers))
            outputs = self._losses.run({**data, **weights}).outputs
            found.append({name: array[:own] for name, array in outputs.items()})
        means = [
            float(np.concatenate([each[name] for each in found]).mean(dtype=np.float64))
            for name in found[0]
        ]
        return means[0], means[1] if len(means) > 1 else None

    @property
    def _at_end_of_epoch(self) -> bool:
        """Whether the last step ended an epoch."""
        return bool(self.state.epochs) and self.state.epochs[-1].step == self.state.step

    @property
    def _whole_state(self) -> State:
        """The state, and what is fixed."""
        return replace(self.state, arrays={**self.state.arrays, **self.fixed})

    def _resume(self, whole: State) -> None:
        """Go on from a state."""
        self.fixed.update({name: whole.arrays[name] for name in self.fixed})
        arrays = {name: whole.arrays[name] for name in self.state.arrays}
        self.state = replace(whole, arrays=arrays)

    def _executor(self, function: Function, outputs: list[str]) -> Executor:
        machine = CpuTarget.host()
        artifact = build(function, [cpu(machine)], Provenance(function.name), outputs=outputs)
        return Executor(artifact, [CpuDevice(self._options.threads)])

    def _over(self, state: State) -> bool:
        if self._options.seconds is not None:
            return state.seconds >= self._options.seconds
        return state.step >= self.total

    def _done(self) -> float:
        """The part of the training that is over."""
        if self._options.seconds is not None:
            return min(1.0, self.state.seconds / self._options.seconds)
        # The first step has a rate, and the last one too.
        return (self.state.step + 0.5) / self.total

    def _is_due(self, state: State) -> bool:
        """Whether an epoch is over, or all steps are, and what they came to is not measured yet."""
        ended = state.step % self.steps_of_epoch == 0 or self._over(state)
        return ended and bool(state.losses)

    def _advance(self, begun: float) -> None:
        """One step. It changes weights in place, so that Ctrl-C waits for its end."""
        options, state = self._options, self.state
        epoch, at = divmod(state.step, self.steps_of_epoch)
        numbers = self._order(epoch)[at * options.batch : (at + 1) * options.batch]
        data = self._samples.batch(numbers, np.random.default_rng((options.seed, epoch, at)))
        rate = options.rate * options.schedule.factor(self._done())
        scalars: dict[str, Array] = {
            self._rate: np.array(rate, np.float32),
            self._number: np.array(state.step + 1, np.int64),
        }
        inputs = {**self._inputs(data), **state.arrays, **scalars}
        with interrupts_held():
            outputs = self._step.run(inputs).outputs
            loss = float(outputs["loss"])
            arrays = {name: outputs[f"next {name}"] for name in state.arrays}
            seconds = perf_counter() - begun
            losses = (*state.losses, loss)
            self.state = State(state.step + 1, arrays, losses, seconds, state.epochs, rate)
        advice = f"a smaller rate (it was {rate:.3g}) or a bound of gradients may help"
        if not np.isfinite(loss):
            raise TrainingError(f"the loss is {loss} in step {self.state.step}: {advice}")
        for name, array in arrays.items():
            if not np.isfinite(array).all():
                raise TrainingError(
                    f"{name} has NaN or infinity after step {self.state.step}: {advice}"
                )

    def _end_epoch(self, begun: float) -> None:
        """Measure what is held out, and add a row. An interrupt before leaves an epoch that is
        due."""
        state = self.state
        held_out, accuracy = (
            (None, None)
            if self._losses is None or self._held_out is None
            else self.measure(self._held_out, self.weights)
        )
        seconds = perf_counter() - begun
        row = Epoch(state.step, fmean(state.losses), state.rate, seconds, held_out, accuracy)
        epochs = (*state.epochs, row)
        self.state = replace(state, losses=(), seconds=seconds, epochs=epochs)

    def _order(self, epoch: int) -> Array:
        """The order of the samples in an epoch."""
        if self._ordered is None or self._ordered[0] != epoch:
            random = np.random.default_rng((self._options.seed, epoch))
            self._ordered = epoch, random.permutation(len(self._samples))
        return self._ordered[1]

    def _inputs(self, data: Mapping[str, Array]) -> dict[str, Array]:
        """A batch by the names of parameters, and what is fixed."""
        found = {name: data[name] for name in self._data}
        found[self._target] = data[TARGET]
        return {**found, **self.fixed}

    def _check(self, weights: Mapping[str, Array]) -> None:
        """Raise `TrainingError` where arrays do not fit parameters."""
        sample = self._samples.batch(np.zeros(self._options.batch, np.int64))
        check_input_names(self._data)
        target = self._target
        named = {**{name: sample[name] for name in sample if name != TARGET}, **weights}
        named = {**named, **self.fixed, target: sample[TARGET]}
        for name in (*self._names, target):
            own = TARGET if name == target else name
            if name not in named:
                raise TrainingError(f"no array {own}, which the network takes")
            wanted, array = self._types[name], named[name]
            shape, dtype = wanted.static_shape(name), wanted.dtype.numpy
            if array.shape != shape or array.dtype != dtype:
                given = f"{own} is {array.dtype}{[*array.shape]}, not {wanted}"
                if name in (*self._data, target) and array.shape[1:] == shape[1:]:
                    given += (
                        f": the network takes batches of {shape[0]}, unless its first extent is "
                        "open; a step has the option batch's"
                    )
                raise TrainingError(given)
