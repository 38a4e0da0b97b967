"""Samples as rows of arrays: batches, digests, and what is held out."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.workbench.errors import TrainingError
from tandem.workbench.training.losses import TARGET
from tandem.workbench.training.samples import Array, ArraySamples

COUNT = 7


def arrays() -> dict[str, Array]:
    """Row `n` has the numbers `n`, `n + 0.5` and `10 * n`."""
    rows = np.arange(COUNT)
    data = np.stack([rows, rows + 0.5], axis=1).astype(np.float32)
    return {"x": data, TARGET: 10 * rows}


def doubled(batch: dict[str, Array], random: np.random.Generator) -> dict[str, Array]:
    return {**batch, "x": batch["x"] * 2 + random.integers(0, 1)}


def test_batches() -> None:
    samples = ArraySamples(arrays(), doubled)
    numbers = np.array([5, 0, 5])
    found = samples.batch(numbers)
    assert len(samples) == COUNT
    assert found["x"].tolist() == [[5, 5.5], [0, 0.5], [5, 5.5]]
    assert found[TARGET].tolist() == [50, 0, 50]
    assert all(each.flags.c_contiguous for each in found.values())
    # They are changed where there is something random to change them by.
    changed = samples.batch(numbers, np.random.default_rng(0))
    assert changed["x"].tolist() == [[10, 11], [0, 1], [10, 11]]
    plain = ArraySamples(arrays()).batch(numbers, np.random.default_rng(0))
    assert plain["x"].tolist() == found["x"].tolist()


def test_a_digest_is_of_names_types_shapes_and_numbers() -> None:
    one = ArraySamples(arrays())
    assert one.digest == ArraySamples(dict(reversed(arrays().items())), doubled).digest
    others = [
        {**arrays(), "x": arrays()["x"] + 1},
        {**arrays(), "x": arrays()["x"].astype(np.float64)},
        {**arrays(), "x": arrays()["x"].reshape(COUNT, 2, 1)},
        {**arrays(), "y": arrays()["x"]},
        {"y": arrays()["x"], TARGET: arrays()[TARGET]},
    ]
    digests = {one.digest, *(ArraySamples(other).digest for other in others)}
    assert len(digests) == 1 + len(others)
    fortran = {**arrays(), "x": np.asfortranarray(arrays()["x"])}
    assert ArraySamples(fortran).digest == one.digest


@pytest.mark.parametrize("held_out", [0, 1, 3, COUNT - 1])
def test_what_is_held_out(held_out: int) -> None:
    samples = ArraySamples(arrays(), doubled)
    seen, unseen = samples.split(held_out, seed=1)
    assert (len(seen), len(unseen)) == (COUNT - held_out, held_out)
    together = [*seen.arrays[TARGET], *unseen.arrays[TARGET]]
    assert sorted(together) == [10 * number for number in range(COUNT)]
    for part in (seen, unseen):
        for row, target in zip(part.arrays["x"], part.arrays[TARGET], strict=True):
            assert row.tolist() == [target / 10, target / 10 + 0.5]
    # What is held out is never changed.
    assert (seen.augment, unseen.augment) == (doubled, None)


def test_what_is_held_out_depends_on_the_seed() -> None:
    samples = ArraySamples(arrays())
    drawn = {tuple(samples.split(3, seed)[1].arrays[TARGET]) for seed in range(8)}
    assert len(drawn) > 4
    again = samples.split(3, 5)[1].arrays[TARGET]
    assert again.tolist() == samples.split(3, 5)[1].arrays[TARGET].tolist()


@pytest.mark.parametrize("held_out", [-1, COUNT, COUNT + 1])
def test_a_sample_has_to_be_left(held_out: int) -> None:
    message = rf"^{held_out} of 7 samples are held out: 0 to 6 are allowed$"
    with pytest.raises(TrainingError, match=message):
        ArraySamples(arrays()).split(held_out, 0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, f"^no array {TARGET} among none$"),
        ({"x": np.zeros(3), "y": np.zeros(3)}, f"^no array {TARGET} among x, y$"),
        (
            {"x": np.zeros((3, 2)), TARGET: np.zeros(4)},
            f"^arrays differ in the number of samples: x 3, {TARGET} 4$",
        ),
        (
            {"x": np.zeros((3, 2)), TARGET: np.zeros(())},
            f"^arrays differ in the number of samples: x 3, {TARGET} 0$",
        ),
    ],
)
def test_arrays_that_are_no_samples(given: dict[str, Array], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        ArraySamples(given)
