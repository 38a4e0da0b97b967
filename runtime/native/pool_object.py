"""The machine code of thread pools as a value, which artifacts carry.

With it, networks with parallel loops run where LLVM is not installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

import msgspec

from tandem.base.object_cache import ObjectCache
from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.objects import Parameter
from tandem.runtime.native.pool_text import SYMBOLS, pool_text

POOL = "thread-pool"
"""The name of the pool's code in an artifact: no kernel has a name with a hyphen."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    triple: str
    version: str
    code: bytes


@dataclass(frozen=True, slots=True)
class PoolObject:
    """The machine code of thread pools: code of the kind `pool` (`runtime.artifact.code`).

    Attributes
    ----------
    triple
        LLVM's name of the processors that it is for. It uses no feature that one of them lacks.
    version
        A digest of the pools' structures and program: those of another version do not fit.
    code
        An object file of the triple's format.
    """

    triple: str
    version: str
    code: bytes

    kind: ClassVar[str] = "pool"

    @property
    def reads(self) -> tuple[Parameter, ...]:
        """Nothing: steps do not run it."""
        return ()

    @property
    def writes(self) -> tuple[Parameter, ...]:
        """Nothing: steps do not run it."""
        return ()

    def to_bytes(self) -> bytes:
        """The code as bytes, for `from_bytes`."""
        return msgspec.msgpack.encode(_File(self.triple, self.version, self.code))

    @classmethod
    def from_bytes(cls, data: bytes) -> PoolObject:
        """The code that `to_bytes` wrote; raises `NativeCodeError` if the bytes are others."""
        try:
            file = msgspec.msgpack.decode(data, type=_File)
        except msgspec.MsgspecError as error:
            raise NativeCodeError(f"this is no code of a thread pool: {error}") from None
        return cls(file.triple, file.version, file.code)


def pool_version(triple: str) -> str:
    """The version of this program's pools on a triple."""
    return sha256(pool_text(triple).encode()).hexdigest()


def make_pool_object(triple: str) -> PoolObject:
    """The machine code of pools for a triple: from the cache of objects, or made by LLVM now.

    Raises
    ------
    NativeCodeError
        LLVM is not installed, or has no code for the triple.
    """
    try:
        import llvmlite
    except ImportError:
        raise NativeCodeError(
            "parallel loops need LLVM (pip install llvmlite), a network that was compiled with "
            "them, or one thread"
        ) from None

    def make() -> bytes:
        from tandem.base.processor import object_of_text

        return object_of_text(pool_text(triple), triple, 2)

    version = pool_version(triple)
    parts = ("thread pool", llvmlite.__version__, triple, *SYMBOLS, version)
    try:
        return PoolObject(triple, version, ObjectCache.default().object_of(parts, make))
    except RuntimeError as error:
        raise NativeCodeError(f"LLVM makes no thread pool for {triple}: {error}") from None
