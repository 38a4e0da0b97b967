"""`tandem export`: a network as a C library, with a program that checks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from tandem.base.files import write_atomically
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.runtime.artifact import (
    Arena,
    Artifact,
    InPlace,
    Kept,
    Manifest,
    Output,
    StreamCode,
    config_of,
)
from tandem.runtime.native import ALIGNMENT, ObjectCode
from tandem.workbench.errors import ExportError
from tandem.workbench.export.blobs import Blob, Format, made_blobs
from tandem.workbench.export.header import Extent, Header, Port
from tandem.workbench.export.kernels import kernels_of
from tandem.workbench.export.machine import machine_files
from tandem.workbench.export.names import c_names_in_order, check_name
from tandem.workbench.export.network_source import NetworkSource, prefix_of
from tandem.workbench.export.options import PLAIN, LibraryOptions
from tandem.workbench.export.project import project_files
from tandem.workbench.export.stream_file import StreamFile, head_bytes, stream_file
from tandem.workbench.export.web import web_files

_Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, repr=False)
class Exported:
    """A library that was written.

    Attributes
    ----------
    folder
        Where it is.
    files
        Its files, by their names in the folder.
    header
        What its header says.
    offsets
        Of constants in the weights, by tensor.
    checked
        Whether its program knows which outputs are expected.
    """

    folder: Path
    files: tuple[str, ...]
    header: Header
    offsets: Mapping[str, int]
    checked: bool

    def __repr__(self) -> str:
        header = self.header
        beside = "" if header.config is None else f" and the accelerator {header.config.name}"
        sizes = f"{sum(len(stream.content) for stream in header.streams):,} bytes"
        memory = sum(stream.memory_bytes for stream in header.streams)
        streams = f"  streams {sizes}, memory of the accelerator {memory:,}\n"
        return (
            f"{self.folder}: {self.made} by make, for {header.triple}{beside}\n"
            f"  code {header.code_bytes:,} bytes, weights {header.weight_bytes:,}, arena "
            f"{header.arena_bytes:,}, workspace {header.workspace_bytes:,}\n"
            f"{streams if header.streams else ''}"
            f"  make check builds it and compares a run with "
            f"{'the outputs here' if self.checked else 'nothing: its outputs are printed'}"
        )

    @property
    def made(self) -> str:
        """The file that `make` makes."""
        name = self.header.name
        return f"{name}.wasm" if f"{name}.json" in self.files else f"lib{name}.a"

    @property
    def _suffix(self) -> str:
        """What files of bytes end with."""
        form = self.header.options.form
        return "o" if form is Format.ELF else form.value

    @property
    def sources(self) -> tuple[str, ...]:
        """The files of bytes that the library is compiled from, beside `NAME.c`."""
        names = (f"{self.header.name}_weights", *self.header.stream_names)
        found = (f"{name}{suffix}" for name in names for suffix in (".S", ".c"))
        return tuple(file for file in found if file in self.files)

    def as_json(self) -> dict[str, object]:
        """The command's JSON object."""
        header = self.header
        return {
            "files": [str(self.folder / name) for name in self.files],
            "entry": f"{header.name}_run",
            "arena_bytes": header.arena_bytes,
            "workspace_bytes": header.workspace_bytes,
            "code_bytes": header.code_bytes,
            "weight_bytes": header.weight_bytes,
            "streams": [
                stream.as_json(str(self.folder / f"{name}.{self._suffix}"))
                for name, stream in zip(header.stream_names, header.streams, strict=True)
            ],
            "tensors": [
                {
                    "name": port.name,
                    "address": None,
                    "shape": [*port.tensor.shape],
                    "dtype": port.tensor.dtype,
                    "layout": "row-major",
                    "scale": None if port.tensor.scale is None else port.tensor.scale.step,
                }
                for port in (*header.inputs, *header.outputs)
            ],
        }


