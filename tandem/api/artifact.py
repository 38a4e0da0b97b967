"""Compiled networks: saved, loaded and explained."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import tandem.runtime.artifact as artifacts
from tandem.api.accuracy_tables import trips_table
from tandem.api.ports import listed, port_table
from tandem.api.samples import Inputs, batches
from tandem.api.step_table import step_table
from tandem.runtime.artifact import read_artifact, write_artifact
from tandem.runtime.inputs import random_inputs
from tandem.runtime.inputs.network import inputs_of
from tandem.workbench.arguments import at_least, choice, file_path
from tandem.workbench.networks import Network
from tandem.workbench.round_trips import round_trips
from tandem.workbench.table import Table

if TYPE_CHECKING:
    from tandem.workbench.export import Exported


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Artifact:
    """A compiled network: instruction streams for the accelerator, native code for the processor,
    and weights.

    Attributes
    ----------
    network
        The compiled network, with its model if it was compiled here and not loaded.
    """

    network: Network

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Artifact:
        """The artifact in a file. No code in it is executed.

        Raises
        ------
        ArtifactError
            The file cannot be read, or is no artifact of this version.
        """
        return Artifact(Network(read_artifact(file_path("path", path))))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the artifact to a file, with code for the processor alone, too.

        Raises
        ------
        ArtifactError
            The file cannot be written.
        """
        write_artifact(self.with_fallback().network.artifact, file_path("path", path))

    def export(
        self,
        path: str | os.PathLike[str],
        inputs: Inputs | None = None,
        *,
        name: str | None = None,
        embed_weights: bool = True,
        threads: int = 1,
        profile: bool = False,
        format: str = "bin",
    ) -> Exported:
        """Write the network as a C library, with a program that checks it (`make check`).

        Of an artifact for an accelerator the library has the streams, and the C runtime that drives
        it; of `on_cpu()` it has the code for the processor alone.

        Parameters
        ----------
        path
            The folder.
        inputs
            What the program runs it on, as of `Session.run`, one batch; None for noise. The outputs
            that it compares with are those of this processor.
        name
            The prefix of the library's names in C; None for the model's.
        embed_weights
            Whether the weights are part of the library, or a file that the program reads.
        threads
            The most threads that share a layer's work.
        profile
            Whether runs can tell the time of each layer.
        format
            Weights and streams as files that GNU's assembler includes (`bin`), as arrays in C
            (`c`), or as objects for the processor (`elf`).

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            An input that does not fit; says what is wanted.
        ExportError
            The network cannot be a C library; says why.
        OSError
            A file cannot be written.
        """
        # Imported here: sessions run artifacts without the compiler.
        from tandem.workbench.export import Format, LibraryOptions, export_compiled

        folder = file_path("path", path)
        given = self.noise() if inputs is None else inputs
        (batch, *_) = batches(self.name, given, inputs_of(self.network.artifact))
        form = Format(choice("format", format, [each.value for each in Format]))
        options = LibraryOptions(embed_weights, threads, profile, form=form)
        return export_compiled(self.network, folder, batch, name, options=options)

    def with_fallback(self) -> Artifact:
        """The artifact with code for the processor alone, too, with which it can be compared."""
        network = self.network
        if network.prepared is None or network.device is None:
            return self
        from tandem.workbench.models import with_fallback

        whole = with_fallback(network.artifact, network.prepared, network.device, None)
        return self if whole is network.artifact else Artifact(replace(network, artifact=whole))

    def on_cpu(self) -> Artifact:
        """The same network for the processor alone, with the same results, bit by bit.

        Raises
        ------
        FallbackError
            An artifact from a file without such code.
        """
        if artifacts.config_of(self.network.artifact) is None:
            return self
        return Artifact(Network(self.network.on_cpu(None)))

    @property
    def name(self) -> str:
        """The model's name."""
        return self.network.model

    @property
    def machine(self) -> str | None:
        """The name of the accelerator that it uses; None if it needs only a processor."""
        config = artifacts.config_of(self.network.artifact)
        return None if config is None else config.name

    @property
    def inputs(self) -> Table:
        """The inputs of a run: names, types and shapes."""
        inputs = inputs_of(self.network.artifact)
        return port_table((tensor.name, tensor.dtype, tensor.shape) for tensor in inputs)

    @property
    def outputs(self) -> Table:
        """The outputs of a run: names, types and shapes; the greatest ones where they depend on
        inputs."""
        manifest = self.network.artifact.manifest
        tensors = {tensor.name: tensor for tensor in manifest.tensors}
        ports = [(port.name, tensors[port.tensor]) for port in manifest.results]
        return port_table((name, tensor.dtype, tensor.shape) for name, tensor in ports)

    def explain(self) -> Table:
        """Each layer of the accelerator and each step of the CPU: its device and the reason."""
        return step_table(self.network.artifact)

    @property
    def round_trips(self) -> Table:
        """What the CPU does between two launches of the accelerator, and the bytes that move; times
        are of runs, and unknown here."""
        return trips_table(round_trips(self.network.artifact))

    def noise(self, seed: int = 0) -> dict[str, NDArray[np.generic]]:
        """Random inputs by name, the same for the same seed: normal floats, and indices of rows."""
        return random_inputs(inputs_of(self.network.artifact), at_least("seed", seed, 0))

    def __repr__(self) -> str:
        steps = self.explain()
        on_host = sum(row["device"] == artifacts.HOST for row in steps)
        where = "for the CPU alone" if self.machine is None else f"for {self.machine}"
        tuned = self.network.tuned
        lines = (
            f"{self.name} {where}",
            f"  inputs      {listed(self.inputs)}",
            f"  outputs     {listed(self.outputs)}",
            f"  layers      {len(steps) - on_host} on the accelerator, {on_host} steps on the CPU",
            *(() if tuned is None else (f"  schedules   {tuned}".replace("schedules: ", ""),)),
        )
        return "\n".join(lines)
