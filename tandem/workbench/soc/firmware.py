"""The firmware of a system on chip: what it has beside the exported network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Final

from tandem.workbench.export.header import Header
from tandem.workbench.soc.cores import SocProcessor
from tandem.workbench.soc.program import program_lines

FIRMWARE: Final = "firmware"
"""The name of the program, without suffix."""
NETWORK: Final = "network"
"""The name of the library, whatever the model is called: its files lie beside those of here."""
_COPIED: Final = ("start.S", "soc_board.h", "soc_board.c", "soc_memory.c")


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
        f"{FIRMWARE}.c": _lines(program_lines(header)),
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
# Weights and instructions are in the accelerator's memory when the system begins.
PLACED = -DTANDEM_PLACED=1
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
\t$(MAKE) -C $(NETWORK) CC="$(CC)" AR=$(AR) CFLAGS="$(CFLAGS)" CPPFLAGS=$(PLACED) lib{name}.a

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
