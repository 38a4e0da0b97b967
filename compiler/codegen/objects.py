"""Object code: a compiled function as a value that can be kept, moved and loaded.

As bytes: a line that names the format, the length of the header, the header as JSON, the code; the
header holds the code's checksum, and the line the header's.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from compiler.errors import CodegenError, IRError
from compiler.ir.dtypes import DType, dtype_of

__all__ = ["ObjectCode", "Parameter"]

_MAGIC = b"tandem-object 1 "


@dataclass(frozen=True, slots=True)
class Parameter:
    """A buffer that a caller passes."""

    name: str
    shape: tuple[int, ...]
    dtype: DType

    @property
    def numpy(self) -> np.dtype[Any]:
        """The type of its array."""
        return self.dtype.numpy


@dataclass(frozen=True, slots=True)
class ObjectCode:
    """A compiled function.

    Attributes
    ----------
    name
        The function's.
    symbol
        What the code calls it.
    triple, features
        The machine that it was made for, and the instruction sets that a host must have.
    parameters
        Its arguments, in order; after them come the workspace and the launcher.
    inputs, outputs
        Names of parameters: what a caller passes, and what it gets.
    shared_bytes, worker_bytes
        The workspace: once, and for each thread.
    parallel
        Whether it has parallel loops.
    code
        An object file of the triple's format. It holds no address and no name of a file.
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
        """As it is kept in a file."""
        header = {key: value for key, value in asdict(self).items() if key != "code"}
        header["parameters"] = [
            [each.name, each.shape, str(each.dtype)] for each in self.parameters
        ]
        header["sha256"] = sha256(self.code).hexdigest()
        text = json.dumps(header, sort_keys=True).encode()
        line = _MAGIC + f"{len(text)} {sha256(text).hexdigest()}\n".encode()
        return line + text + self.code

    @classmethod
    def from_bytes(cls, data: bytes) -> ObjectCode:
        """What `to_bytes` made; refused with a `CodegenError` if a byte differs."""
        line, _, rest = data.partition(b"\n")
        if not line.startswith(_MAGIC):
            raise CodegenError("this is no object code of ours, or of another version")
        try:
            length, checksum = line[len(_MAGIC) :].decode("ascii").split(" ")
            size = int(length)
        except ValueError:
            raise CodegenError("object code: its first line is damaged") from None
        text, code = rest[:size], rest[size:]
        if sha256(text).hexdigest() != checksum:
            raise CodegenError("object code: its header is damaged or cut off")
        header = json.loads(text)
        if sha256(code).hexdigest() != header.pop("sha256"):
            raise CodegenError(f"object code of {header['name']}: its code is damaged or cut off")
        return cls(**_values(header), code=code)


def _values(header: dict[str, Any]) -> dict[str, Any]:
    try:
        parameters = tuple(
            Parameter(name, tuple(shape), dtype_of(dtype))
            for name, shape, dtype in header.pop("parameters")
        )
        names = {key: tuple(header.pop(key)) for key in ("features", "inputs", "outputs")}
        return {**header, **names, "parameters": parameters}
    except (KeyError, TypeError, ValueError, IRError) as error:
        raise CodegenError(f"object code: its header lacks something: {error}") from None
