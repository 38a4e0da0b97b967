"""The C header of a network: its tensors, what memory it takes, and the one function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from tandem.hw.config import HardwareConfig
from tandem.runtime.artifact import Manifest, Tensor
from tandem.runtime.native import ALIGNMENT
from tandem.workbench.export.names import c_names_in_order, c_type
from tandem.workbench.export.options import PLAIN, LibraryOptions
from tandem.workbench.export.stream_file import StreamFile
from tandem.workbench.export.tensor_table import (
    STRUCTURE,
    TensorRow,
    c_float,
    scale_words,
    stream_rows,
)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: the model's name, the name in C, and the tensor."""

    name: str
    spelled: str
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Extent:
    """An extent of an output that is known after a run.

    Attributes
    ----------
    output
        The output, whose buffer has the greatest extent.
    count
        The output that holds the extent.
    """

    output: Port
    axis: int
    count: Port


@dataclass(frozen=True, slots=True)
class Header:
    """What the header says.

    Attributes
    ----------
    outputs
        The results, and behind them the extents that are known after a run.
    needs
        Functions of the C library that the network calls.
    triple, features
        What the code is for, by LLVM's names.
    streams
        The instruction streams of an accelerator, in their order; empty of a network without.
    config
        The accelerator's configuration; None without one.
    heap
        The results of runs of a network that has a heap, as lines of C; empty of one without.
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
    options: LibraryOptions = PLAIN
    extents: Sequence[Extent] = ()
    streams: Sequence[StreamFile] = ()
    config: HardwareConfig | None = None
    heap: Sequence[str] = ()

    @property
    def tensors(self) -> tuple[TensorRow, ...]:
        """The table of tensors: inputs and outputs, and those of streams."""
        ports = (*self.inputs, *self.outputs)
        found = [TensorRow.of_port(port.name, port.spelled, port.tensor) for port in ports]
        if self.config is not None:
            found += stream_rows(self.manifest, self.streams, self.config)
        # An input and an output may have one name.
        spelled = c_names_in_order([row.spelled for row in found])
        return tuple(replace(row, spelled=name) for row, name in zip(found, spelled, strict=True))

    @property
    def stream_names(self) -> tuple[str, ...]:
        """The names in C of the streams' bytes."""
        return tuple(f"{self.name}_stream_{number}" for number in range(len(self.streams)))

    @property
    def result(self) -> str:
        """The type of the function that runs the network."""
        if self.heap:
            return f"enum {self.name}_result"
        return "enum tandem_result" if self.streams else "void"

    @property
    def parameters(self) -> str:
        """The parameters of the function that runs the network."""
        options = self.options
        weights = "" if options.embed_weights else " const void *weights,"
        launcher = f", struct {self.name}_launcher *launcher" * (options.threads > 1)
        profile = f", struct {self.name}_profile *profile" * options.profile
        heap = ", void *heap, size_t heap_bytes" * bool(self.heap)
        rest = f"{heap}{launcher}{profile}".removeprefix(", ")
        return ",\n    ".join(
            (
                *([f"struct {self.name} *network"] * bool(self.streams)),
                f"const struct {self.name}_inputs *inputs",
                f"const struct {self.name}_outputs *outputs,{weights} void *arena, void *workspace",
                *([rest] if rest else []),
            )
        )

    @property
    def steps(self) -> Sequence[str]:
        """What a profile calls the steps."""
        found = (f"{each.name}: {', '.join(each.operators)}" for each in self.manifest.steps)
        return [*found] or ["nothing"]

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
        if not self.options.embed_weights:
            yield f" * So do the weights, the bytes of {self.name}_weights.bin."
        yield f" * Machine code takes {self.code_bytes:,} bytes, weights {self.weight_bytes:,}."
        yield f" * Of the C library it calls {', '.join(self.needs) or 'nothing'}."
        yield " */"
        yield f"#ifndef {upper}_H"
        yield f"#define {upper}_H"
        yield ""
        if self.heap:
            yield "#include <stddef.h>"
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
        if not self.options.embed_weights:
            yield f"#define {upper}_WEIGHT_BYTES {self.weight_bytes}"
        for port in (*self.inputs, *self.outputs):
            yield f"#define {upper}_{port.spelled.upper()}_BYTES {port.tensor.bytes}"
            scale = port.tensor.scale
            if scale is not None:
                yield f"#define {upper}_{port.spelled.upper()}_STEP {c_float(scale.step)}"
                yield f"#define {upper}_{port.spelled.upper()}_ZERO {scale.zero}"
        yield ""
        yield from self._struct("inputs", "const ", self.inputs)
        yield from self._struct("outputs", "", self.outputs)
        yield from self._tensors()
        yield from self._network()
        yield from self._threads()
        yield from self._profile()
        yield from self.heap
        yield "/* Runs the network once. The arena has no meaning between runs. */"
        yield f"{self.result} {self.name}_run({self.parameters});"
        yield ""
        yield "#ifdef __cplusplus"
        yield "}"
        yield "#endif"
        yield ""
        yield f"#endif /* {upper}_H */"

    def _tensors(self) -> Iterator[str]:
        rows, upper = self.tensors, self.name.upper()
        if not rows:
            return
        yield from STRUCTURE.splitlines()
        yield ""
        yield "/* The places of tensors in the table. */"
        yield "enum {"
        for row in rows:
            said = f"{row.dtype}{list(row.shape)}: {row.layout}"
            yield f"    {upper}_TENSOR_{row.spelled.upper()}, /* {_safe(said)} */"
        yield f"    {upper}_TENSORS"
        yield "};"
        yield f"extern const struct tandem_tensor {self.name}_tensors[{upper}_TENSORS];"
        yield ""

    def _network(self) -> Iterator[str]:
        if not self.streams:
            return
        yield "/* Bytes of the accelerator's memory, in parts at multiples of TANDEM_ALIGNMENT. */"
        memory = sum(stream.page_bytes for stream in self.streams)
        yield f"#define {self.name.upper()}_MEMORY_BYTES {memory}"
        yield ""
        yield "/* The network on an accelerator: weights and instructions in its memory. */"
        yield f"struct {self.name} {{"
        yield "    struct tandem *machine;"
        yield f"    struct tandem_stream streams[{len(self.streams)}];"
        yield "    uint64_t limit;  /* microseconds that a launch may take; 0: any number */"
        yield "    uint64_t cycles; /* of the accelerator, in the last run */"
        if self.heap:
            yield "    enum tandem_result result; /* of the accelerator, in the last run */"
        yield "};"
        yield ""
        yield "/* Loads the streams into the accelerator's memory, once; sets `limit` to 0. */"
        yield f"enum tandem_result {self.name}_open("
        yield f"    struct {self.name} *network, struct tandem *machine);"
        yield ""

    def _threads(self) -> Iterator[str]:
        if self.options.threads == 1:
            return
        upper = self.name.upper()
        yield f"#define {upper}_THREADS {self.options.threads}"
        yield ""
        yield "/* The iterations of a loop from `begin` to before `end`. */"
        yield f"typedef void {self.name}_task(void *closure, int64_t begin, int64_t end,"
        yield "    int64_t worker);"
        yield ""
        yield "/* Threads that share loops: `launch` returns when a task has run for all of `count`"
        yield " * iterations. Calls that are at work have different workers, from 0 to below"
        yield f" * {upper}_THREADS. {self.name}_threads.h has such threads."
        yield " * NULL stands for the calling thread alone. */"
        yield f"struct {self.name}_launcher {{"
        yield f"    void (*launch)(struct {self.name}_launcher *self, {self.name}_task *task,"
        yield "        void *closure, int64_t count);"
        yield "};"
        yield ""

    def _profile(self) -> Iterator[str]:
        if not self.options.profile:
            return
        steps = f"{self.name.upper()}_STEPS"
        yield f"#define {steps} {len(self.steps)}"
        yield ""
        yield "/* The names of the network's steps, and their operators. */"
        yield f"extern const char *const {self.name}_steps[{steps}];"
        yield ""
        yield "/* The time of steps, in units of `now`, and how often they ran: runs add to them."
        yield " * NULL stands for none. */"
        yield f"struct {self.name}_profile {{"
        yield "    uint64_t (*now)(void);"
        yield f"    uint64_t time[{steps}];"
        yield f"    uint64_t runs[{steps}];"
        yield "};"
        yield ""

    def _struct(self, kind: str, const: str, ports: Sequence[Port]) -> Iterator[str]:
        yield f"struct {self.name}_{kind} {{"
        if not ports:
            yield "    char none; /* C99 has no empty structure */"
        for port in ports:
            said = str(port.tensor) + ("" if port.name == port.spelled else f", {port.name!r}")
            if scale_words(port.tensor):
                said += f", {scale_words(port.tensor)}"
            for extent in self.extents:
                if extent.output == port:
                    said += f", of axis {extent.axis} the first {extent.count.spelled}"
            yield f"    {const}{c_type(port.tensor.dtype)} *{port.spelled}; /* {_safe(said)} */"
        yield "};"
        yield ""


def _safe(text: str) -> str:
    """Text within a comment."""
    return text.replace("*/", "* /").replace("\n", " ")
