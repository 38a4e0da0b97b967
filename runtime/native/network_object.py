"""The machine code of a whole network as a value: it calls the kernels, one after the other.

    network.run(state)      all of the network; 0 when it is done, 1 when it was stopped

`runtime.native.network_state` has the state. Kernels and tensors are named by slots, which the
caller fills with addresses; tensors of the arena lie in frames, at the offsets of their functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import msgspec

from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.objects import Parameter

NETWORK: Final = "whole-network"
"""The name of the network's code in an artifact: no kernel has a name with a hyphen."""
ENTRY: Final = "network.run"
"""The symbol of the function that runs the network."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    triple: str
    version: str
    kernels: tuple[str, ...]
    tensors: tuple[str, ...]
    frame_bytes: int
    results: int
    code: bytes
    kinds: int = 0


@dataclass(frozen=True, slots=True)
class NetworkObject:
    """The machine code of a network: code of the kind `network` (`runtime.artifact.code`).

    Attributes
    ----------
    triple
        LLVM's name of the processors that it is for. It uses no feature that one of them lacks.
    version
        A digest of the state's structure and of the manifest: it fits no other.
    kernels, tensors
        What the slots hold, in their order: first the addresses of kernels, by the names of their
        code; then those of tensors outside the arena: inputs, outputs and constants.
    frame_bytes
        Size of the memory of all functions' frames; the network's own is the first.
    results
        The greatest number of results of a function that the network calls.
    code
        An object file of the triple's format.
    kinds
        How many kinds of memory the heap has: cells of each form, and frames of each function; 0
        without a heap.
    """

    triple: str
    version: str
    kernels: tuple[str, ...]
    tensors: tuple[str, ...]
    frame_bytes: int
    results: int
    code: bytes
    kinds: int = 0

    kind: ClassVar[str] = "network"

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
        fields = {name: getattr(self, name) for name in _File.__struct_fields__}
        return msgspec.msgpack.encode(_File(**fields))

    @classmethod
    def from_bytes(cls, data: bytes) -> NetworkObject:
        """The code that `to_bytes` wrote; raises `NativeCodeError` if the bytes are others."""
        try:
            file = msgspec.msgpack.decode(data, type=_File)
        except msgspec.MsgspecError as error:
            raise NativeCodeError(f"this is no code of a network: {error}") from None
        if min(file.frame_bytes, file.results, file.kinds) < 0:
            raise NativeCodeError(f"code of a network with {file.frame_bytes} bytes of frames")
        return cls(**msgspec.structs.asdict(file))
