"""Plans of trainings: models, data, and what does not fit."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from tandem.workbench.errors import TrainingError
from tandem.workbench.models import read_named
from tandem.workbench.training.data_files import array_samples, read_arrays
from tandem.workbench.training.digits import OPTIONS, shifted
from tandem.workbench.training.losses import Loss
from tandem.workbench.training.plan import plan_training
from tandem.workbench.training.samples import Array
from tandem.workbench.training.trainable import Trainable, trainable
from tests.support.compiler.graph.graphs import graph


@pytest.fixture(scope="module")
def digits() -> Trainable:
    return trainable(read_named("digits", 0).proto, 16)


def test_weights_are_parameters(digits: Trainable) -> None:
    assert len(digits.weights) == 20
    assert sum(array.size for array in digits.weights.values()) == 77_418
    again = digits.with_weights(digits.weights)
    assert again == digits.model
    zeros = {name: np.zeros_like(array) for name, array in digits.weights.items()}
    changed = digits.with_weights(zeros)
    assert not any(onnx.numpy_helper.to_array(each).any() for each in changed.graph.initializer)


def test_random_weights_have_the_variance_of_their_inputs(digits: Trainable) -> None:
    drawn = digits.random_weights(3)
    assert all((drawn[name] == digits.random_weights(3)[name]).all() for name in drawn)
    for array in drawn.values():
        if array.ndim == 1:
            assert not array.any()
        elif array.size > 4000:
            fan_in = array[0].size
            assert array.var() == pytest.approx(2 / fan_in, rel=0.1)


def test_frozen_weights_are_constants() -> None:
    found = trainable(read_named("digits", 0).proto, 4, freeze=["onnx::*"])
    assert [*found.weights] == ["head_weight", "head_bias"]
    with pytest.raises(
        TrainingError, match=r"^no weights are called tail: there are head.weight, "
    ):
        trainable(read_named("digits", 0).proto, 4, freeze=["tail"])


def test_the_images_of_digits() -> None:
    plan = plan_training(read_named("digits", 0), OPTIONS)
    assert (len(plan.samples), len(plan.held_out)) == (1437, 360)
    from tandem.compiler import models

    with np.load(Path(models.__file__).with_name("digits.npz")) as file:
        np.testing.assert_array_equal(
            plan.held_out.arrays["input"], file["images"].astype(np.float32) / 16
        )
        np.testing.assert_array_equal(plan.held_out.arrays["target"], file["labels"])


def test_shifts_move_images_by_a_pixel_at_most() -> None:
    images = np.zeros((200, 1, 8, 8), np.float32)
    images[:, 0, 4, 4] = 1
    at = np.argwhere(shifted(images, np.random.default_rng(0))[:, 0])
    assert len(at) == 200
    assert {*map(tuple, at[:, 1:])} == {(y, x) for y in (3, 4, 5) for x in (3, 4, 5)}


def test_data_that_does_not_fit(digits: Trainable) -> None:
    x = np.zeros((5, 1, 8, 8), np.float32)
    cases: dict[str, dict[str, Array]] = {
        r"no array target; there are input, and target, input are needed": {"input": x},
        r"input is \[5, 8, 8\], and not \[N, 1, 8, 8\]": {
            "input": x[:, 0],
            "target": np.zeros(5, int),
        },
        r"target holds float64: int64 is needed": {"input": x, "target": np.zeros(5)},
        r"target has class 10: 0 to 9 are allowed": {"input": x, "target": np.full(5, 10)},
        r"input has NaN or infinity": {"input": x * np.nan, "target": np.zeros(5, int)},
        r"arrays differ in the number of samples": {"input": x, "target": np.zeros(4, int)},
        r"input holds <U1: numbers are needed": {
            "input": np.full((5, 1, 8, 8), "a"),
            "target": np.zeros(5, int),
        },
    }
    for message, arrays in cases.items():
        with pytest.raises(TrainingError, match=message):
            array_samples(arrays, digits.function, digits.inputs, Loss.CROSS_ENTROPY)


@pytest.mark.parametrize(
    ("type_", "values", "bad"),
    [
        ("float32", [0.0, 1e39], "1e+39"),
        ("float32", [-1e300, 0.0], "-1e+300"),
        ("uint8", [0, 256], "256"),
        ("uint8", [-1, 3], "-1"),
        ("int32", [0, 1 << 31], "2147483648"),
        ("int64", np.array([0, (1 << 64) - 1], np.uint64), "18446744073709551615"),
    ],
)
def test_values_that_conversion_would_change(type_: str, values: Array, bad: str) -> None:
    network = graph(
        f"""
