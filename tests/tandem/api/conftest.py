"""A small network, compiled once for the tests of the front door."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tandem
from tests.support.compiler.models.models import convolution


@pytest.fixture(scope="session")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A convolution, a ReLU and a global average pool: `image` to `out:0`."""
    return convolution(tmp_path_factory.mktemp("model") / "net.onnx")


@pytest.fixture(scope="session")
def image() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(3).standard_normal((1, 3, 8, 8)).astype(np.float32)


@pytest.fixture(scope="session")
def artifact(
    model_file: Path, image: np.ndarray[tuple[int, ...], np.dtype[np.float32]]
) -> tandem.Artifact:
    return tandem.compile(model_file, "tiny", calibrate=image)
