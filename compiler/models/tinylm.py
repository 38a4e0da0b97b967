"""A small language model of bytes that was trained here, on the King James Bible.

`scripts/train_tinylm.py` has trained it. Its weights are float16 in `tinylm.npz`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, numpy_helper

from tandem.compiler.models.gpt2 import gpt2_of
from tandem.compiler.models.transformer import Sizes, TokenPorts

SIZES: Final = Sizes(128, 4, 512, 4, tokens=128, vocabulary=256)
"""842,496 weights; tokens are bytes."""
CONTEXT: Final = 128
"""The number of positions."""
FILE: Final = Path(__file__).with_name("tinylm.npz")


def tinylm(_: int = 0) -> ModelProto:
    """The model on 128 bytes: `ids` int64[1, 128] to `logits` [1, 128, 256]."""
    return tinylm_of(trained_weights())


def tinylm_of(
    weights: Mapping[str, NDArray[Any]], ports: TokenPorts | None = None, seed: int = 0
) -> ModelProto:
    """The model with other weights, for 128 bytes or for what other ports say; weights that are not
    there are drawn with the seed."""
    given = TokenPorts(SIZES) if ports is None else ports
    return gpt2_of("tinylm", given, CONTEXT, seed, weights)


@cache
def trained_weights() -> Mapping[str, NDArray[Any]]:
    """The trained weights, float32, by name."""
    with np.load(FILE) as file:
        return MappingProxyType({name: file[name].astype(np.float32) for name in file.files})


def save_weights(model: ModelProto) -> None:
    """Write the weights of a model of this architecture as those of `tinylm`."""
    half = {
        tensor.name: numpy_helper.to_array(tensor).astype(np.float16)
        for tensor in model.graph.initializer
        if tensor.data_type == TensorProto.FLOAT and len(tensor.dims) and tensor.name != "mask"
    }
    np.savez_compressed(FILE, **half)  # type: ignore[arg-type]  # names of arrays
