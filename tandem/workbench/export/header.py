"""The C header of a network: its tensors, what memory it takes, and the one function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.runtime.artifact import Manifest, Tensor
from tandem.runtime.native import ALIGNMENT
from tandem.workbench.export.names import c_type
from tandem.workbench.export.stream_file import StreamFile


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
    streams
        The instruction streams of an accelerator, in their order; empty of a network without.
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
    streams: Sequence[StreamFile] = ()
    config: HardwareConfig | None = None
    """The accelerator's configuration."""

    @property
    def stream_names(self) -> tuple[str, ...]:
        """The names in C of the streams' bytes."""
        return tuple(f"{self.name}_stream_{number}" for number in range(len(self.streams)))

    @property
    def platform(self) -> str:
        """The platform of the C runtime that the processor's system has."""
        return "tandem_uio" if "linux" in self.triple else "tandem_bare"

    @property
    def machine_sources(self) -> tuple[str, ...]:
        """The sources of the C runtime, without suffix; none without an accelerator."""
        return ("tandem", self.platform) if self.streams else ()

    def text(self) -> str:
        """The file."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        upper = self.name.upper()
        yield f"/* {_safe(self.manifest.provenance.model)}, compiled by Tandem for {self.triple}"
        text = f"with {', '.join(self.features) or 'nothing beyond its base'}."
        yield from (f" * {line}" for line in wrap(text, 90))
        if self.config is not None:
            yield f" * It needs the accelerator {self.config.name}, which tandem.h drives."
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
        if self.streams:
            yield '#include "tandem.h"'
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
        if self.streams:
            yield from self._network()
        yield "/* Runs the network once. The arena has no meaning between runs. */"
        yield from run_declaration(self.name, bool(self.streams))
        yield ""
        yield "#ifdef __cplusplus"
        yield "}"
        yield "#endif"
        yield ""
        yield f"#endif /* {upper}_H */"

    def _network(self) -> Iterator[str]:
        memory = sum(-(-stream.memory_bytes // PAGE_BYTES) * PAGE_BYTES for stream in self.streams)
        yield "/* Bytes of the accelerator's memory, in parts at multiples of TANDEM_ALIGNMENT. */"
        yield f"#define {self.name.upper()}_MEMORY_BYTES {memory}"
        yield ""
        yield "/* The network on an accelerator: weights and instructions in its memory. */"
        yield f"struct {self.name} {{"
        yield "    struct tandem *machine;"
        yield f"    struct tandem_stream streams[{len(self.streams)}];"
        yield "    uint64_t limit;  /* microseconds that a launch may take; 0: any number */"
        yield "    uint64_t cycles; /* of the accelerator, in the last run */"
        yield "};"
        yield ""
        yield "/* Loads the streams into the accelerator's memory, once; sets `limit` to 0. */"
        yield from open_declaration(self.name)
        yield ""

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


def run_declaration(name: str, accelerated: bool) -> tuple[str, ...]:
    """The lines that declare the function that runs a network."""
    result = "enum tandem_result" if accelerated else "void"
    network = f"struct {name} *network, " if accelerated else ""
    return (
        f"{result} {name}_run({network}const struct {name}_inputs *inputs,",
        f"    const struct {name}_outputs *outputs, void *arena, void *workspace);",
    )


def open_declaration(name: str) -> tuple[str, ...]:
    """The line that declares the function that loads a network's streams."""
    return (f"enum tandem_result {name}_open(struct {name} *network, struct tandem *machine);",)
