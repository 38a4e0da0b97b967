"""The C header of a network: its tensors, what memory it takes, and the one function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from tandem.runtime.artifact import Manifest, Tensor
from tandem.runtime.native import ALIGNMENT
from tandem.workbench.export.names import c_type


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: the model's name, the name in C, and the tensor."""

    name: str
    spelled: str
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Header:
    """What the header says.

    Attributes
    ----------
    needs
        Functions of the C library that the network calls.
    triple, features
        What the code is for, by LLVM's names.
    """

    name: str
    manifest: Manifest
    inputs: Sequence[Port]
    outputs: Sequence[Port]
    arena_bytes: int
    workspace_bytes: int
    weight_bytes: int
    code_bytes: int
    needs: Sequence[str]
    triple: str
    features: Sequence[str]

    def text(self) -> str:
        """The file."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        upper = self.name.upper()
        yield f"/* {_safe(self.manifest.provenance.model)}, compiled by Tandem for {self.triple}"
        text = f"with {', '.join(self.features) or 'nothing beyond its base'}."
        yield from (f" * {line}" for line in wrap(text, 90))
        yield " *"
        yield " * Code and weights are constant: any number of runs may go on at once, each with an"
        yield f" * arena and a workspace of its own that begin at a multiple of {ALIGNMENT} bytes."
        yield f" * Machine code takes {self.code_bytes:,} bytes, weights {self.weight_bytes:,}."
        yield f" * Of the C library it calls {', '.join(self.needs) or 'nothing'}."
        yield " */"
        yield f"#ifndef {upper}_H"
        yield f"#define {upper}_H"
        yield ""
        yield "#include <stdint.h>"
        yield ""
        yield "#ifdef __cplusplus"
        yield 'extern "C" {'
        yield "#endif"
        yield ""
        yield f"#define {upper}_ARENA_BYTES {self.arena_bytes}"
        yield f"#define {upper}_WORKSPACE_BYTES {self.workspace_bytes}"
        yield f"#define {upper}_ALIGNMENT {ALIGNMENT}"
        for port in (*self.inputs, *self.outputs):
            yield f"#define {upper}_{port.spelled.upper()}_BYTES {port.tensor.bytes}"
        yield ""
        yield from self._struct("inputs", "const ", self.inputs)
        yield from self._struct("outputs", "", self.outputs)
        yield "/* Runs the network once. The arena has no meaning between runs. */"
        yield f"void {self.name}_run(const struct {self.name}_inputs *inputs,"
        yield f"    const struct {self.name}_outputs *outputs, void *arena, void *workspace);"
        yield ""
        yield "#ifdef __cplusplus"
        yield "}"
        yield "#endif"
        yield ""
        yield f"#endif /* {upper}_H */"

    def _struct(self, kind: str, const: str, ports: Sequence[Port]) -> Iterator[str]:
        yield f"struct {self.name}_{kind} {{"
        if not ports:
            yield "    char none; /* C99 has no empty structure */"
        for port in ports:
            said = str(port.tensor) + ("" if port.name == port.spelled else f", {port.name!r}")
            yield f"    {const}{c_type(port.tensor.dtype)} *{port.spelled}; /* {_safe(said)} */"
        yield "};"
        yield ""


def _safe(text: str) -> str:
    """Text within a comment."""
    return text.replace("*/", "* /").replace("\n", " ")
