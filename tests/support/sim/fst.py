"""A minimal parser of the FST waveform format, to check files."""

from __future__ import annotations

from collections.abc import Iterator

FST_GEOMETRY, FST_HIERARCHY = 3, 6


def fst_blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The file's blocks, as pairs of type and payload."""
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at + 1 : at + 9], "big")
        assert length >= 8
        assert at + 1 + length <= len(data), "the file ends within a block"
        yield data[at], data[at + 9 : at + 1 + length]
        at += 1 + length


def unpack_lz4(data: bytes) -> bytes:
    """Decompress data in LZ4's block format."""
    out = bytearray()
    source = iter(data)

    def length(start: int) -> int:
        total = start
        more = 255 if start == 15 else 0
        while more == 255:
            more = next(source)
            total += more
        return total

    for token in source:
        out += bytes(next(source) for _ in range(length(token >> 4)))
        low = next(source, None)
        if low is None:
            break
        back = low | next(source) << 8
        assert 0 < back <= len(out)
        for _ in range(length(token & 15) + 4):
            out.append(out[-back])
    return bytes(out)
