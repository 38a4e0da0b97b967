"""A model or an artifact as a C library, with the outputs that it has on this processor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tandem.runtime.artifact import Artifact, config_of
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.runtime.inputs import PixelNormalisation
from tandem.runtime.inputs.network import inputs_of
from tandem.workbench.devices import Cpu, TargetDevice
from tandem.workbench.export.launches import with_launches
from tandem.workbench.export.library import Exported, export_library
from tandem.workbench.export.options import PLAIN, LibraryOptions
from tandem.workbench.export.processor import runs_here
from tandem.workbench.networks import Network, Report
from tandem.workbench.opened import Opened
from tandem.workbench.run_inputs import RunInputs


def export_network(
    opened: Opened,
    device: TargetDevice,
    folder: Path,
    inputs: Sequence[Path],
    pixels: PixelNormalisation,
    seed: int,
    name: str | None,
    report: Report | None,
    warn: Callable[[str], None],
    options: LibraryOptions = PLAIN,
) -> Exported:
    """Write the library of an opened network; a model is compiled for the device.

    Parameters
    ----------
    inputs
        Files of the inputs that the library is checked with; noise of `seed` without any.

    Raises
    ------
    ExportError, OSError
        As `export_library`.
    CompilerError, InputError
        The model cannot be compiled; a file of inputs that does not fit.
    """
    network, given = compiled_with_inputs(
        opened, device, inputs, pixels, seed, report=report, warn=warn
    )
    return export_compiled(network, folder, given.batches[0], name, report, options)


def compiled_with_inputs(
    opened: Opened,
    device: TargetDevice,
    inputs: Sequence[Path],
    pixels: PixelNormalisation,
    seed: int,
    *,
    report: Report | None,
    warn: Callable[[str], None],
) -> tuple[Network, RunInputs]:
    """An opened network for a device, and inputs for it: real numbers or integers. Raises as
    `export_network`."""
    ports = opened.inputs
    if opened.takes_integers:
        # Which inputs do is known once the network is quantised.
        network = opened.network(device, report, warn)
        integers = {tensor.name: tensor for tensor in inputs_of(network.artifact)}
        ports = tuple(integers.get(tensor.name, tensor) for tensor in ports)
    given = RunInputs.read(opened.name, ports, inputs, pixels, seed, opened.constants)
    if not opened.takes_integers:
        network = opened.network(device, report, warn)
    return network, given


def export_compiled(
    network: Network,
    folder: Path,
    batch: Mapping[str, NDArray[Any]],
    name: str | None = None,
    report: Report | None = None,
    options: LibraryOptions = PLAIN,
) -> Exported:
    """Write the library of a compiled network, to be checked with a batch. Raises as
    `export_library`."""
    expected = outputs_of(_here(network, report), batch)
    exported = export_library(network.artifact, folder, batch, expected, name, options)
    return with_launches(exported, network, batch, report)


def _here(network: Network, report: Report | None) -> Artifact:
    """The network for this processor alone, which says what is expected."""
    artifact, prepared = network.artifact, network.prepared
    if prepared is None:
        return artifact.fallback or artifact
    if network.accelerator is not None:
        targets = replace(network.accelerator, host=Cpu(1)).targets()
        return prepared.build(targets, report, fallback=True)
    return artifact if runs_here(artifact) else Cpu(1).build(prepared, report)


def outputs_of(
    artifact: Artifact, batch: Mapping[str, NDArray[Any]]
) -> Mapping[str, NDArray[Any]] | None:
    """The outputs of a run; None of an artifact that this processor alone cannot run."""
    if not runs_here(artifact) or config_of(artifact) is not None:
        return None
    return Executor(artifact, [CpuDevice(1)]).run(batch).outputs
