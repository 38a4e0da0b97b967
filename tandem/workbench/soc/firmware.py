"""The firmware of a system on chip: what it has beside the exported network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Final

from tandem.workbench.export.header import Header, Port
from tandem.workbench.export.names import c_type
from tandem.workbench.soc.cores import SocProcessor

FIRMWARE: Final = "firmware"
"""The name of the program, without suffix."""
NETWORK: Final = "network"
"""The name of the library, whatever the model is called: its files lie beside those of here."""
_COPIED: Final = ("start.S", "soc_board.h", "soc_board.c", "soc_memory.c")
_ALIGNMENT: Final = 64
"""Of tensors in the file of the check."""


@dataclass(frozen=True, slots=True)
class SocMap:
    """The addresses of a system on chip.

    Attributes
    ----------
    regions
        Address and size by name: `rom`, `sram`, `main_ram`, `tandem`.
    registers
        Addresses of LiteX's registers.
    interrupts
        Numbers of interrupts, by what raises them; empty of a processor without.
    """

    regions: Mapping[str, tuple[int, int]]
    registers: Mapping[str, int]
    interrupts: Mapping[str, int]

    def of_sizes(self, rom: int, sram: int, main_ram: int) -> SocMap:
        """The same addresses, of a system whose memories have other sizes, in bytes."""
        sizes = {"rom": rom, "sram": sram, "main_ram": main_ram}
        regions = {
            name: (origin, sizes.get(name, size)) for name, (origin, size) in self.regions.items()
        }
        return replace(self, regions=regions)


def firmware_files(header: Header, processor: SocProcessor, system: SocMap) -> dict[str, str]:
    """The files by name, for a folder beside the library, which is called `network`."""
    folder = files("tandem.workbench.soc").joinpath("files")
    return {
        **{name: folder.joinpath(name).read_text("utf-8") for name in _COPIED},
        "soc.h": _lines(_addresses(processor, system)),
        f"{FIRMWARE}.ld": _linker_script(system),
        f"{FIRMWARE}.c": _lines(_main(header)),
        "Makefile": _makefile(header, processor),
    }


def _lines(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _addresses(processor: SocProcessor, system: SocMap) -> Iterator[str]:
    yield "/* The addresses of the system on chip. Made by Tandem. */"
    yield "#ifndef SOC_H"
    yield "#define SOC_H"
    yield ""
    for name, (origin, size) in system.regions.items():
        yield f"#define SOC_{name.upper()} {origin:#x}u"
        yield f"#define SOC_{name.upper()}_BYTES {size:#x}u"
    for name, address in system.registers.items():
        yield f"#define SOC_{name.upper()} {address:#x}u"
    if processor.has_interrupts:
        for name, number in system.interrupts.items():
            yield f"#define SOC_{name.upper()}_INTERRUPT {number}"
        yield "#define SOC_INTERRUPTS"
    if processor.has_data_cache:
        yield "#define SOC_DATA_CACHE"
    yield ""
    yield "#endif /* SOC_H */"


def _linker_script(system: SocMap) -> str:
    rom, ram = system.regions["rom"], system.regions["sram"]
    return f"""/* Made by Tandem. Code and constants are in ROM, variables in RAM; the accelerator's
 * memory belongs to the runtime. */
