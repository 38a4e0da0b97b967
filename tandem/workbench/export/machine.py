"""What a library has for an accelerator: its streams, the C runtime, and the board."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Final

from tandem.hw.config import HardwareConfig
from tandem.hw.header import c_header
from tandem.workbench.export.header import Header

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
    found["board.c"] = board_source(header).encode()
    return found


def platform_of(header: Header) -> str:
    """The platform of the runtime that the processor's system has: Linux, or none."""
    return "tandem_uio" if "linux" in header.triple else "tandem_bare"


def machine_sources(header: Header) -> tuple[str, ...]:
    """The sources that a library has for an accelerator; none without one."""
    if not header.streams:
        return ()
    return ("tandem.c", *(f"{name}.c" for name in RUNTIME[1:] if name in _platforms(header)))


def _platforms(header: Header) -> tuple[str, ...]:
    """The platform, and what it is made of."""
    own = platform_of(header)
    return (own,) if own == "tandem_bare" else ("tandem_bare", own)


def launch_source(name: str, *, heap: bool) -> Iterator[str]:
    """The function that runs a stream whose inputs are in its memory; `heap` if the network has
    one, and results of its own."""
    yield "/* Runs a stream; a step that fails ends the run. */"
    yield "static int launch(struct state *s, int number)"
    yield "{"
    yield f"    struct {name} *network = s->network;"
    yield "    const struct tandem_stream *stream = &network->streams[number];"
    yield ""
    result = "network->result" if heap else "s->result"
    yield f"    {result} = tandem_run(network->machine, stream, network->limit);"
    if heap:
        yield f"    if ({result} != TANDEM_RESULT_OK) s->result = {name.upper()}_MACHINE;"
    yield f"    if ({result} != TANDEM_RESULT_OK) return -1;"
    yield "    network->cycles += tandem_cycles(network->machine);"
    yield "    return 0;"
    yield "}"
    yield ""


def open_source(header: Header) -> Iterator[str]:
    """The function that loads the streams."""
    name = header.name
    yield f"enum tandem_result {name}_open(struct {name} *network, struct tandem *machine)"
    yield "{"
    yield "    enum tandem_result result;"
    yield ""
    yield "    network->machine = machine;"
    yield "    network->limit = 0;"
    yield "    network->cycles = 0;"
    for number, (spelled, stream) in enumerate(
        zip(header.stream_names, header.streams, strict=True)
    ):
        loaded = f"{spelled}, {len(stream.content)}, &network->streams[{number}]"
        yield f"    result = tandem_load(machine, {loaded});"
        yield "    if (result != TANDEM_RESULT_OK) return result;"
    yield "    return TANDEM_RESULT_OK;"
    yield "}"
    yield ""


def opened_source(name: str) -> Iterator[str]:
    """Statements of a program that find the machine and load the network."""
    yield "    const struct tandem_platform *platform = board_platform();"
    yield "    static struct tandem machine;"
    yield f"    static struct {name} network;"
    yield "    enum tandem_result result;"
    yield ""
    yield "    if (platform == NULL) {"
    yield '        perror("board");'
    yield "        return 1;"
    yield "    }"
    yield "    result = tandem_open(&machine, platform);"
    yield f"    if (result == TANDEM_RESULT_OK) result = {name}_open(&network, &machine);"
    yield "    if (result != TANDEM_RESULT_OK) return failed(&machine, result);"


def failed_source() -> Iterator[str]:
    """The function of a program that says how a run failed."""
    yield "const struct tandem_platform *board_platform(void); /* in board.c */"
    yield ""
    yield "static int failed(const struct tandem *machine, enum tandem_result result)"
    yield "{"
    yield "    const struct tandem_fault *fault = tandem_fault(machine);"
    yield ""
    yield '    printf("%s (fault %lu, instruction %ld)\\n", tandem_text(result),'
    yield "        (unsigned long)fault->code, (long)(int32_t)fault->instruction);"
    yield "    return 1;"
    yield "}"
    yield ""


def board_source(header: Header) -> str:
    """The board: where registers and memory are, to be completed by whoever has one."""
    return _LINUX if platform_of(header) == "tandem_uio" else _BARE


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
_BARE = """/* Where the accelerator is, in addresses of the processor. A board with a data cache
 * also has functions that flush and invalidate it; one with a clock has its time. */
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
