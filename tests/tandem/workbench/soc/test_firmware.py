"""The addresses that firmware knows of a system, and the sizes of its memories."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.runtime.artifact import Manifest
from tandem.runtime.artifact.manifest import Provenance
from tandem.workbench.export.header import Header
from tandem.workbench.soc.cores import SocProcessor
from tandem.workbench.soc.firmware import SocMap, _addresses, _linker_script, firmware_files
from tandem.workbench.soc.program import program_lines

SYSTEM = SocMap(
    {"rom": (0, 0x8000), "sram": (0x10000000, 0x2000), "tandem": (0xF0000000, 0x400)},
    {"ctrl_reset": 0xF0001000},
    {"timer0": 1, "tandem": 3},
)
PROCESSOR = SocProcessor("core", "full", ("m",), True, True, package="package", licence="MIT")


def lines(processor: SocProcessor) -> list[str]:
    return [*_addresses(processor, SYSTEM)]


def test_memories_of_other_sizes() -> None:
    whole = replace(SYSTEM, regions={**SYSTEM.regions, "main_ram": (0x40000000, 1)})
    found = whole.of_sizes(1, 2, 3)
    assert found.regions == {
        "rom": (0, 1),
        "sram": (0x10000000, 2),
        "tandem": (0xF0000000, 0x400),
        "main_ram": (0x40000000, 3),
    }
    assert (found.registers, found.interrupts) == (SYSTEM.registers, SYSTEM.interrupts)


def test_addresses() -> None:
    defined = [line.split()[1:] for line in lines(PROCESSOR) if line.startswith("#define")]
    assert defined == [
        ["SOC_H"],
        ["SOC_ROM", "0x0u"],
        ["SOC_ROM_BYTES", "0x8000u"],
        ["SOC_SRAM", "0x10000000u"],
        ["SOC_SRAM_BYTES", "0x2000u"],
        ["SOC_TANDEM", "0xf0000000u"],
        ["SOC_TANDEM_BYTES", "0x400u"],
        ["SOC_CTRL_RESET", "0xf0001000u"],
        ["SOC_TIMER0_INTERRUPT", "1"],
        ["SOC_TANDEM_INTERRUPT", "3"],
        ["SOC_INTERRUPTS"],
        ["SOC_DATA_CACHE"],
    ]


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"has_data_cache": False}, ["SOC_DATA_CACHE"]),
        (
            {"has_interrupts": False},
            ["SOC_TIMER0_INTERRUPT", "SOC_TANDEM_INTERRUPT", "SOC_INTERRUPTS"],
        ),
    ],
)
def test_what_a_processor_lacks(changes: dict[str, bool], missing: list[str]) -> None:
    own = lines(replace(PROCESSOR, **changes))  # type: ignore[arg-type]
    left = [line for line in lines(PROCESSOR) if line not in own]
    assert [line.split()[1] for line in left] == missing


def test_the_memories_of_the_linker() -> None:
    text = _linker_script(SYSTEM)
    assert "rom (rx) : ORIGIN = 0x0, LENGTH = 0x8000\n" in text
    assert "ram (rwx) : ORIGIN = 0x10000000, LENGTH = 0x2000\n" in text


def test_files() -> None:
    manifest = Manifest("net", Provenance("net"), (), (), (), (), 0)
    header = Header("net", manifest, (), (), 64, 64, 0, 0, (), "riscv32-unknown-elf", ())
    found = firmware_files(header, PROCESSOR, SYSTEM)
    assert [*found] == [
        *("start.S", "soc_board.h", "soc_board.c", "soc_memory.c"),
        *("soc.h", "firmware.ld", "firmware.c", "Makefile"),
    ]
    assert found["soc.h"] == "".join(f"{line}\n" for line in lines(PROCESSOR))
    assert found["firmware.ld"] == _linker_script(SYSTEM)
    assert found["firmware.c"].splitlines() == [*program_lines(header)]
    assert '#include "soc.h"' in found["soc_board.h"] + found["soc_board.c"]
    assert "_start:" in found["start.S"]
    made = found["Makefile"]
    assert "with core. Made by Tandem." in made
    assert f"gcc -march={PROCESSOR.architecture} -mabi=ilp32 " in made
    assert "$(NETWORK)/libnet.a:\n\t$(MAKE) -C $(NETWORK) " in made
