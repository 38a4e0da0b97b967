"""Options of libraries, and what processors refuse."""

from __future__ import annotations

import re

import pytest

from tandem.workbench.errors import ExportError
from tandem.workbench.export.blobs import Format
from tandem.workbench.export.options import PLAIN, LibraryOptions

LINUX, BARE, WASM = "aarch64-unknown-linux-gnu", "riscv32-unknown-elf", "wasm32-unknown-unknown"
OTHER = next(form for form in Format if form is not Format.BIN)


def test_work_in_place() -> None:
    assert not PLAIN.works_in_place(LINUX)
    assert PLAIN.works_in_place(BARE)
    assert LibraryOptions(in_place=True).works_in_place(LINUX)
    assert not LibraryOptions(in_place=False).works_in_place(BARE)


@pytest.mark.parametrize(
    ("options", "triple", "threaded"),
    [
        (PLAIN, LINUX, True),
        (PLAIN, WASM, False),
        (LibraryOptions(threads=1), BARE, False),
        (LibraryOptions(threads=2), LINUX, True),
        (LibraryOptions(embed_weights=False, profile=True, form=OTHER), LINUX, False),
    ],
)
def test_allowed(options: LibraryOptions, triple: str, threaded: bool) -> None:
    options.check(triple, threaded=threaded)


@pytest.mark.parametrize(
    ("options", "triple", "message"),
    [
        (LibraryOptions(threads=0), LINUX, "a library runs on one thread or more, not 0"),
        (
            LibraryOptions(threads=2),
            BARE,
            f"no system with threads runs on {BARE}: export it without --threads",
        ),
        (
            LibraryOptions(embed_weights=False),
            WASM,
            f"--no-embed-weights is for libraries in C, and {WASM} has a module",
        ),
        (LibraryOptions(profile=True), WASM, "--profile is for libraries in C"),
        (LibraryOptions(form=OTHER), WASM, f"--format {OTHER.value} is for libraries in C"),
    ],
)
def test_refused(options: LibraryOptions, triple: str, message: str) -> None:
    with pytest.raises(ExportError, match=f"^{re.escape(message)}"):
        options.check(triple, threaded=False)
