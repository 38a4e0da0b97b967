"""What a testbench of the generated hardware needs beside a library: each launch of its check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from tandem.base.files import write_atomically
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.runtime.artifact import Artifact, streams_of
from tandem.workbench.devices import Cpu
from tandem.workbench.export.library import Exported, code_of
from tandem.workbench.export.processor import runs_here
from tandem.workbench.ip.launches import launch_files
from tandem.workbench.ip.record import record_launches
from tandem.workbench.networks import Network, Report


def with_launches(
    exported: Exported, network: Network, batch: Mapping[str, NDArray[Any]], report: Report | None
) -> Exported:
    """The library, with the files `NAME_launches.json` and `.bin` written beside it.

    They have what each launch reads and writes when the library is checked. Without an accelerator
    there is none; nor of an artifact from a file whose code is for another processor.
    """
    header = exported.header
    artifact = _runnable(network, report) if header.streams else None
    if artifact is None:
        return exported
    files = dict(zip(code_of(network.artifact)[1], header.stream_names, strict=True))
    device = network.accelerator
    memory = DEFAULT_MEMORY if device is None else device.memory
    launches = record_launches(artifact, batch, memory)
    streams = [f"{files[launch.stream]}.bin" for launch in launches]
    config = header.config.name if header.config else ""
    tensors = network.artifact.manifest.tensors
    scales = {tensor.name: tensor.scale for tensor in tensors if tensor.scale is not None}
    written = launch_files(header.name, config, launches, streams, scales, memory)
    for file, content in written.items():
        write_atomically(exported.folder / file, content)
    return replace(exported, files=(*exported.files, *written))


def _runnable(network: Network, report: Report | None) -> Artifact | None:
    """The artifact, or one with the same streams and code for this processor; None if neither is
    known."""
    if runs_here(network.artifact):
        return network.artifact
    if network.prepared is None or network.accelerator is None:
        return None
    device = network.accelerator
    beside_small = not device.host.machine.has_vectors
    here = replace(device, host=Cpu(1), small_host=beside_small).build(network.prepared, report)
    streams = streams_of(network.artifact)
    found = streams_of(here)
    equal = found.keys() == streams.keys() and all(
        found[name].to_bytes() == stream.to_bytes() for name, stream in streams.items()
    )
    return here if equal else None
