"""The launches of a run as files, for testbenches: what is written before each, what is there then.

    launches = format, network, config, data, [memory], scale..., launch...
    scale    = name, step, zero
    launch   = stream, inputs, outputs, [cycles]
    tensor   = name, address, shape, dtype, offset, bytes, extent..., [windows]
    extent   = outer, inner, extent
    windows  = kernel, strides, pads, dilations

`data` names a file with the bytes of all tensors, in which `offset` and `bytes` find one. Scales
are those of the network's quantised tensors: the real number is (integer - zero) * step. `address`
counts from the begin of the stream's memory. The extents say which axes of a tensor in blocks end
within a block; windows, which ones of a convolution it has. Cycles are for the memory named there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from tandem.hw.memory_model import MemoryModel
from tandem.runtime.artifact import PaddedAxis, PlacedTensor, Scale, Windows

FORMAT: Final = "tandem-launches 1"


@dataclass(frozen=True, slots=True)
class Transfer:
    """A tensor in the memory of a stream, its value before or after a launch, its axes in blocks,
    and the windows that it has."""

    tensor: PlacedTensor
    value: NDArray[Any]
    padded: tuple[PaddedAxis, ...] = ()
    windows: Windows | None = None


@dataclass(frozen=True, slots=True)
class RecordedLaunch:
    """A launch: the name of its stream, the inputs before it, the outputs after it, and what it
    takes, if that is known."""

    stream: str
    inputs: tuple[Transfer, ...]
    outputs: tuple[Transfer, ...]
    cycles: int | None = None


def launch_files(
    prefix: str,
    config: str,
    launches: Sequence[RecordedLaunch],
    streams: Sequence[str],
    scales: Mapping[str, Scale],
    memory: MemoryModel | None = None,
) -> dict[str, bytes]:
    """The two files of a network's launches, by name.

    Parameters
    ----------
    prefix
        What the names of the files begin with: `PREFIX_launches.json` and `.bin`.
    config
        The name of the machine.
    streams
        The file of each launch's stream.
    scales
        Of the network's quantised tensors, by name, where they are known.
    memory
        The memory that the launches' cycles are for; None if no launch has any.
    """
    data, blob = f"{prefix}_launches.bin", bytearray()

    def described(transfers: Iterable[Transfer]) -> list[dict[str, object]]:
        found = []
        for transfer in transfers:
            content = np.ascontiguousarray(transfer.value).tobytes()
            tensor = transfer.tensor
            found.append(
                {
                    "name": tensor.name,
                    "address": tensor.address,
                    "shape": [*tensor.shape],
                    "dtype": tensor.dtype,
                    "offset": len(blob),
                    "bytes": len(content),
                    "extents": [
                        {"outer": axis.outer, "inner": axis.inner, "extent": axis.extent}
                        for axis in transfer.padded
                    ],
                }
                | ({} if transfer.windows is None else {"windows": asdict(transfer.windows)})
            )
            blob.extend(content)
        return found

    entries = [
        {
            "stream": file,
            "inputs": described(launch.inputs),
            "outputs": described(launch.outputs),
        }
        | ({} if launch.cycles is None else {"cycles": launch.cycles})
        for launch, file in zip(launches, streams, strict=True)
    ]
    listing = {
        "format": FORMAT,
        "network": prefix,
        "config": config,
        "data": data,
        **({} if memory is None else {"memory": memory.text}),
        "scales": [
            {"name": name, "step": scale.step, "zero": scale.zero} for name, scale in scales.items()
        ],
        "launches": entries,
    }
    return {f"{prefix}_launches.json": json.dumps(listing, indent=2).encode(), data: bytes(blob)}
