"""What a library is made with, beyond the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tandem.workbench.errors import ExportError
from tandem.workbench.export.blobs import Format


@dataclass(frozen=True, slots=True)
class LibraryOptions:
    """Choices of a C library.

    Attributes
    ----------
    embed_weights
        Whether the weights are part of the library, or a file that the program reads.
    threads
        The most threads that share the iterations of a layer's loop.
    profile
        Whether runs can tell the time of each layer.
    in_place
        Whether kernels work in the accelerator's memory where they can; None: on processors without
        a system. On others that memory is not cached, and slower than a copy.
    form
        What weights, streams and the check's data are.
    """

    embed_weights: bool = True
    threads: int = 1
    profile: bool = False
    in_place: bool | None = None
    form: Format = Format.BIN

    def works_in_place(self, triple: str) -> bool:
        """Whether kernels work in the accelerator's memory where they can."""
        return "linux" not in triple if self.in_place is None else self.in_place

    def check(self, triple: str, *, threaded: bool) -> None:
        """Raise `ExportError` if a processor's library has no such choice."""
        if self.threads < 1:
            raise ExportError(f"a library runs on one thread or more, not {self.threads}")
        if self.threads > 1 and not threaded:
            raise ExportError(
                f"no system with threads runs on {triple}: export it without --threads"
            )
        if not triple.startswith("wasm"):
            return
        for option, is_set in (
            ("--no-embed-weights", not self.embed_weights),
            ("--profile", self.profile),
            (f"--format {self.form.value}", self.form is not Format.BIN),
        ):
            if is_set:
                raise ExportError(f"{option} is for libraries in C, and {triple} has a module")


PLAIN: Final = LibraryOptions()
"""A library with its weights, on one thread, without profiles."""
