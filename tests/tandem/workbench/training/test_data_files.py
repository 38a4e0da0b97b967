"""Samples from arrays: names, shapes, types and ranges, at both sides of each limit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.workbench.errors import TrainingError
from tandem.workbench.training.data_files import array_samples, read_arrays
from tandem.workbench.training.losses import TARGET, Loss
from tandem.workbench.training.samples import ArraySamples
from tests.support.compiler.graph.graphs import graph

LOGITS = graph(
    "func @f(x: float32[2, 3]) -> float32[2, 3]:\n  y = multiply(x, float32[](2.0))\n  return y\n"
)
LOOKED_UP = graph(
    "func @f(tokens: int64[2, 4]) -> float32[2, 4, 3]:\n"
    f"  y = gather(float32[5, 3]({', '.join(['1.0'] * 15)}), tokens, axis=0)\n  return y\n"
)
BYTES = graph(
    "func @f(x: int8[2, 3], flags: bool[2, 3]) -> float32[2, 3]:\n"
    "  a = cast(x, to=float32)\n  b = cast(flags, to=float32)\n"
    "  y = multiply(a, b)\n  return y\n"
)


def samples(network: Any = LOGITS, loss: Loss = Loss.CROSS_ENTROPY, **arrays: Any) -> ArraySamples:
    """Samples whose arrays have the names of parameters with an underscore behind."""
    inputs = {f"{param.name}_": param.name for param in network.params}
    found = {name: np.asarray(array) for name, array in arrays.items()}
    return array_samples(found, network, inputs, loss, "file")


def refused(message: str, network: Any = LOGITS, **arrays: Any) -> None:
    with pytest.raises(TrainingError, match=f"^{re.escape(message)}"):
        samples(network, **arrays)


X = np.ones((2, 3))


def test_samples_have_the_names_and_types_of_parameters() -> None:
    found = samples(x_=[[1, 2, 3]] * 4, target=np.array([0, 1, 2, 0], np.int8), more=[1])
    assert {name: (it.dtype.name, it.shape) for name, it in found.arrays.items()} == {
        "x": ("float32", (4, 3)),
        TARGET: ("int64", (4,)),
    }
    assert found.arrays["x"].tolist() == [[1, 2, 3]] * 4


def test_missing_arrays() -> None:
    refused("file: no array target; there are x_, and target, x_ are needed", x_=X)
    refused("file: no array target; there are none, and target, x_ are needed")
    refused("file: no array x_; there are target, and target, x_ are needed", target=[0, 1])


def test_shapes() -> None:
    refused("file: x_ is [2, 2], and not [N, 3]", x_=X[:, :2], target=[0, 1])
    refused("file: x_ is [], and not [N, 3]", x_=1.0, target=[0, 1])
    refused("file: target is [2, 1], and not [N]", x_=X, target=[[0], [1]])
    refused("file: target is [], and not [N]", x_=X, target=0)
    refused("file: there are no samples", x_=X[:0], target=np.zeros(0, np.int64))


def test_classes() -> None:
    assert samples(x_=X, target=[0, 2]).arrays[TARGET].tolist() == [0, 2]
    refused("file: target has class 3: 0 to 2 are allowed", x_=X, target=[0, 3])
    refused("file: target has class -1: 0 to 2 are allowed", x_=X, target=[-1, 3])
    refused("file: target holds float64: int64 is needed", x_=X, target=[0.0, 1.0])


def test_probabilities() -> None:
    both = Loss.BINARY_CROSS_ENTROPY
    target = np.array([[0.0, 0.5, 1.0]] * 2)
    assert samples(loss=both, x_=X, target=target).arrays[TARGET].tolist() == target.tolist()
    refused("file: target has 1.5: 0.0 to 1.0 are allowed", loss=both, x_=X, target=1.5 * target)
    refused("file: target has -0.5: 0.0 to 1.0", loss=both, x_=X, target=target - 0.5)
    # Of other losses any number is one.
    assert samples(loss=Loss.MSE, x_=X, target=3 * target).arrays[TARGET].max() == 3


def test_numbers_that_a_type_does_not_have() -> None:
    refused("file: x_ has NaN or infinity", x_=X * np.inf, target=[0, 1])
    refused("file: x_ has NaN or infinity", x_=X * np.nan, target=[0, 1])
    refused("file: x_ has 1e+39: -3.4028", x_=[[1e39, 0, -1]] * 2, target=[0, 1])
    refused("file: x_ holds <U1: numbers are needed", x_=[["a"] * 3] * 2, target=[0, 1])
    refused("file: x_ holds complex128: numbers are needed", x_=X * 1j, target=[0, 1])
    flags = np.array([[True, False, True]] * 2)
    mse, target = Loss.MSE, np.zeros((2, 3))
    numbers = np.array([[-128, 0, 127]] * 2, np.int16)
    found = samples(BYTES, mse, x_=numbers, flags_=flags, target=target)
    assert found.arrays["x"].tolist() == numbers.tolist()
    assert found.arrays["flags"].tolist() == flags.tolist()
    given = {"network": BYTES, "loss": mse, "flags_": flags, "target": target}
    refused("file: x_ has 128: -128 to 127 are allowed", x_=numbers + 1, **given)
    refused("file: x_ has -129: -128 to 127 are allowed", x_=numbers - 1, **given)


def test_indices_of_tables() -> None:
    mse, target = Loss.MSE, np.zeros((2, 4, 3))
    tokens = np.array([[0, 1, 2, 3], [-5, -1, 4, 0]])
    found = samples(LOOKED_UP, mse, tokens_=tokens, target=target)
    assert found.arrays["tokens"].tolist() == tokens.tolist()
    given = {"network": LOOKED_UP, "loss": mse, "target": target}
    said = "an index of a table of 5 rows: -5 to 4 are allowed"
    tokens[1, 2] = 5
    refused(f"file: tokens_ of sample 1 has 5 at [2], {said}", tokens_=tokens, **given)
    tokens[0, 3] = -6
    refused(f"file: tokens_ of sample 0 has -6 at [3], {said}", tokens_=tokens, **given)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, x=X, target=np.array([0, 1]))
    found = read_arrays(path)
    assert {name: array.tolist() for name, array in found.items()} == {
        "x": X.tolist(),
        "target": [0, 1],
    }
    path.write_bytes(b"no archive")
    with pytest.raises(TrainingError, match=r": a \.npz file with target is needed$"):
        read_arrays(path)
