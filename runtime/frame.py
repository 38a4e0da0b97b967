"""The memory of a function's tensors: an arena of the host's memory, and what devices keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tandem.runtime.aligned_arrays import aligned_empty
from tandem.runtime.artifact import Arena, Kept, Tensor
from tandem.runtime.devices.device import Device
from tandem.runtime.errors import RunError


def new_frame(
    name: str, arena_bytes: int, tensors: Iterable[Tensor], devices: Mapping[str, Device]
) -> dict[str, Any]:
    """New memory for those tensors that lie in the arena or are kept on a device, by name.

    Parameters
    ----------
    name
        What the memory is for, in errors.
    devices
        By name.

    Raises
    ------
    RunError
        If the memory cannot be allocated, or a device is not there.
    """
    try:
        arena = aligned_empty((arena_bytes,), "uint8")
    except (MemoryError, ValueError):
        raise RunError(f"{name} needs {arena_bytes} bytes, more than there is") from None
    found: dict[str, Any] = {}
    for tensor in tensors:
        match tensor.place:
            case Arena(offset=offset):
                part = arena[offset:][: tensor.bytes]
                found[tensor.name] = part.view(tensor.dtype).reshape(tensor.shape)
            case Kept(device=device) if device not in devices:
                raise RunError(f"{tensor.name} of {name} stays on {device}, which is not there")
            case Kept(device=device):
                found[tensor.name] = devices[device].allocate(tensor)
            case _:
                pass
    return found
