"""An instruction stream as a file for the C runtime: what `tandem_load` takes.

    file     = head, check..., base..., segment..., bytes of the segments
    head     = "TDNS", version, bytes, checksum, memory, program, instructions,
               checks, bases, segments
    check    = register, value
    base     = register
    segment  = offset in memory, bytes

Everything is a word of 32 bits, little-endian. The checksum is zlib's CRC-32 of what follows it.
The checks say what the identity registers of the machine have to read, the bases which registers
place the memory, of which all other bytes are zero. Addresses count from its begin, so that it may
lie anywhere.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tandem.hw.config import PAGE_BYTES
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.isa import Program, dram_ranges
from tandem.hw.registers import registers_of
from tandem.runtime.artifact import PlacedTensor, StreamCode
from tandem.workbench.errors import ExportError

MAGIC: Final = b"TDNS"
VERSION: Final = 1
ALIGNMENT: Final = 64
"""Of instructions in memory, in bytes."""
_HEAD: Final = struct.Struct("<4s3I")
"""What the checksum does not cover, and the checksum."""
_WORDS: Final = struct.Struct("<6I")
"""The rest of the head."""
_GAP: Final = 64
"""Zeros between two segments, at least; fewer cost less than another segment."""
_WORD: Final = 8
"""Segments begin and end at multiples of it, so that they are copied by words."""
_UNCHECKED: Final = frozenset({"magic", "version"})
"""Identity registers that the runtime checks itself, of any stream."""


@dataclass(frozen=True, slots=True)
class StreamFile:
    """A stream as a file.

    Attributes
    ----------
    memory_bytes
        The memory of a run, from the begin of its constants to the end of its instructions.
    constant_bytes
        Weights, parameters and micro-ops: the bytes of all segments but the instructions.
    """

    name: str
    content: bytes
    memory_bytes: int
    constant_bytes: int
    inputs: tuple[PlacedTensor, ...]
    outputs: tuple[PlacedTensor, ...]

    def as_json(self, file: str) -> dict[str, object]:
        """The entry of this stream in the command's JSON."""
        tensors = [(tensor, "input") for tensor in self.inputs]
        tensors += [(tensor, "output") for tensor in self.outputs]
        return {
            "file": file,
            "bytes": len(self.content),
            "memory_bytes": self.memory_bytes,
            "tensors": [
                {
                    "name": tensor.name,
                    "address": tensor.address,
                    "shape": [*tensor.shape],
                    "dtype": tensor.dtype,
                    "kind": kind,
                }
                for tensor, kind in tensors
            ],
        }

    @property
    def page_bytes(self) -> int:
        """The memory in whole pages, as the runtime takes it."""
        return -(-self.memory_bytes // PAGE_BYTES) * PAGE_BYTES


def stream_file(code: StreamCode) -> StreamFile:
    """The file of a stream.

    Raises
    ------
    ExportError
        A run would overwrite constants, so that a second one would be wrong; or memory has 4 GiB.
    """
    program = Program.from_bytes(code.config, code.program)
    _check_constants(code, program)
    packed = pack(program, code.image)
    return StreamFile(code.name, *packed, code.inputs, code.outputs)


def pack(program: Program, image: NDArray[np.uint8]) -> tuple[bytes, int, int]:
    """The file of a program with the memory before its first run, index == address from the base
    registers: the bytes, the size of the memory, and how much of it are constants."""
    config = program.config
    segments = [
        (begin, image[begin:end].tobytes().ljust(end - begin, b"\0")) for begin, end in _runs(image)
    ]
    constant_bytes = sum(len(content) for _, content in segments)
    begin = -(-image.size // ALIGNMENT) * ALIGNMENT
    segments.append((begin, program.data))
    memory = begin + len(program.data)
    if memory >= 1 << 32:
        raise ExportError(f"a stream takes {memory:,} bytes of memory: 4 GiB is too much")
    registers = {register.name: register for register in registers_of(config.features)}
    checks = [
        (register.offset, register.value(config))
        for name, register in registers.items()
        if register.constant and name not in _UNCHECKED
    ]
    lists = [word for pair in checks for word in pair]
    based = [memory for memory in config.memories if memory.base is memory]
    lists += [registers[f"base_{memory.name.lower()}"].offset for memory in based]
    lists += [word for at, content in segments for word in (at, len(content))]
    body = struct.pack(f"<{len(lists)}I", *lists) + b"".join(content for _, content in segments)
    size = _HEAD.size + _WORDS.size + len(body)
    counts = (len(checks), len(based), len(segments))
    words = (memory, begin, len(program.data) // INSTRUCTION_BYTES, *counts)
    checked = _WORDS.pack(*words) + body
    head = _HEAD.pack(MAGIC, VERSION, size, crc32(checked))
    return head + checked, memory, constant_bytes


def head_bytes(content: bytes) -> int:
    """What comes before the bytes of the segments, in bytes."""
    checks, bases, segments = _WORDS.unpack_from(content, _HEAD.size)[3:]
    return _HEAD.size + _WORDS.size + 8 * checks + 4 * bases + 8 * segments


def segments_of(content: bytes) -> list[tuple[int, bytes]]:
    """Where in memory a file's segments lie, and their bytes."""
    at = head_bytes(content)
    count = _WORDS.unpack_from(content, _HEAD.size)[-1]
    found = []
    for place, size in struct.iter_unpack("<2I", content[at - 8 * count : at]):
        found.append((place, content[at : at + size]))
        at += size
    return found


def _runs(image: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Begin and end of the parts that are not zero, in whole words; gaps below `_GAP` belong to
    them."""
    places = np.flatnonzero(image)
    if not places.size:
        return []
    breaks = np.flatnonzero(np.diff(places) > _GAP)
    begins = places[np.concatenate(([0], breaks + 1))] // _WORD * _WORD
    ends = (places[np.concatenate((breaks, [places.size - 1]))] // _WORD + 1) * _WORD
    return [(int(begin), int(end)) for begin, end in zip(begins, ends, strict=True)]


def _check_constants(code: StreamCode, program: Program) -> None:
    """Raise `ExportError` if inputs or stores lie where the image has constants."""
    constant = code.image != 0
    for tensor in code.inputs:
        if code.view(constant.view(np.uint8), tensor).any():
            raise ExportError(f"stream {code.name} has constants where its input {tensor.name} is")
    ranges = dram_ranges(program)
    before = np.concatenate(([0], np.cumsum(constant, dtype=np.int64)))
    first, end = (edge[ranges.is_write] for edge in (ranges.first, ranges.end))
    for at in first[before[end] > before[first]]:
        raise ExportError(f"stream {code.name} stores at {at:#x}, where its memory has constants")
