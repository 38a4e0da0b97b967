"""A model or an artifact as a C library, with the outputs that it has on this processor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tandem.runtime.artifact import Artifact
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.runtime.inputs import PixelNormalisation
from tandem.runtime.native import ObjectCode
from tandem.runtime.native.processor import missing_features, this_triple
from tandem.workbench.devices import Cpu
from tandem.workbench.export.library import Exported, export_library, for_processor
from tandem.workbench.export.options import PLAIN, LibraryOptions
from tandem.workbench.networks import Network, Report
from tandem.workbench.opened import Opened
from tandem.workbench.run_inputs import RunInputs


def export_network(
    opened: Opened,
    device: Cpu,
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
    given = RunInputs.read(opened.name, opened.inputs, inputs, pixels, seed, opened.constants)
    network = opened.network(device, report, warn)
    return export_compiled(network, folder, given.batches[0], name, report, options)


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
    artifact = for_processor(network.artifact)
    here = artifact
    if not runs_here(artifact) and network.prepared is not None:
        # The same network on this processor says what is expected.
        here = Cpu(1).build(network.prepared, report)
    return export_library(artifact, folder, batch, outputs_of(here, batch), name, options)


def runs_here(artifact: Artifact) -> bool:
    """Whether this processor can run an artifact's code."""
    codes = artifact.of_kind(ObjectCode).values()
    return all(
        code.triple == this_triple() and not missing_features(code.features) for code in codes
    )


def outputs_of(
    artifact: Artifact, batch: Mapping[str, NDArray[Any]]
) -> Mapping[str, NDArray[Any]] | None:
    """The outputs of a run; None of an artifact for another processor."""
    if not runs_here(artifact):
        return None
    return Executor(artifact, [CpuDevice(1)]).run(batch).outputs
