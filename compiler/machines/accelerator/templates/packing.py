"""Packs tensors into the accelerator's blocks of channels, and unpacks them.

    data     [N, C, H, W]      ->  [N / B, C / K, H, W, B, K]
    weight   [O, C, KH, KW]    ->  [O / L, C / K, KH, KW, L, K]
    channel  [O]               ->  [O / L, B, L]                  repeated for the batch

B, K and L are the array's batch, input and output block. Sizes are rounded up, with zeros.
"""

from __future__ import annotations

from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from tandem.compiler.errors import TensorError
from tandem.compiler.operators.blocks import blocks
from tandem.hw.config import HardwareConfig

Array = npt.NDArray[np.generic]


def packed_data_shape(shape: tuple[int, ...], config: HardwareConfig) -> tuple[int, ...]:
    """The shape of `pack_data`'s result."""
    n, c, h, w = shape
    b, k = config.batch, config.block_in
    return blocks(n, b), blocks(c, k), h, w, b, k


def packed_weight_shape(shape: tuple[int, ...], config: HardwareConfig) -> tuple[int, ...]:
    """The shape of `pack_weight`'s result."""
    o, c, kh, kw = shape
    return (
        blocks(o, config.block_out),
        blocks(c, config.block_in),
        kh,
        kw,
        config.block_out,
        config.block_in,
    )


def pack_data(data: Array, config: HardwareConfig) -> Array:
    """Data [N, C, H, W] packed as [N / B, C / K, H, W, B, K]."""
    _ranked("data", data, 4)
    n, c, h, w, b, k = packed_data_shape(data.shape, config)
    padded = _padded(data, (n * b, c * k, h, w))
    return np.ascontiguousarray(padded.reshape(n, b, c, k, h, w).transpose(0, 2, 4, 5, 1, 3))


def unpack_data(packed: Array, shape: tuple[int, ...]) -> Array:
    """Packed data as [N, C, H, W], cropped to `shape`."""
    _ranked("packed data", packed, 6)
    n, c, h, w, b, k = packed.shape
    whole = packed.transpose(0, 4, 1, 5, 2, 3).reshape(n * b, c * k, h, w)
    if len(shape) != 4 or any(a > b for a, b in zip(shape, whole.shape, strict=True)):
        raise TensorError(f"packed data of {whole.shape} does not hold {shape}")
    return np.ascontiguousarray(whole[tuple(slice(each) for each in shape)])


def pack_weight(weight: Array, config: HardwareConfig) -> Array:
    """A weight [O, C, KH, KW] packed as [O / L, C / K, KH, KW, L, K]."""
    _ranked("weight", weight, 4)
    o, c, kh, kw, lanes, k = packed_weight_shape(weight.shape, config)
    padded = _padded(weight, (o * lanes, c * k, kh, kw))
    return np.ascontiguousarray(padded.reshape(o, lanes, c, k, kh, kw).transpose(0, 2, 4, 5, 1, 3))


def block_groups(
    weight: Array, groups: int, config: HardwareConfig
) -> tuple[npt.NDArray[np.generic], int]:
    """A grouped convolution's weight with groups merged to whole blocks, and the number of groups.

    Groups that share a block are merged, with zeros for the inputs that an output does not read:
    sixteen channels of a depthwise convolution are one block of outputs and one of inputs. Where
    groups and blocks have no common boundary, all groups are merged to one.

    Parameters
    ----------
    weight
        [O, C / groups, KH, KW].

    Returns
    -------
    tuple
        [O, input channels of a merged group, KH, KW], and the number of merged groups.
    """
    _ranked("weight", weight, 4)
    outputs, inputs, *kernel = weight.shape
    own = outputs // groups
    merged = _merged(groups, inputs, own, config)
    found = np.zeros((outputs, merged, inputs, *kernel), weight.dtype)
    rows = np.arange(outputs)
    found[rows, rows // own % merged] = weight
    return found.reshape(outputs, merged * inputs, *kernel), blocks(groups, merged)


def _merged(groups: int, inputs: int, outputs: int, config: HardwareConfig) -> int:
    """The least number of groups that fill whole blocks."""
    merged = lcm(
        config.block_in // gcd(config.block_in, inputs),
        config.block_out // gcd(config.block_out, outputs),
    )
    found = blocks(groups, merged)
    # A partial last merged group must still have as many blocks as a full group.
    whole = found * blocks(merged * inputs, config.block_in)
    whole_out = found * blocks(merged * outputs, config.block_out)
    ends = blocks(groups * inputs, config.block_in), blocks(groups * outputs, config.block_out)
    return merged if merged < groups and (whole, whole_out) == ends else groups


def pack_channels(values: Array, config: HardwareConfig) -> Array:
    """Per-channel values [O] packed as [O / L, B, L], repeated for the batch."""
    _ranked("a number for each channel", values, 1)
    lanes = config.block_out
    rows = _padded(values, (blocks(len(values), lanes) * lanes,)).reshape(-1, 1, lanes)
    return np.ascontiguousarray(np.repeat(rows, config.batch, axis=1))


def _padded(array: Array, shape: tuple[int, ...]) -> Array:
    pads = [(0, whole - size) for size, whole in zip(array.shape, shape, strict=True)]
    return np.pad(array, pads)


def _ranked(what: str, array: Array, rank: int) -> None:
    if array.ndim != rank:
        raise TensorError(f"{what} has {rank} dimensions, not {array.ndim}: {array.shape}")


def useful_weights(weight: npt.NDArray[np.generic]) -> int:
    """The weights that are no zeros which packing has added: of columns of taps, those that no
    output uses are not counted, as they are the rows below a kernel that windows are packed by."""
    if weight.ndim != 4 or weight.shape[2] == 1 or weight.shape[3] > 1:
        return weight.size
    return int(weight.any(axis=0).sum()) * weight.shape[0]
