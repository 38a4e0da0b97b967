"""Object code: a compiled function as a value that can be stored and loaded.

As bytes: a line that names the format, the length of the header, the header as JSON, the code; the
header holds the code's checksum, and the line the header's.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from hashlib import sha256
from math import prod
from typing import Any, ClassVar, Final

import msgspec
import numpy as np
from msgspec.structs import asdict

from tandem.runtime.element_types import DTYPES, dtype_of
from tandem.runtime.errors import NativeCodeError

ALIGNMENT = 64
"""Alignment of the workspace, in bytes: a cache line, and the widest vector."""
_MAGIC = b"tandem-object 2 "


MOST_AXES: Final = 32
"""The maximum rank of a tensor: NumPy 1 has no arrays of more axes."""
MOST_ELEMENTS: Final = 1 << 47
"""More elements than a processor has addresses."""


def is_shape(shape: tuple[int, ...]) -> bool:
    """Whether an array can have the shape."""
    return (
        len(shape) <= MOST_AXES
        and all(extent >= 0 for extent in shape)
        and prod(shape) < MOST_ELEMENTS
        and max(shape, default=0) < MOST_ELEMENTS
    )


@dataclass(frozen=True, slots=True)
class Parameter:
    """An array parameter of a function; `dtype` is NumPy's name of the type, as `float32`."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of the array."""
        return dtype_of(self.dtype)


@dataclass(frozen=True, slots=True)
class ObjectCode:
    """A compiled function: code of the kind `object` (`runtime.artifact.code`).

    Attributes
    ----------
    name
        Name of the function.
    symbol
        Name of the function in the object file.
    triple, features
        LLVM's target triple, and the instruction sets that a host must have.
    parameters
        The array parameters, in order; after them come the workspace and the launcher.
    inputs, outputs
        Names of the parameters that a caller passes, and of those that the function writes.
    shared_bytes, worker_bytes
        Bytes of the workspace: shared by all threads, and for each thread.
    parallel
        Whether the function has parallel loops.
    code
        An object file of the triple's format, without addresses or file names.
    """

    name: str
    symbol: str
    triple: str
    features: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shared_bytes: int
    worker_bytes: int
    parallel: bool
    code: bytes

    kind: ClassVar[str] = "object"

    @property
    def reads(self) -> tuple[Parameter, ...]:
        """The parameters that a caller passes, in order."""
        return self._named(self.inputs)

    @property
    def writes(self) -> tuple[Parameter, ...]:
        """The parameters that the function writes, in order."""
        return self._named(self.outputs)

    def _named(self, names: tuple[str, ...]) -> tuple[Parameter, ...]:
        parameters = {parameter.name: parameter for parameter in self.parameters}
        return tuple(parameters[name] for name in names)

    def to_bytes(self) -> bytes:
        """The object code as bytes, for `from_bytes`."""
        header = {key: value for key, value in dataclasses.asdict(self).items() if key != "code"}
        header["parameters"] = [
            [parameter.name, parameter.shape, parameter.dtype] for parameter in self.parameters
        ]
        header["sha256"] = sha256(self.code).hexdigest()
        text = json.dumps(header, sort_keys=True).encode()
        line = _MAGIC + f"{len(text)} {sha256(text).hexdigest()}\n".encode()
        return line + text + self.code

    @classmethod
    def from_bytes(cls, data: bytes) -> ObjectCode:
        """The object code that `to_bytes` wrote; raises `NativeCodeError` if a byte differs."""
        line, _, rest = data.partition(b"\n")
        if not line.startswith(_MAGIC):
            raise NativeCodeError("this is no object code of ours, or of another version")
        try:
            length, checksum = line[len(_MAGIC) :].decode("ascii").split(" ")
            size = int(length)
        except ValueError:
            raise NativeCodeError("object code: its first line is damaged") from None
        text, code = rest[:size], rest[size:]
        if sha256(text).hexdigest() != checksum:
            raise NativeCodeError("object code: its header is damaged or cut off")
        try:
            header = msgspec.json.decode(text, type=_Header)
        except (ValueError, RecursionError) as error:
            raise NativeCodeError(f"object code: its header is not as expected: {error}") from None
        if sha256(code).hexdigest() != header.sha256:
            raise NativeCodeError(f"object code of {header.name}: its code is damaged or cut off")
        values = {key: value for key, value in asdict(header).items() if key != "sha256"}
        values["parameters"] = tuple(Parameter(*each) for each in header.parameters)
        found = cls(**values, code=code)
        _check(found)
        return found


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The header: fields of `ObjectCode`, and the code's checksum."""

    name: str
    symbol: str
    triple: str
    features: tuple[str, ...]
    parameters: tuple[tuple[str, tuple[int, ...], str], ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shared_bytes: int
    worker_bytes: int
    parallel: bool
    sha256: str


def _check(code: ObjectCode) -> None:
    """Raise `NativeCodeError` unless parameters and sizes can be those of a function."""
    names = {parameter.name for parameter in code.parameters}
    named = {*code.inputs, *code.outputs}
    if len(names) < len(code.parameters) or named != names:
        raise NativeCodeError(f"object code of {code.name}: its parameters have other names")
    for parameter in code.parameters:
        if parameter.dtype not in DTYPES or not is_shape(parameter.shape):
            raise NativeCodeError(
                f"object code of {code.name}: {parameter.name} is "
                f"{parameter.dtype}{list(parameter.shape)}"
            )
    if not all(0 <= size < MOST_ELEMENTS for size in (code.shared_bytes, code.worker_bytes)):
        raise NativeCodeError(
            f"object code of {code.name}: a workspace of {code.shared_bytes} and "
            f"{code.worker_bytes} bytes"
        )
