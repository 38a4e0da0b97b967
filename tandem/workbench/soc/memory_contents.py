"""What the memory that accelerator and processor share has when a system on chip begins.

Weights, parameters, micro-ops and instructions lie there before the first instruction of the
processor, as contents of the blocks of RAM: so they take no ROM, and no time.
"""

from __future__ import annotations

from collections.abc import Sequence

from tandem.workbench.export.stream_file import StreamFile, segments_of


def memory_words(streams: Sequence[StreamFile], bus_bits: int) -> str:
    """The contents for `$readmemh`, a beat of the bus a line.

    Streams lie one behind the other, in whole pages and in the order in which the network loads
    them, as the platform without a system gives memory (`tandem_bare.c`).
    """
    content = bytearray()
    for stream in streams:
        memory = bytearray(stream.page_bytes)
        for place, part in segments_of(stream.content):
            memory[place : place + len(part)] = part
        content += memory
    beat = bus_bits // 8
    beats = (content[at : at + beat] for at in range(0, len(content), beat))
    return "".join(f"{int.from_bytes(each, 'little'):0{2 * beat}x}\n" for each in beats)
