"""Tensors in the accelerator's memory, where kernels of the processor write and read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tandem.runtime.artifact import Arena, Manifest, Step
from tandem.runtime.native import ALIGNMENT
from tandem.workbench.export.stream_file import StreamFile


@dataclass(frozen=True, slots=True)
class StreamPlace:
    """A place in the memory of a stream.

    Attributes
    ----------
    stream
        The stream's code.
    offset
        From the begin of the stream's memory, in bytes.
    """

    stream: str
    offset: int


def tensors_in_streams(
    manifest: Manifest, streams: Mapping[str, StreamFile]
) -> Mapping[str, StreamPlace]:
    """The tensors that need no copy, and where they lie.

    An input of a stream lies in its memory if nobody reads it once the stream runs, which may
    overwrite it; an output, if the stream does not run again. So in networks without loops, whose
    streams run once. What begins at no multiple of the alignment that kernels count on is copied,
    and what the caller has.
    """
    if manifest.functions:
        return {}
    steps = manifest.steps
    arena = {each.name for each in manifest.tensors if isinstance(each.place, Arena)}
    launches = {step.code: at for at, step in enumerate(steps) if step.code in streams}
    if len(launches) != sum(step.code in streams for step in steps):
        return {}
    found: dict[str, StreamPlace] = {}
    for code, at in launches.items():
        stream, step = streams[code], steps[at]
        for name, tensor in zip(step.inputs, stream.inputs, strict=True):
            if name in arena and _last_use(name, steps) == at and not _written_twice(name, steps):
                found.setdefault(name, StreamPlace(code, tensor.address))
        for name, tensor in zip(step.outputs, stream.outputs, strict=True):
            if name in arena and not _written_twice(name, steps):
                found[name] = StreamPlace(code, tensor.address)
    return {name: place for name, place in found.items() if place.offset % ALIGNMENT == 0}


def _last_use(name: str, steps: Sequence[Step]) -> int:
    return max(at for at, step in enumerate(steps) if name in step.inputs)


def _written_twice(name: str, steps: Sequence[Step]) -> bool:
    return sum(name in step.outputs for step in steps) != 1