def export_library(
    artifact: Artifact,
    folder: Path,
    inputs: _Arrays,
    expected: _Arrays | None,
    name: str | None = None,
    options: LibraryOptions = PLAIN,
) -> Exported:
    """Write the C library of a network: kernels for the processor, and with instruction streams the
    runtime that drives an accelerator.

    Parameters
    ----------
    inputs
        What the program that checks the library runs it on, by the model's names.
    expected
        The outputs to compare with; None if they are not known: the program prints its own.
    name
        The prefix of the library's names; None for the model's.
    options
        Where weights are, threads, and profiles.

    Raises
    ------
    ExportError
        The network cannot be such a library, or the name is none in C; says why.
    OSError
        A file cannot be written.
    """
    if name is not None:
        check_name(name)
    manifest = _all_placed(artifact.manifest)
    prefix = prefix_of(manifest) if name is None else name
    codes, streams = code_of(artifact)
    first = next(iter(codes.values()), None)
    triple = first.triple if first else "any processor"
    options.check(triple, threaded=first is None or CpuTarget(triple, "", ()).threaded)
    is_web = triple.startswith("wasm")
    if is_web and streams:
        raise ExportError(f"WebAssembly has no accelerator: {manifest.name} has streams for one")
    kernels = {each.name: each for each in kernels_of(prefix, codes)}
    weights, offsets = _weights(artifact)
    input_ports, output_ports, extents = _ports(manifest)
    ports, copies = _expressions(manifest, input_ports, output_ports)
    source = NetworkSource.of(
        *(prefix, manifest, kernels, codes, offsets, ports, copies, streams),
        embed_weights=options.embed_weights,
        in_place=options.works_in_place(triple),
    )
    header = Header(
        prefix,
        manifest,
        input_ports,
        output_ports,
        source.arena_bytes,
        max(
            (each.shared_bytes + options.threads * each.worker_bytes for each in codes.values()),
            default=0,
        ),
        len(weights),
        sum(each.code_bytes for each in kernels.values()),
        sorted({"memcpy", *(need for each in kernels.values() for need in each.needs)}),
        triple,
        first.features if first else (),
        options,
        extents,
        tuple(streams.values()),
        config_of(artifact),
        source.heap.header(streams=bool(streams)) if source.heap else (),
    )
    checked = expected is not None
    results, shapes = _results(header, expected) if expected is not None else ((), {})
    objects = [f"{prefix}_kernel_{at}.o" for at in range(len(kernels))]
    files: dict[str, bytes] = {
        f"{prefix}.h": header.text().encode(),
        f"{prefix}.c": source.text(header).encode(),
        **{file: each.content for file, each in zip(objects, kernels.values(), strict=True)},
    }
    compared = _packed([*(inputs[port.name] for port in input_ports), *results])
    if is_web:
        around = web_files(header, objects, checked=checked)
        files |= {f"{prefix}_weights.bin": weights, "check.bin": compared}
    else:
        made = partial(
            made_blobs, form=options.form, triple=triple, features=first.features if first else ()
        )
        data = made(_data_of(header, weights))
        check = made([Blob("check_bytes", "check", compared, ".rodata.check")])
        around = project_files(header, objects, data, check, checked=checked, shapes=shapes)
        files |= {**data.files, **check.files}
        if not options.embed_weights:
            files[f"{prefix}_weights.bin"] = weights
    files |= {file: content.encode() for file, content in around.items()}
    if header.config is not None:
        files |= machine_files(header, header.config)
    folder.mkdir(parents=True, exist_ok=True)
    stems = [f"{prefix}_weights", f"{prefix}_stream_*", "check"]
    kinds = [f"{stem}.{suffix}" for stem in stems for suffix in ("bin", "S", "c", "o")]
    # Of a library that was here before: make would take them.
    for pattern in (f"{prefix}_kernel_*.o", *kinds):
        for path in {*folder.glob(pattern)} - {folder / file for file in files}:
            path.unlink()
    for file, content in files.items():
        write_atomically(folder / file, content)
    return Exported(folder, tuple(files), header, offsets, checked)


def _data_of(header: Header, weights: bytes) -> list[Blob]:
    """The weights, if they are part of the library, and the streams."""
    name = f"{header.name}_weights"
    found = [Blob(name, name, weights, ".rodata.weights")] * header.options.embed_weights
    for name, stream in zip(header.stream_names, header.streams, strict=True):
        head = head_bytes(stream.content)
        found.append(Blob(name, name, stream.content, ".rodata.streams", head))
    return found


def code_of(artifact: Artifact) -> tuple[dict[str, ObjectCode], dict[str, StreamFile]]:
    """The kernels and the streams of an artifact by name. Raises `ExportError` if it has other
    code, or a stream that cannot be exported."""
    codes, streams = dict[str, ObjectCode](), dict[str, StreamFile]()
    for step in artifact.manifest.steps:
        match artifact.code[step.code]:
            case ObjectCode() as code:
                codes[step.code] = code
            case StreamCode() as code:
                streams[step.code] = stream_file(code)
            case code:
                raise ExportError(
                    f"{step.name} has code of the kind {code.kind}, which no C library can run"
                )
    return codes, streams


