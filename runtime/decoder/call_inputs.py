"""The inputs of one call of a decoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.decoder.ports import DecoderPorts


def call_inputs(
    ports: DecoderPorts,
    cache: Mapping[str, NDArray[Any]],
    rows: int,
    width: int,
    length: int,
    tokens: Sequence[int],
) -> dict[str, NDArray[Any]]:
    """The inputs of a function of `width` tokens, for a text of `length` tokens and these behind.

    Tokens that are missing are 0, at the last position, and hidden; so are the rows of the cache
    that no token has.

    Parameters
    ----------
    cache
        Keys and values by the names of inputs.
    rows
        The rows of the cache.
    """
    count = len(tokens)
    ids = np.zeros((1, width), np.int64)
    ids[0, :count] = tokens
    positions = np.minimum(np.arange(length, length + width), rows)[None]
    mask = np.zeros((1, rows + width), np.int64)
    mask[0, :length] = 1
    mask[0, rows : rows + count] = 1
    own = {ports.ids: ids, ports.positions: positions.astype(np.int64), ports.mask: mask}
    return {**own, **cache}
