"""Manifests of a few steps, whose kernels a test writes in C: what an export makes of them runs."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.hw.config import HardwareConfig
from tandem.runtime.artifact import (
    Form,
    FunctionCode,
    Manifest,
    Place,
    Port,
    Provenance,
    Step,
    Tensor,
)
from tandem.runtime.native import ObjectCode
from tandem.runtime.native.objects import Parameter
from tandem.workbench.export import header as headers
from tandem.workbench.export.header import Header
from tandem.workbench.export.kernels import Kernel
from tandem.workbench.export.network_source import NetworkSource
from tandem.workbench.export.options import PLAIN, LibraryOptions
from tandem.workbench.export.stream_file import StreamFile

TRIPLE = "x86_64-unknown-linux-gnu"


def tensor(name: str, shape: Sequence[int], dtype: str, place: Place, **more: Any) -> Tensor:
    return Tensor(name, (*shape,), dtype, place, **more)


def step(code: str, inputs: str, outputs: str, device: str = "cpu") -> Step:
    """A step of that code; operands are separated by spaces."""
    return Step(f"{code}_step", device, code, (*inputs.split(),), (*outputs.split(),), (code,), 0)


def manifest(
    tensors: Sequence[Tensor],
    inputs: str,
    results: str,
    steps: Sequence[Step],
    arena_bytes: int = 0,
    functions: Sequence[FunctionCode] = (),
    forms: Sequence[Form] = (),
) -> Manifest:
    """A network `net`; the model calls its inputs and results as tensors are called."""
    given, found = (
        tuple(Port(each, each) for each in names.split()) for names in (inputs, results)
    )
    provenance = Provenance("models/net.onnx")
    return Manifest(
        "net",
        provenance,
        (*tensors,),
        given,
        found,
        (*steps,),
        arena_bytes,
        (*functions,),
        forms=(*forms,),
    )


def kernel(name: str, parameters: str, outputs: str, inputs: str = "") -> ObjectCode:
    """The code of a kernel whose parameters are given by their names; without `inputs`, it reads
    those that it does not write."""
    names, written = parameters.split(), (*outputs.split(),)
    return ObjectCode(
        *(name, f"compiled_{name}", TRIPLE, ()),
        tuple(Parameter(each, (1,), "int32") for each in names),
        (*inputs.split(),) or tuple(each for each in names if each not in written),
        written,
        *(0, 0, False, b""),
    )


def source_of(
    net: Manifest,
    codes: Sequence[ObjectCode],
    *,
    ports: Mapping[str, str],
    copies: Mapping[str, str] = {},
    weights: Mapping[str, int] = {},
    streams: Sequence[StreamFile] = (),
    **options: bool,
) -> NetworkSource:
    return NetworkSource.of(
        "net",
        net,
        {each.name: Kernel(each.name, f"kernel_{each.name}", b"", (), 0) for each in codes},
        {each.name: each for each in codes},
        weights,
        ports,
        copies,
        {each.name: each for each in streams},
        **options,
    )


def header_of(
    net: Manifest,
    options: LibraryOptions = PLAIN,
    *,
    arena_bytes: int = 0,
    streams: Sequence[StreamFile] = (),
    config: HardwareConfig | None = None,
    **more: Any,
) -> Header:
    tensors = {each.name: each for each in net.tensors}
    inputs, outputs = (
        [headers.Port(port.name, port.name, tensors[port.tensor]) for port in ports]
        for ports in (net.inputs, net.results)
    )
    return Header(
        *("net", net, inputs, outputs, arena_bytes, 0, 0, 0, ("memcpy",), TRIPLE, ()),
        options=options,
        streams=streams,
        config=config,
        **more,
    )


def ports_of(net: Manifest) -> dict[str, str]:
    """The expressions of inputs and outputs, by tensor."""
    given = {port.tensor: f"inputs->{port.name}" for port in net.inputs}
    return {port.tensor: f"outputs->{port.name}" for port in net.results} | given


def compiled(folder: Path, header: Header, source: NetworkSource, kernels: str) -> ctypes.CDLL:
    """The library, with kernels in C."""
    (folder / "net.h").write_text(header.text())
    (folder / "net.c").write_text(source.text(header))
    (folder / "kernels.c").write_text(f"#include <stdint.h>\n{kernels}")
    flags = ("-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    command = ["cc", *flags, "-o", "net.so", "net.c", "kernels.c"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "net.so"))


def pointers(*arrays: NDArray[Any]) -> Any:
    """A structure of pointers."""
    return (ctypes.c_void_p * max(len(arrays), 1))(*(each.ctypes.data for each in arrays))


def memory(size: int) -> Any:
    """Memory that begins at a multiple of 64 bytes, full of garbage."""
    array = np.full(size + 64, 0xA5, np.uint8)
    begin = -array.ctypes.data % 64
    return array[begin : begin + size]
