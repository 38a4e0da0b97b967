"""Object code: a compiled function as a value that can be stored and loaded.

As bytes: a line that names the format, the length of the header, the header as JSON, the code; the
header holds the code's checksum, and the line the header's.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any

import numpy as np

from runtime.element_types import dtype_of
from runtime.errors import NativeCodeError

ALIGNMENT = 64
"""Alignment of the workspace, in bytes: a cache line, and the widest vector."""
_MAGIC = b"tandem-object 1 "


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
    """A compiled function.

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

    def to_bytes(self) -> bytes:
        """The object code as bytes, for `from_bytes`."""
        header = {key: value for key, value in asdict(self).items() if key != "code"}
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
        header = _header(text)
        if sha256(code).hexdigest() != header.pop("sha256", None):
            name = header.get("name")
            raise NativeCodeError(f"object code of {name}: its code is damaged or cut off")
        return cls(**_values(header), code=code)


def _header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except ValueError as error:
        raise NativeCodeError(f"object code: its header is no JSON: {error}") from None
    if not isinstance(header, dict) or header.keys() != _KEYS:
        raise NativeCodeError("object code: its header has other keys than expected")
    return header


def _values(header: dict[str, Any]) -> dict[str, Any]:
    try:
        parameters = tuple(
            Parameter(name, tuple(shape), dtype_of(dtype).name)
            for name, shape, dtype in header.pop("parameters")
        )
        names = {key: tuple(header.pop(key)) for key in ("features", "inputs", "outputs")}
        return {**header, **names, "parameters": parameters}
    except (TypeError, ValueError) as error:
        raise NativeCodeError(f"object code: its header is not as expected: {error}") from None


_KEYS = {each.name for each in fields(ObjectCode)} - {"code"} | {"sha256"}
