"""What a library has for an accelerator: its streams, the C runtime, and the board."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from tandem.hw.config import HardwareConfig
from tandem.hw.header import c_header
from tandem.workbench.export.header import Header
from tandem.workbench.export.project import blob_source

RUNTIME: Final = ("tandem", "tandem_bare", "tandem_uio")
"""The files of the C runtime, without suffixes: `.h` and `.c`."""


def machine_files(header: Header, config: HardwareConfig) -> dict[str, bytes]:
    """The files by name."""
    found = {
        f"{name}.{suffix}": files("tandem.runtime").joinpath("c", f"{name}.{suffix}").read_bytes()
        for name in RUNTIME
        for suffix in ("h", "c")
    }
    found["tandem_registers.h"] = c_header(config).encode()
    for name, stream in zip(header.stream_names, header.streams, strict=True):
        found[f"{name}.bin"] = stream.content
        found[f"{name}.S"] = blob_source(name, f"{name}.bin").encode()
    found["board.c"] = board_source(header).encode()
    return found


def board_source(header: Header) -> str:
    """The board: where registers and memory are, to be completed by whoever has one."""
    return _LINUX if header.platform == "tandem_uio" else _BARE


_LINUX = """/* Where the accelerator is on this board: a UIO device, and memory of u-dma-buf. */
#include "tandem_uio.h"

#ifndef TANDEM_DEVICE
#define TANDEM_DEVICE "/dev/uio0"
#endif
#ifndef TANDEM_BUFFER
#define TANDEM_BUFFER "udmabuf0"
#endif

const struct tandem_platform *board_platform(void);

const struct tandem_platform *board_platform(void)
{
    static struct tandem_uio uio;

    return tandem_uio(&uio, TANDEM_DEVICE, TANDEM_BUFFER);
}
"""
_BARE = """/* Where the accelerator is on this board, in addresses of the processor. A board with a data
 * cache also has functions that flush and invalidate it; one with a clock has its time. */
#include "tandem_bare.h"

#if !defined TANDEM_REGISTERS || !defined TANDEM_MEMORY || !defined TANDEM_MEMORY_BYTES
#error "say where the accelerator is: -DTANDEM_REGISTERS=0x... -DTANDEM_MEMORY=0x... \\
-DTANDEM_MEMORY_BYTES=..."
#endif

const struct tandem_platform *board_platform(void);

const struct tandem_platform *board_platform(void)
{
    static struct tandem_bare board;

    board.registers = (volatile uint32_t *)(uintptr_t)TANDEM_REGISTERS;
    board.memory = (unsigned char *)(uintptr_t)TANDEM_MEMORY;
    board.address = TANDEM_MEMORY;
    board.bytes = TANDEM_MEMORY_BYTES;
    return tandem_bare(&board);
}
"""
