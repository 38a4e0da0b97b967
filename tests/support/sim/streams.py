"""Files of streams, read anew from the format's description."""

from __future__ import annotations

import struct
from zlib import crc32

import numpy as np

MAGIC = b"TDNS"


def memory_of(content: bytes) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint8]], int, int]:
    """Memory as a file says, where its instructions begin, and how many there are; read anew from
    the format's description."""
    words = struct.unpack_from("<9I", content, 4)
    size, checksum, memory_bytes, begin, count, checks, bases, segments = words[1:]
    assert content[:4] == MAGIC
    assert size == len(content)
    assert checksum == crc32(content[16:])
    memory = np.zeros(memory_bytes, np.uint8)
    data = 40 + 8 * checks + 4 * bases + 8 * segments
    for place, length in segments_of(content):
        memory[place : place + length] = np.frombuffer(content, np.uint8, length, data)
        data += length
    assert data == len(content)
    return memory, begin, count


def segments_of(content: bytes) -> list[tuple[int, int]]:
    """Where the segments lie in memory, and how many bytes they have."""
    checks, bases, segments = struct.unpack_from("<3I", content, 28)
    at = 40 + 8 * checks + 4 * bases
    return [struct.unpack_from("<2I", content, at + 8 * number) for number in range(segments)]
