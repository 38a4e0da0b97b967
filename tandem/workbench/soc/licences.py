"""The licences of a system on chip's parts, as a page."""

from __future__ import annotations

from tandem.workbench.soc.cores import SocProcessor


def licences(processor: SocProcessor) -> str:
    """The page, in Markdown."""
    rows = (
        ("accelerator/", "the accelerator", "Tandem", "Apache-2.0"),
        (
            "network/, firmware/",
            "the runtime, the platform, what calls the network",
            "Tandem",
            "Apache-2.0",
        ),
        (
            "network/*_weights.bin, *_stream_*.bin, check.bin",
            "the network",
            "yours",
            "the model's own",
        ),
        (
            "gateware/soc.v",
            "interconnect, ROM, RAM, console",
            "made by LiteX and Migen; the memory and the wiring are Tandem's",
            "BSD-2-Clause; Apache-2.0",
        ),
        (
            f"gateware/ (the processor {processor.name})",
            "the processor",
            processor.package,
            processor.licence,
        ),
        (
            "linked into firmware.elf",
            "`memcpy`, `memcmp` and functions of C's mathematics",
            "picolibc",
            "BSD-3-Clause and others alike, see its COPYING",
        ),
        (
            "linked into firmware.elf",
            "arithmetic that the processor has no instructions for",
            "libgcc",
            "GPL-3.0 with the GCC Runtime Library Exception",
        ),
        (
            "simulation/soc_simulator",
            "what Verilator adds to a simulator",
            "Verilator",
            "LGPL-3.0-only or Artistic-2.0",
        ),
    )
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return (
        "# Licences\n\nOf what is in this folder, and of what its programs are linked with. Made "
        "by Tandem, from what the\npackages say of themselves; no lawyer has read it.\n\n"
        f"| where | what | from | licence |\n| --- | --- | --- | --- |\n{table}"
    )
