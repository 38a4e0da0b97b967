"""The axis of features of data: axis 1 of images, the last one of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.types import TensorType


def by_feature(value: NDArray[Any], features: int) -> NDArray[Any]:
    """Data as [rows, features]."""
    moved = np.moveaxis(value, 1, -1) if value.ndim > 2 else value
    return moved.reshape(-1, features)


def feature_shape(type_: TensorType) -> tuple[int, ...]:
    """The shape of a number for each feature, which broadcasts to a tensor."""
    return (-1,) if type_.rank <= 2 else (-1, *(1,) * (type_.rank - 2))
