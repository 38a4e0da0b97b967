"""Instruction streams: a run of the accelerator's operators as a value that can be kept and loaded.

As bytes: a line that names the format and the length of the header, the header as JSON, and the
parts that it tells the sizes of: instructions, the memory image, the layer of each instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from runtime.errors import ArtifactError

__all__ = ["Layer", "Resident", "StreamCode"]

_MAGIC = b"tandem-stream 1 "


class Resident(Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor in the accelerator's memory: dense, row-major, from `address`."""

    name: str
    address: int
    shape: tuple[int, ...]
    dtype: str


class Layer(Struct, frozen=True, forbid_unknown_fields=True):
    """An operator of the stream.

    Attributes
    ----------
    name
        What the graph calls its result.
    operators
        Of the graph, that it computes.
    macs
        Useful multiply-accumulates.
    least_bytes
        That have to be moved: of its operands what some result needs, once, and its result once.
    """

    name: str
    operators: tuple[str, ...]
    macs: int
    least_bytes: int


class _Header(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    inputs: tuple[Resident, ...]
    outputs: tuple[Resident, ...]
    layers: tuple[Layer, ...]
    places: tuple[str, ...]
    contents: tuple[Resident, ...]
    sizes: tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class StreamCode:
    """A stream.

    Attributes
    ----------
    program
        Instructions, 16 bytes each.
    image
        Memory before a run, index == address: weights, numbers, micro-ops. Inputs are to be put
        there.
    layers
        In the order in which they begin.
    layer_of
        For each instruction the number of its layer, -1 for those of none.
    places
        For each instruction where in its layer's schedule it comes from.
    contents
        What else lies in memory, for people: results of layers, `LAYER.weight` and other numbers of
        a layer, micro-ops. Results share bytes at different times.
    """

    name: str
    program: bytes
    image: NDArray[np.uint8]
    inputs: tuple[Resident, ...]
    outputs: tuple[Resident, ...]
    layers: tuple[Layer, ...]
    layer_of: NDArray[np.int32]
    places: tuple[str, ...]
    contents: tuple[Resident, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.program) // 16
        if len(self.program) % 16 or len(self.layer_of) != count or len(self.places) != count:
            self._fail(f"{len(self.program)} bytes of instructions, {len(self.layer_of)} layers")
        if count and not -1 <= self.layer_of.min() <= self.layer_of.max() < len(self.layers):
            self._fail(f"instructions of layer {self.layer_of.max()} of {len(self.layers)}")
        for each in (*self.inputs, *self.outputs):
            size = int(np.prod(each.shape, dtype=np.int64)) * _dtype(self.name, each).itemsize
            if min(each.shape, default=1) < 0 or not 0 <= each.address <= self.image.size - size:
                self._fail(
                    f"{each.name} of {size} bytes at {each.address} is not within its memory of "
                    f"{self.image.size}"
                )

    def view(self, memory: NDArray[np.uint8], tensor: Resident) -> NDArray[Any]:
        """A tensor within memory that has the size of the image or more."""
        dtype = _dtype(self.name, tensor)
        size = int(np.prod(tensor.shape, dtype=np.int64)) * dtype.itemsize
        part = memory[tensor.address : tensor.address + size]
        return part.view(dtype).reshape(tensor.shape)

    def to_bytes(self) -> bytes:
        """As it is kept in a file."""
        parts = (
            self.program,
            self.image.tobytes(),
            np.ascontiguousarray(self.layer_of, np.dtype("<i4")).tobytes(),
        )
        program, image, layers = map(len, parts)
        header = msgspec.json.encode(
            _Header(
                self.name,
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
        """What `to_bytes` made; refused with an `ArtifactError` if it does not fit together."""
        line, _, rest = data.partition(b"\n")
        digits = line.removeprefix(_MAGIC)
        if not line.startswith(_MAGIC) or not digits.isdigit() or len(digits) > 12:
            raise ArtifactError("this is no instruction stream of ours, or of another version")
        size = int(digits)
        try:
            header = msgspec.json.decode(rest[:size], type=_Header)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ArtifactError(f"instruction stream: its header is damaged: {error}") from None
        body = rest[size:]
        if min(header.sizes) < 0 or sum(header.sizes) != len(body) or header.sizes[2] % 4:
            raise ArtifactError(f"instruction stream {header.name}: it is cut off")
        first, second = header.sizes[0], header.sizes[0] + header.sizes[1]
        return cls(
            header.name,
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


def _dtype(stream: str, tensor: Resident) -> np.dtype[Any]:
    if tensor.dtype not in ("int8", "int32"):
        raise ArtifactError(
            f"instruction stream {stream}: {tensor.name} is {tensor.dtype}, and int8 or int32 are"
        )
    return np.dtype(tensor.dtype)