func @f(x: {type_}[2], w: float32[3, 1]) -> float32[2, 3]:
  r = reshape(x, shape=[2, 1])
  a = cast(r, to=float32)
  y = dense(a, w)
  return y
"""
    )
    arrays = {"x": np.array(values), "target": np.zeros(2, int)}
    with pytest.raises(TrainingError, match=rf"^data: x has {re.escape(bad)}: "):
        array_samples(arrays, network, {"x": "x"}, Loss.CROSS_ENTROPY)


LOOKUP = """
func @f(tokens: int32[2, 3], table: float32[5, 4], w: float32[3, 12]) -> float32[2, 3]:
  i = cast(tokens, to=int64)
  rows = gather(table, i, axis=0)
  flat = reshape(rows, shape=[2, 12])
  y = dense(flat, w)
  return y
"""


@pytest.mark.parametrize(
    ("value", "place", "message"),
    [
        (
            5,
            (7, 1),
            r"^data: words of sample 7 has 5 at \[1\], an index of a table of 5 rows: -5 to",
        ),
        (-6, (0, 2), r"^data: words of sample 0 has -6 at \[2\], .*: -5 to 4 are allowed$"),
    ],
)
def test_indices_of_no_row(value: int, place: tuple[int, int], message: str) -> None:
    words = np.random.default_rng(0).integers(-5, 5, (9, 3))
    arrays = {"words": words, "target": np.zeros(9, int)}
    given = (graph(LOOKUP), {"words": "tokens"}, Loss.CROSS_ENTROPY)
    assert len(array_samples(arrays, *given)) == 9
    words[place] = value
    with pytest.raises(TrainingError, match=message):
        array_samples(arrays, *given)


def test_probabilities_are_in_their_range(digits: Trainable) -> None:
    x = np.zeros((5, 1, 8, 8), np.float32)
    for value in (1.5, -0.1):
        arrays = {"input": x, "target": np.full((5, 10), value)}
        with pytest.raises(TrainingError, match=r"target has -?[\d.]+: 0.0 to 1.0 are allowed$"):
            array_samples(arrays, digits.function, digits.inputs, Loss.BINARY_CROSS_ENTROPY)
        assert array_samples(arrays, digits.function, digits.inputs, Loss.MSE)


def test_an_input_that_is_called_as_the_target_is(digits: Trainable) -> None:
    arrays = {"target": np.zeros((5, 1, 8, 8), np.float32)}
    (param,) = digits.inputs.values()
    with pytest.raises(TrainingError, match=r"^an input of the network is called target"):
        array_samples(arrays, digits.function, {"target": param}, Loss.MSE)


def test_no_samples(digits: Trainable) -> None:
    arrays = {"input": np.zeros((0, 1, 8, 8), np.float32), "target": np.zeros(0, int)}
    with pytest.raises(TrainingError, match=r"^data: there are no samples$"):
        array_samples(arrays, digits.function, digits.inputs, Loss.CROSS_ENTROPY)


def test_files_that_are_no_data(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, target=np.zeros(100))
    content = path.read_bytes()
    for damaged in (b"", b"text", content[:200]):
        path.write_bytes(damaged)
        with pytest.raises(
            TrainingError, match=r"data.npz cannot be read: .*: a .npz file with target is needed"
        ):
            read_arrays(path)
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(
        TrainingError, match=r"one.npy cannot be read: it holds a single array: a .npz file with"
    ):
        read_arrays(tmp_path / "one.npy")


def test_models_without_data() -> None:
    with pytest.raises(
        TrainingError, match=r"^no data to train dqn-tiny with: --data FILE has it$"
    ):
        plan_training(read_named("dqn-tiny", 0), OPTIONS)
