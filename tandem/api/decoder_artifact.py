"""Compiled decoders: saved, loaded, and as values."""

from __future__ import annotations

import os
from dataclasses import dataclass

import tandem.runtime.decoder as decoders
from tandem.runtime.artifact import config_of
from tandem.workbench.arguments import file_path


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DecoderArtifact:
    """A compiled decoder: a function for the prompt and one for a token, with one cache.

    Attributes
    ----------
    functions
        The compiled functions, with the names of their inputs and outputs.
    """

    functions: decoders.DecoderArtifact

    @staticmethod
    def load(path: str | os.PathLike[str]) -> DecoderArtifact:
        """The decoder in a file. No code in it is executed.

        Raises
        ------
        ArtifactError
            The file cannot be read, or is no decoder of this version.
        """
        return DecoderArtifact(decoders.read_decoder(file_path("path", path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the decoder to a file, its weights once.

        Raises
        ------
        ArtifactError
            The file cannot be written.
        """
        decoders.write_decoder(self.functions, file_path("path", path))

    @property
    def name(self) -> str:
        """The model's name."""
        return self.functions.name

    @property
    def machine(self) -> str | None:
        """The name of the accelerator that it uses; None if it needs only a processor."""
        config = config_of(self.functions.decode) or config_of(self.functions.prefill)
        return None if config is None else config.name

    @property
    def context(self) -> int:
        """The most tokens of a text."""
        return self.functions.context

    @property
    def vocabulary(self) -> int:
        """The number of words; of 256, tokens are bytes."""
        return self.functions.vocabulary

    def __repr__(self) -> str:
        where = "for the CPU alone" if self.machine is None else f"for {self.machine}"
        chunk = self.functions.chunk
        return (
            f"{self.name} {where}\n"
            f"  vocabulary  {self.vocabulary}\n"
            f"  context     {self.context} tokens, {chunk} in a call of prefill"
        )
