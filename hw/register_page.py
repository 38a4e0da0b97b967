"""Writes the control registers as a page for programmers: `docs/registers.md`."""

from __future__ import annotations

from collections.abc import Iterator

from tandem.hw.faults import Fault
from tandem.hw.register_model import Access, Register, RegisterField
from tandem.hw.registers import ADDRESS_BITS, MAGIC, NO_INSTRUCTION, VERSION, register_map

_ACCESS = {
    Access.READ_ONLY: "read only; a write has no effect",
    Access.READ_WRITE: "read and write; a read returns what was written last",
    Access.WRITE_ONE: "each bit that is written as 1 acts, for one cycle",
}


def register_page() -> str:
    """All registers that a machine can have, and the values of `error_code`, in Markdown."""
    lines = [
        "# Registers",
        "",
        "Made from `hw/registers.py`; do not edit. `tandem rtl` writes the same for a machine as",
        "a C header (`tandem_registers.h`) and as SystemRDL (`tandem.rdl`).",
        "",
        f"The AXI4-Lite slave has addresses of {ADDRESS_BITS} bits and data of 32. Offsets are in",
        "bytes. A register of 64 bits is two words, the low one first, which are read and written",
        "one by one. An access to an offset without a register is answered with SLVERR. Byte",
        "strobes are honoured.",
        "",
        "| access | meaning |",
        "| --- | --- |",
        *(f"| {access.value} | {meaning} |" for access, meaning in _ACCESS.items()),
        "",
        f"`magic` is {MAGIC:#010x}, `version` {VERSION >> 16}.{VERSION & 0xFFFF}. An index of "
        f"{NO_INSTRUCTION:#010x} stands for no",
        "instruction. *Constant* is what a machine's configuration determines.",
        "",
        "| offset | register | bits | access | after reset | meaning |",
        "| --- | --- | --- | --- | --- | --- |",
        *(line for register in register_map() for line in _rows(register)),
        "",
        "## Values of `error_code`",
        "",
        "| value | name | meaning |",
        "| --- | --- | --- |",
        *(f"| {fault.value} | {fault.name} | {fault.meaning} |" for fault in Fault),
    ]
    return "\n".join(lines) + "\n"


def _rows(register: Register) -> Iterator[str]:
    needs = ", ".join(f"`{feature.value}`" for feature in register.needs)
    where = f"; of machines with {needs}" if needs else ""
    reset = _reset(register.fields[0]) if register.whole else ""
    yield (
        f"| {register.offset:#05x} | **{register.name}** | {register.bits} | "
        f"{register.access.value} | {reset} | {register.meaning}{where} |"
    )
    if not register.whole:
        for field in register.fields:
            high = field.lsb + field.width - 1
            bits = f"{field.lsb}" if field.width == 1 else f"{high}:{field.lsb}"
            yield f"| | {field.name} | {bits} | | {_reset(field)} | {field.meaning} |"


def _reset(field: RegisterField) -> str:
    if field.constant is not None:
        return "constant"
    return f"{field.reset:#x}" if field.reset > 9 else str(field.reset)
