"""`tandem.train`: what its arguments mean, and their limits; its table of epochs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tandem.api.training import described, epoch_table, train, training_options
from tandem.compiler.graph.gradients import Adam, Sgd
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError, TandemError
from tandem.workbench.training.checkpoints import Epoch, State
from tandem.workbench.training.losses import Loss
from tandem.workbench.training.schedules import Curve, Schedule
from tandem.workbench.training.trainer import TrainingOptions

NONE = dict.fromkeys(
    (
        *("loss", "optimizer", "rate", "decay", "momentum", "schedule", "warmup", "batch"),
        *("epochs", "steps", "minutes", "clip", "threads", "memory_limit"),
    )
)
BASE = TrainingOptions(
    loss=Loss.MSE,
    optimiser=Adam(decay=0.02),
    rate=0.5,
    schedule=Schedule(Curve.LINEAR, 0.25),
    batch=7,
    clip=2.0,
    epochs=3,
)


def options(base: TrainingOptions = BASE, **given: Any) -> TrainingOptions:
    return training_options(base, **{**NONE, "seed": 0, **given})


def test_nothing_is_that_of_the_base() -> None:
    assert options() == BASE
    assert options(replace(BASE, epochs=None, steps=9), seed=4) == replace(
        BASE, epochs=None, steps=9, seed=4
    )


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        ({"loss": "mae"}, {"loss": Loss.MAE}),
        ({"rate": 0.125}, {"rate": 0.125}),
        ({"batch": 1}, {"batch": 1}),
        ({"clip": 0.5}, {"clip": 0.5}),
        ({"threads": 2}, {"threads": 2}),
        ({"seed": 5}, {"seed": 5}),
        ({"schedule": "cosine"}, {"schedule": Schedule(Curve.COSINE, 0.25)}),
        ({"warmup": 0.0}, {"schedule": Schedule(Curve.LINEAR, 0.0)}),
        ({"schedule": "constant", "warmup": 0.5}, {"schedule": Schedule(Curve.CONSTANT, 0.5)}),
        ({"epochs": 1}, {"epochs": 1}),
        ({"steps": 1}, {"epochs": None, "steps": 1}),
        ({"minutes": 0.5}, {"epochs": None, "seconds": 30.0}),
        ({"optimizer": "sgd"}, {"optimiser": Sgd(0.9, 0.02)}),
        ({"optimizer": "sgd", "momentum": 0.5}, {"optimiser": Sgd(0.5, 0.02)}),
        ({"optimizer": "sgd", "momentum": 0.0, "decay": 0.0}, {"optimiser": Sgd(0.0, 0.0)}),
        ({"optimizer": "adam"}, {"optimiser": Adam(decay=0.02)}),
        ({"decay": 0.5}, {"optimiser": Adam(decay=0.5)}),
        ({"decay": 0.0}, {"optimiser": Adam(decay=0.0)}),
    ],
)
def test_an_argument_changes_what_it_names(given: Any, changes: Any) -> None:
    assert options(**given) == replace(BASE, **changes)


def test_the_optimizer_of_the_base_stays() -> None:
    base = replace(BASE, optimiser=Sgd(0.5, 0.125))
    assert options(base, decay=0.25).optimiser == Sgd(0.9, 0.25)
    assert options(base, momentum=0.75).optimiser == Sgd(0.75, 0.125)
    assert options(base, optimizer="adam").optimiser == Adam(decay=0.125)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": "hinge"}, "no loss 'hinge': there are "),
        ({"optimizer": "lion"}, "no optimizer 'lion': there are adam, sgd"),
        ({"schedule": "step"}, "no schedule 'step': there are "),
        ({"momentum": 0.5}, "momentum is for the optimizer sgd"),
        ({"optimizer": "sgd", "momentum": 1.0}, "momentum is 1.0"),
        ({"optimizer": "sgd", "decay": -1.0}, "decay is -1.0"),
        ({"warmup": 1.0}, "warmup is 1.0: 0 to under 1 is allowed"),
        ({"warmup": -0.1}, "warmup is -0.1"),
        ({"batch": 0}, "batch is 0: it must be 1 or more"),
        ({"epochs": 0}, "epochs is 0: it must be 1 or more"),
        ({"steps": 0}, "steps is 0: it must be 1 or more"),
        ({"seed": -1}, "seed is -1: it must be 0 or more"),
        ({"rate": 0.0}, "rate is 0.0: over 0 is allowed"),
        ({"rate": float("inf")}, "rate is inf: over 0 is allowed"),
        ({"minutes": 0.0}, "minutes is 0.0: over 0 is allowed"),
        ({"minutes": float("nan")}, "minutes is nan: over 0 is allowed"),
        ({"minutes": float("inf")}, "minutes is inf: over 0 is allowed"),
        ({"epochs": 1, "steps": 1}, "training has one limit: epochs, steps, or a time"),
        ({"steps": 1, "minutes": 1.0}, "training has one limit: epochs, steps, or a time"),
    ],
)
def test_limits(given: Any, message: str) -> None:
    with pytest.raises(ArgumentValueError) as caught:
        options(**given)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"data": 3}, ArgumentTypeError, "data is 3: it must be the path of a .npz file, or a map"),
        ({"data": "none.npz"}, (TandemError, OSError), "none.npz"),
        ({"held_out": -1}, ArgumentValueError, "held_out is -1: it must be 0 or more"),
        ({"initial": "zeros"}, ArgumentValueError, "no initial 'zeros': there are given, random"),
        ({"freeze": 3}, ArgumentTypeError, "freeze is 3: it must be a sequence of names"),
        ({"freeze": ["a", 3]}, ArgumentTypeError, "a name of freeze is 3: it must be a str"),
        ({"checkpoint": ""}, ArgumentValueError, "checkpoint is empty"),
    ],
)
def test_refusals(given: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind) as caught:
        train("digits", steps=1, **given)
    assert message in str(caught.value)


def test_a_state_in_words_and_its_epochs() -> None:
    epochs = (Epoch(6, 0.75, 0.1, 1.5), Epoch(12, 0.5, 0.05, 3.5, 0.625, 0.875))
    state = State(1234, {}, (0.5, 0.123456), 4.0, epochs)
    assert described(state) == "step 1,234, loss 0.1235"
    assert described(replace(state, losses=())) == "epoch 2, loss 0.5"
    table = epoch_table(state)
    names = ("epoch", "step", "loss", "held_out", "accuracy", "rate", "seconds")
    assert table.names == names
    assert table.rows == (
        (1, 6, 0.75, None, None, 0.1, 1.5),
        (2, 12, 0.5, 0.625, 0.875, 0.05, 3.5),
    )
