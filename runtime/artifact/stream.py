"""Instruction streams: a program of the accelerator with its memory image, as a storable value.

As bytes: a line that names the format and the length of the header, the header as JSON, and three
parts, whose sizes are in the header: instructions, memory image, the layer of each instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config, parse_config
from tandem.hw.errors import ConfigError
from tandem.runtime.errors import ArtifactError
from tandem.runtime.native.objects import is_shape

_MAGIC = b"tandem-stream 2 "


class PlacedTensor(Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor in the accelerator's memory: dense, row-major, from `address`."""

    name: str
    address: int
    shape: tuple[int, ...]
    dtype: str


class Layer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A layer of the stream: an operator with the operators fused into it.

    Attributes
    ----------
    name
        The graph's name of the layer's result.
    operators
        Operators of the graph that the layer computes.
    macs
        Useful multiply-accumulates.
    least_bytes
        Minimum DRAM traffic: each operand element that the result depends on is read once, and
        the result is written once.
    weights
        How weights that the network has as codes lie in memory; empty for all others.
    joined
        The graph's names of values inside the layer that would be results of layers of their own if
        it did not join them, as that of a convolution whose maxima over windows alone are stored.
    """

    name: str
    operators: tuple[str, ...]
    macs: int
    least_bytes: int
    weights: str = ""
    joined: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names that the layer is found by, its own first."""
        return self.name, *self.joined


class _Header(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    config: str
    inputs: tuple[PlacedTensor, ...]
    outputs: tuple[PlacedTensor, ...]
    layers: tuple[Layer, ...]
    places: tuple[str, ...]
    contents: tuple[PlacedTensor, ...]
    sizes: tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class StreamCode:
    """An instruction stream of an accelerator: code of the kind `stream`.

    Attributes
    ----------
    config
        The accelerator that the stream was compiled for.
    program
        Instructions, 16 bytes each.
    image
        Memory before a run, index == address: weights, biases and scales, micro-ops. A run
        copies inputs into that memory.
    inputs, outputs
        Where inputs and outputs lie in memory.
    layers
        In the order in which they begin.
    layer_of
        For each instruction the number of its layer; -1 if it belongs to none.
    places
        For each instruction, the position in its layer's schedule that it was generated from.
    contents
        Other tensors in memory, for information: results of layers, `LAYER.weight` and other
        constants of a layer, micro-ops. Results may have the same bytes at different times.
    """

    name: str
    config: HardwareConfig
    program: bytes
    image: NDArray[np.uint8]
    inputs: tuple[PlacedTensor, ...]
    outputs: tuple[PlacedTensor, ...]
    layers: tuple[Layer, ...]
    layer_of: NDArray[np.int32]
    places: tuple[str, ...]
    contents: tuple[PlacedTensor, ...] = ()

    kind: ClassVar[str] = "stream"

    @property
    def reads(self) -> tuple[PlacedTensor, ...]:
        """The inputs."""
        return self.inputs

    @property
    def writes(self) -> tuple[PlacedTensor, ...]:
        """The outputs."""
        return self.outputs

    def __post_init__(self) -> None:
        count = len(self.program) // 16
        if len(self.program) % 16 or len(self.layer_of) != count or len(self.places) != count:
            self._fail(f"{len(self.program)} bytes of instructions, {len(self.layer_of)} layers")
        if count and not -1 <= self.layer_of.min() <= self.layer_of.max() < len(self.layers):
            self._fail(f"instructions of layer {self.layer_of.max()} of {len(self.layers)}")
        for tensor in (*self.inputs, *self.outputs):
            size = self._size(tensor)
            if not is_shape(tensor.shape) or not 0 <= tensor.address <= self.image.size - size:
                self._fail(
                    f"{tensor.name} of {size} bytes at {tensor.address} is not within its memory "
                    f"of {self.image.size}"
                )

    def view(self, memory: NDArray[np.uint8], tensor: PlacedTensor) -> NDArray[Any]:
        """A tensor as a view of `memory`, which has the size of the image or more."""
        part = memory[tensor.address : tensor.address + self._size(tensor)]
        return part.view(_dtype(self.name, tensor)).reshape(tensor.shape)

    def _size(self, tensor: PlacedTensor) -> int:
        """The size of a tensor in bytes."""
        return prod(tensor.shape) * _dtype(self.name, tensor).itemsize

    def to_bytes(self) -> bytes:
        """The stream as bytes, for `from_bytes`."""
        parts = (
            self.program,
            self.image.tobytes(),
            np.ascontiguousarray(self.layer_of, np.dtype("<i4")).tobytes(),
        )
        program, image, layers = map(len, parts)
        header = msgspec.json.encode(
            _Header(
                self.name,
                dump_config(self.config),
                self.inputs,
                self.outputs,
                self.layers,
                self.places,
                self.contents,
                (program, image, layers),
            )
        )
        return b"".join((_MAGIC, f"{len(header)}\n".encode(), header, *parts))

    @classmethod
    def from_bytes(cls, data: bytes) -> StreamCode:
        """The stream that `to_bytes` wrote; raises `ArtifactError` if the parts do not fit."""
        line, _, rest = data.partition(b"\n")
        digits = line.removeprefix(_MAGIC)
        if not line.startswith(_MAGIC) or not digits.isdigit() or len(digits) > 12:
            raise ArtifactError("this is no instruction stream of ours, or of another version")
        size = int(digits)
        try:
            header = msgspec.json.decode(rest[:size], type=_Header)
        except (ValueError, RecursionError) as error:
            raise ArtifactError(f"instruction stream: its header is damaged: {error}") from None
        body = rest[size:]
        if min(header.sizes) < 0 or sum(header.sizes) != len(body) or header.sizes[2] % 4:
            raise ArtifactError(f"instruction stream {header.name}: it is cut off")
        first, second = header.sizes[0], header.sizes[0] + header.sizes[1]
        try:
            config = parse_config(header.config, "configuration")
        except ConfigError as error:
            raise ArtifactError(f"instruction stream {header.name}: {error}") from None
        return cls(
            header.name,
            config,
            body[:first],
            np.frombuffer(body[first:second], np.uint8),
            header.inputs,
            header.outputs,
            header.layers,
            np.frombuffer(body[second:], "<i4").astype(np.int32),
            header.places,
            header.contents,
        )

    def _fail(self, reason: str) -> None:
        raise ArtifactError(f"instruction stream {self.name}: {reason}")


_DTYPES = ("int8", "int32", "int64")
"""Data, sums, and parameters of requantisation: eight bytes a channel."""


def _dtype(stream: str, tensor: PlacedTensor) -> np.dtype[Any]:
    if tensor.dtype not in _DTYPES:
        raise ArtifactError(
            f"instruction stream {stream}: {tensor.name} is {tensor.dtype}, not one of "
            f"{', '.join(_DTYPES)}"
        )
    return np.dtype(tensor.dtype)