MEMORY {{
    rom (rx) : ORIGIN = {rom[0]:#x}, LENGTH = {rom[1]:#x}
    ram (rwx) : ORIGIN = {ram[0]:#x}, LENGTH = {ram[1]:#x}
}}
ENTRY(_start)
SECTIONS {{
    .text : {{
        *(.text.start)
        *(.text .text.*)
        *(.rodata .rodata.* .srodata .srodata.*)
        . = ALIGN(4);
    }} > rom
    .data : {{
        data_begin = .;
        *(.data .data.* .sdata .sdata.*)
        . = ALIGN(4);
        data_end = .;
    }} > ram AT > rom
    data_image = LOADADDR(.data);
    .bss (NOLOAD) : {{
        zero_begin = .;
        *(.bss .bss.* .sbss .sbss.* COMMON)
        . = ALIGN(4);
        zero_end = .;
    }} > ram
    stack_end = ORIGIN(ram) + LENGTH(ram);
    /DISCARD/ : {{ *(.comment .note .note.* .eh_frame .riscv.attributes .tbss .tdata) }}
}}
"""


def _makefile(header: Header, processor: SocProcessor) -> str:
    name = header.name
    return f"""# The firmware of a system on chip with {processor.name}. Made by Tandem.
# make            {FIRMWARE}.elf, and the contents of the ROM
# make POLL=1     without the interrupt
CC = riscv64-unknown-elf-gcc -march={processor.architecture} -mabi=ilp32 --specs=picolibc.specs
AR = riscv64-unknown-elf-ar
OBJCOPY = riscv64-unknown-elf-objcopy
CFLAGS = -std=c99 -O2 -Wall -Wextra -Werror
# Streams are in the ROM that the program is in: no sum of them says more than that it runs.
LIBRARY_FLAGS = $(CFLAGS) -DTANDEM_CHECKSUM=0
DEFINES = $(if $(POLL),-DSOC_POLL)
NETWORK = ../network
OBJECTS = start.o soc_board.o soc_memory.o {FIRMWARE}.o check.o

{FIRMWARE}.init: {FIRMWARE}.bin
\tod -An -v -tx4 -w4 $< | tr -d ' ' > $@

{FIRMWARE}.bin: {FIRMWARE}.elf
\t$(OBJCOPY) -O binary $< $@

{FIRMWARE}.elf: $(OBJECTS) $(NETWORK)/lib{name}.a {FIRMWARE}.ld
\t$(CC) -nostartfiles -T {FIRMWARE}.ld -o $@ $(OBJECTS) $(NETWORK)/lib{name}.a -lm

$(NETWORK)/lib{name}.a:
\t$(MAKE) -C $(NETWORK) CC="$(CC)" AR=$(AR) CFLAGS="$(LIBRARY_FLAGS)" lib{name}.a

check.o: $(NETWORK)/check.S $(NETWORK)/check.bin
\t$(CC) -I$(NETWORK) -c -o $@ $<

%.o: %.c soc.h soc_board.h
\t$(CC) $(CFLAGS) $(DEFINES) -I$(NETWORK) -c -o $@ $<

# A loop that copies is not to become a call of what it is.
soc_memory.o: CFLAGS += -fno-tree-loop-distribute-patterns

%.o: %.S soc.h
\t$(CC) -include soc.h -c -o $@ $<

.PHONY: clean
clean:
\trm -f $(OBJECTS) {FIRMWARE}.elf {FIRMWARE}.bin {FIRMWARE}.init
"""


def padded_bytes(port: Port) -> int:
    """What a tensor takes in the file of the check, inputs before outputs."""
    return -(-port.tensor.bytes // _ALIGNMENT) * _ALIGNMENT


def _count(port: Port) -> int:
    count = 1
    for extent in port.tensor.shape:
        count *= extent
    return count


def _main(header: Header) -> Iterator[str]:
    name, upper = header.name, header.name.upper()
    yield f"/* Runs {name} on zeros, and on the input of the check with a profile of its steps and"
    yield " * without. Says how many cycles the runs took, and how many elements of the outputs of"
    yield " * the second are as expected."
    yield " * Made by Tandem. */"
    yield '#include "soc_board.h"'
    yield f'#include "{name}.h"'
    yield ""
    yield "int memcmp(const void *a, const void *b, size_t bytes);"
    yield "void *memcpy(void *target, const void *source, size_t bytes);"
    yield ""
    yield "extern const unsigned char check_bytes[];"
    yield ""
    align = f"__attribute__((aligned({upper}_ALIGNMENT)))"
    yield f"static unsigned char arena[{upper}_ARENA_BYTES + 1] {align};"
    yield f"static unsigned char workspace[{upper}_WORKSPACE_BYTES + 1] {align};"
    for port in header.inputs:
        yield f"static {c_type(port.tensor.dtype)} zeros_{port.spelled}[{_count(port)}];"
    for port in header.outputs:
        yield f"static {c_type(port.tensor.dtype)} output_{port.spelled}[{_count(port)}];"
    yield "static struct tandem machine;"
    yield f"static struct {name} network;"
    yield f"static struct {name}_profile profile;"
    yield ""
    yield "static void line(const char *what, uint32_t number)"
    yield "{"
    yield "    soc_text(what);"
    yield '    soc_text(" ");'
    yield "    soc_number(number);"
    yield '    soc_text("\\n");'
    yield "}"
    yield ""
    yield "static void check(enum tandem_result result)"
    yield "{"
    yield "    if (result == TANDEM_RESULT_OK) return;"
    yield '    soc_text("failed: ");'
    yield "    soc_text(tandem_text(result));"
    yield '    soc_text("\\n");'
    yield '    line("fault", tandem_fault(&machine)->code);'
    yield "    soc_end(1);"
    yield "}"
    yield ""
    yield "static uint32_t equal(const void *found, const unsigned char *wanted, uint32_t count,"
    yield "    uint32_t bytes)"
    yield "{"
    yield "    const unsigned char *at = found;"
    yield "    uint32_t i, same = 0;"
    yield ""
    yield "    for (i = 0; i < count; i++)"
    yield "        same += memcmp(at + i * bytes, wanted + i * bytes, bytes) == 0;"
    yield "    return same;"
    yield "}"
    yield ""
    if any(port.tensor.dtype == "float32" for port in header.outputs):
        yield "static void words(const float *at, uint32_t count)"
        yield "{"
        yield "    uint32_t i, bits;"
        yield ""
        yield "    for (i = 0; i < count; i++) {"
        yield "        (void)memcpy(&bits, at + i, sizeof bits);"
        yield '        line("word", bits);'
        yield "    }"
        yield "}"
        yield ""
    yield "int main(void)"
    yield "{"
    yield f"    struct {name}_inputs zeros = {{0}}, inputs = {{0}};"
    yield f"    struct {name}_outputs outputs = {{0}};"
    yield "    uint32_t begin, wrong = 0;"
    yield "    int i;"
    yield ""
    at = 0
    for port in header.inputs:
        kind = c_type(port.tensor.dtype)
        yield f"    zeros.{port.spelled} = zeros_{port.spelled};"
        yield f"    inputs.{port.spelled} = (const {kind} *)(const void *)(check_bytes + {at});"
        at += padded_bytes(port)
    for port in header.outputs:
        yield f"    outputs.{port.spelled} = output_{port.spelled};"
    yield "    begin = (uint32_t)soc_cycles();"
    yield "    check(tandem_open(&machine, board_platform()));"
    yield f"    check({name}_open(&network, &machine));"
    yield '    line("load", (uint32_t)soc_cycles() - begin);'
    yield "    profile.now = soc_cycles;"
    for line in (
        *_run(name, "zeros", "NULL", "first"),
        *_run(name, "inputs", "&profile", "run"),
        *_told(header, at),
        *_run(name, "inputs", "NULL", "alone"),
    ):
        yield f"    {line}"
    yield "    soc_end(wrong != 0);"
    yield "    return 0;"
    yield "}"


def _run(name: str, given: str, noted: str, said: str) -> Iterator[str]:
    """Statements that run the network, and say how many cycles it took."""
    yield "begin = (uint32_t)soc_cycles();"
    yield f"check({name}_run(&network, &{given}, &outputs, arena, workspace, {noted}));"
    yield f'line("{said}", (uint32_t)soc_cycles() - begin);'


def _told(header: Header, at: int) -> Iterator[str]:
    """Statements that tell of a run with a profile, and compare its outputs with those that lie
    `at` an offset of the check and behind."""
    yield 'line("machine", (uint32_t)network.cycles);'
    yield f"for (i = 0; i < {header.name.upper()}_STEPS; i++)"
    yield '    line("step", (uint32_t)profile.time[i]);'
    for port in header.outputs:
        output, count = f"output_{port.spelled}", _count(port)
        yield f"begin = equal({output}, check_bytes + {at}, {count}, sizeof {output}[0]);"
        yield 'line("equal", begin);'
        yield f"wrong += begin != {count};"
        if port.tensor.dtype == "float32":
            # How far apart they are says whoever has the expected ones.
            yield f"if (begin != {count}) words({output}, {count});"
        at += padded_bytes(port)
