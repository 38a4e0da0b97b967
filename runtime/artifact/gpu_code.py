"""Kernels of a GPU as text, with how they are launched, as storable values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import msgspec
from msgspec import Struct

from tandem.runtime.element_types import DTYPES
from tandem.runtime.errors import ArtifactError
from tandem.runtime.native.objects import is_shape


class GpuArray(Struct, frozen=True, forbid_unknown_fields=True):
    """An array in a device's memory: dense, row-major."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class GpuLaunch(Struct, frozen=True, forbid_unknown_fields=True):
    """A launch of a kernel.

    Attributes
    ----------
    blocks, threads
        The number of blocks (OpenCL: work-groups), and of the threads (work-items) of each.
    arguments
        The names of arrays.
    """

    kernel: str
    blocks: int
    threads: int
    arguments: tuple[str, ...]


class GpuCode(Struct, frozen=True, forbid_unknown_fields=True):
    """A function on a GPU; its subclasses are kinds of code, one for each language.

    Attributes
    ----------
    source
        The kernels in the kind's language.
    inputs, outputs
        What the function reads and writes, in the order of its arguments.
    scratch
        Memory between launches, with no content before.
    launches
        In their order; each begins when the one before has ended.
    """

    name: str
    source: str
    inputs: tuple[GpuArray, ...]
    outputs: tuple[GpuArray, ...]
    scratch: tuple[GpuArray, ...]
    launches: tuple[GpuLaunch, ...]

    kind: ClassVar[str]
    language: ClassVar[str]
    """The language's name, for people."""

    def __post_init__(self) -> None:
        arrays = (*self.inputs, *self.outputs, *self.scratch)
        names = {each.name for each in arrays}
        if len(names) < len(arrays):
            self._fail("two arrays have one name")
        for array in arrays:
            if not is_shape(array.shape) or array.dtype not in DTYPES:
                self._fail(f"{array.name} is {array.dtype}{list(array.shape)}")
        for launch in self.launches:
            if launch.blocks < 1 or launch.threads < 1:
                self._fail(f"{launch.kernel} has {launch.blocks} blocks of {launch.threads}")
            unknown = set(launch.arguments) - names
            if unknown:
                self._fail(f"{launch.kernel} has no array {min(unknown)}")

    @property
    def reads(self) -> Sequence[GpuArray]:
        """The inputs."""
        return self.inputs

    @property
    def writes(self) -> Sequence[GpuArray]:
        """The outputs."""
        return self.outputs

    @classmethod
    def magic(cls) -> bytes:
        """The first bytes of such code: its kind, and the version of its form."""
        return f"tandem-{cls.kind} 1\n".encode()

    def to_bytes(self) -> bytes:
        """The code as bytes, for `from_bytes`."""
        return self.magic() + msgspec.json.encode(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The code that `to_bytes` wrote; raises `ArtifactError` if it is damaged."""
        magic = cls.magic()
        if not data.startswith(magic):
            raise ArtifactError("these are no kernels of ours, or of another version")
        try:
            return msgspec.json.decode(data[len(magic) :], type=cls)
        except (ValueError, RecursionError) as error:
            raise ArtifactError(f"kernels in {cls.language}: they are damaged: {error}") from None

    def _fail(self, reason: str) -> None:
        raise ArtifactError(f"kernels in {self.language}, {self.name}: {reason}")
