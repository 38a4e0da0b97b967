"""What the bench of an exported core knows without a simulator: registers by name, and memory."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tandem.workbench.ip.bench.tandem_bench import Memory, Registers


def test_registers_of_a_header(tmp_path: Path) -> None:
    header = tmp_path / "tandem_registers.h"
    header.write_text(
        "#define TANDEM_CONTROL 0x08u\n#define TANDEM_FAULT_BUS 3u\n"
        "#define TANDEM_FAULT_OPCODE  0x2u\n#define OTHER_CONTROL 0x10u\n#define TANDEM_NAME(x) x\n"
    )
    registers = Registers(header)
    assert registers["CONTROL"] == 8
    assert registers.name_of("FAULT_", 2) == "FAULT_OPCODE"
    assert registers.name_of("FAULT_", 8) == "8"
    with pytest.raises(KeyError):
        registers["NAME"]


def test_memory_to_its_first_and_last_byte() -> None:
    memory = Memory(SimpleNamespace(aclk=None), 0)
    page = bytes(range(256)) * 16
    memory.add(0x1000, page + b"x")  # two pages
    memory.add(0x4000, page)
    assert memory.get(0x1000, 16) == page[:16]
    assert memory.get(0x4FF0, 16) == page[-16:]
    assert memory.get(0x2000, 2) == b"x\0"
    memory.put(0x2FFC, b"last")
    assert memory.get(0x2FF8, 8) == b"\0\0\0\0last"
    for address, length in ((0xFFF, 2), (0x2FFD, 4), (0x3000, 1), (0x3FFF, 2), (0x4FFF, 2)):
        with pytest.raises(LookupError, match=rf"^no memory at {address:#x}$"):
            memory.get(address, length)
        with pytest.raises(LookupError):
            memory.put(address, bytes(length))