def _all_placed(manifest: Manifest) -> Manifest:
    """With the parts of tuples that are no results, and what stays on a device, in the arena: in
    Python each is an array of its own, and C has no heap."""
    results = {port.tensor for port in manifest.results}
    results |= {count.tensor for count in manifest.counts}
    end, tensors = manifest.arena_bytes, []
    for tensor in manifest.tensors:
        is_part = isinstance(tensor.place, Output) and tensor.name not in results
        if is_part or isinstance(tensor.place, Kept):
            begin = -(-end // ALIGNMENT) * ALIGNMENT
            end = begin + tensor.bytes
            tensor = structs.replace(tensor, place=Arena(begin))
        tensors.append(tensor)
    return structs.replace(manifest, tensors=tuple(tensors), arena_bytes=end)


def _weights(artifact: Artifact) -> tuple[bytes, dict[str, int]]:
    """The constants, one behind the other, and where each begins."""
    offsets, parts, end = dict[str, int](), [], 0
    for name, array in artifact.constants.items():
        offsets[name] = end
        part = array.tobytes()
        size = -(-len(part) // ALIGNMENT) * ALIGNMENT
        parts.append(part.ljust(size, b"\0"))
        end += size
    # No object is empty.
    return b"".join(parts) or bytes(ALIGNMENT), offsets


def _packed(arrays: Sequence[NDArray[Any]]) -> bytes:
    parts = [np.ascontiguousarray(each).tobytes() for each in arrays]
    return b"".join(part.ljust(-(-len(part) // 64) * 64, b"\0") for part in parts) or bytes(64)


def _ports(manifest: Manifest) -> tuple[list[Port], list[Port], list[Extent]]:
    """Inputs and outputs, and which outputs are extents of others."""
    tensors = {each.name: each for each in manifest.tensors}
    counted = [f"{each.result}_extent_{each.axis}" for each in manifest.counts]
    found = []
    for given in (
        [(port.name, port.tensor) for port in manifest.inputs],
        [
            *((port.name, port.tensor) for port in manifest.results),
            *zip(counted, (each.tensor for each in manifest.counts), strict=True),
        ],
    ):
        spelled = c_names_in_order([name for name, _ in given])
        found.append(
            [
                Port(name, text, tensors[tensor])
                for (name, tensor), text in zip(given, spelled, strict=True)
            ]
        )
    inputs, outputs = found
    results = {port.name: port for port in outputs[: len(manifest.results)]}
    counts = outputs[len(manifest.results) :]
    extents = [
        Extent(results[count.result], count.axis, port)
        for count, port in zip(manifest.counts, counts, strict=True)
    ]
    return inputs, outputs, extents


def _results(
    header: Header, expected: _Arrays
) -> tuple[list[NDArray[Any]], dict[str, tuple[int, ...]]]:
    """What buffers of outputs hold after a run, with zeros beyond extents; and the shapes of those
    results, by their names in C."""
    counts = {extent.count.spelled: extent for extent in header.extents}
    arrays: list[NDArray[Any]] = []
    shapes = {}
    for port in header.outputs:
        extent = counts.get(port.spelled)
        if extent is not None:
            arrays.append(np.array(expected[extent.output.name].shape[extent.axis], np.int64))
            continue
        array = expected[port.name]
        if array.shape != tuple(port.tensor.shape):
            whole = np.zeros(port.tensor.shape, array.dtype)
            whole[tuple(map(slice, array.shape))] = array
            shapes[port.spelled], array = array.shape, whole
        arrays.append(array)
    return arrays, shapes


def _expressions(
    manifest: Manifest, inputs: Sequence[Port], outputs: Sequence[Port]
) -> tuple[dict[str, str], dict[str, str]]:
    """The expressions of tensors that the caller passes, and copies: of results that are inputs,
    constants, or another result."""
    ports = {port.tensor.name: f"inputs->{port.spelled}" for port in inputs}
    copies: dict[str, str] = {}
    for port in outputs:
        name = f"outputs->{port.spelled}"
        # In C an output has memory of its own, wherever it may lie.
        if isinstance(port.tensor.place, Output | InPlace) and port.tensor.name not in ports:
            ports[port.tensor.name] = name
        else:
            copies[name] = port.tensor.name
    return ports, copies
