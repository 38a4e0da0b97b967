"""A library for an accelerator in this process: a stream of a few instructions, and what fails."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.header import c_header
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Unit, pack_uops
from tandem.runtime.artifact import Input, Output, PlacedTensor
from tandem.sim.driven.registers import EngineMachine
from tandem.sim.engines import make_engine
from tandem.workbench.errors import ExportError
from tandem.workbench.export.blobs import Blob, Format, made_blobs
from tandem.workbench.export.hosted import FLAGS, HostedLibrary
from tandem.workbench.export.library import Exported
from tandem.workbench.export.options import LibraryOptions
from tandem.workbench.export.stream_file import StreamFile, pack
from tests.support.runtime.c_runtime import SOURCES
from tests.support.workbench.small_networks import (
    TRIPLE,
    header_of,
    manifest,
    ports_of,
    source_of,
    step,
    tensor,
)

TINY = load_config("tiny")
IMAGE = 256
"""Bytes of the stream's memory: inputs, outputs, and a micro-op of four bytes."""
QUICK = tuple(flag for flag in FLAGS if flag != "-O2")


def stream() -> StreamFile:
    """y = x + 5, of two elements of four bytes."""
    image = np.zeros(IMAGE, np.uint8)
    image[128:132] = np.frombuffer(pack_uops(TINY, [MicroOp(1)]), np.uint8)
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=128 // 4, columns=1)
    asm.load(MemoryId.ACC_8BIT, sram=1, dram=0, columns=2)
    asm.alu(AluOp.ADD, (0, 1), (Loop(2, dst=1, src=1),), imm=5, signals=Unit.STORE)
    asm.store(sram=1, dram=64 // 4, columns=2, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)
    asm.finish()
    content, size, constants = pack(asm.build(), image)
    inputs = (PlacedTensor("x", 0, (8,), "int8"),)
    return StreamFile("s", content, size, constants, inputs, (PlacedTensor("y", 64, (8,), "int8"),))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """A network whose one step is the stream."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("hosted")
    tensors = [tensor("x", [8], "int8", Input()), tensor("y", [8], "int8", Output())]
    net = manifest(tensors, "x", "y", [step("s", "x", "y", "accelerator")])
    made = stream()
    header = header_of(net, streams=(made,), config=TINY)
    source = source_of(net, [], ports=ports_of(net), streams=[made])
    parts = [Blob("net_weights", "net_weights", b"\0", ".w"),
             Blob("net_stream_0", "net_stream_0", made.content, ".s")]  # fmt: skip
    blobs = made_blobs(parts, Format.C, TRIPLE, ())
    runtime = {name: (SOURCES / name).read_bytes() for name in ("tandem.h", "tandem.c")}
    files = {
        "net.h": header.text().encode(),
        "net.c": source.text(header).encode(),
        "tandem_registers.h": c_header(TINY).encode(),
        **runtime,
        **blobs.files,
        # The check's data is no part of the library, and this is no object.
        "check.o": b"nothing",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return Exported(folder, tuple(files), header, {}, checked=False)


def machine(name: str = "tiny") -> EngineMachine:
    """With memory that is full of garbage."""
    return EngineMachine(make_engine("cycle", load_config(name)), np.full(1 << 14, 0xA5, np.uint8))


def test_runs(exported: Exported) -> None:
    library = HostedLibrary(exported, machine(), flags=QUICK)
    assert (library.cycles, library.limit) == (0, 0)
    library.limit = 1_000_000
    assert library.limit == 1_000_000
    x = np.arange(-4, 4, dtype=np.int8)
    outputs = library.run({"x": x})
    assert [*outputs] == ["y"]
    assert (outputs["y"] == x + 5).all()
    first = library.cycles
    assert first > 0
    # A view that is not dense, and as many cycles as before, not twice.
    assert (library.run({"x": np.repeat(x, 2)[::2]})["y"] == x + 5).all()
    assert library.cycles == first


def test_a_machine_that_the_runtime_refuses(exported: Exported) -> None:
    """Each build is a file of its own."""
    before = len([*exported.folder.glob("*.so")])
    with pytest.raises(ExportError, match=r"^net: .* \(result 3 of the C runtime\)$"):
        HostedLibrary(exported, machine(name="small8"), flags=QUICK, interrupt=False)
    assert len([*exported.folder.glob("*.so")]) == before + 1


def test_compilers_that_fail(exported: Exported) -> None:
    with pytest.raises(ExportError, match=r"^no-such-cc cannot be run: .*No such file"):
        HostedLibrary(exported, machine(), compiler="no-such-cc")
    with pytest.raises(ExportError, match=r"^cc failed: .*no-such-flag"):
        HostedLibrary(exported, machine(), flags=("--no-such-flag",))


@pytest.mark.parametrize(
    "options",
    [LibraryOptions(threads=2), LibraryOptions(profile=True), LibraryOptions(embed_weights=False)],
)
def test_choices_that_it_has_not(exported: Exported, options: LibraryOptions) -> None:
    header = replace(exported.header, options=options)
    with pytest.raises(
        ExportError, match=r"^a library with threads, profiles or a file of weights"
    ):
        HostedLibrary(replace(exported, header=header), machine())
