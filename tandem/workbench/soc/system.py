"""The Verilog of a system on chip, by LiteX: a program of its own.

LiteX keeps state in modules, prints what it does, and closes standard error before it raises: so
`tandem.workbench.soc.sources` runs this in a process.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
from litex.build.io import CRG
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore

from tandem.hw.axi import ID_BITS
from tandem.workbench.soc.description import SocDescription
from tandem.workbench.soc.parts.core import add_tandem
from tandem.workbench.soc.parts.cycle_counter import CycleCounter
from tandem.workbench.soc.parts.shared_memory import SharedMemory

_SIMULATED_PORTS = [
    ("sys_clk", 0, Pins(1)),
    (
        *("serial", 0, Subsignal("source_valid", Pins(1)), Subsignal("source_ready", Pins(1))),
        *(Subsignal("source_data", Pins(8)), Subsignal("sink_valid", Pins(1))),
        *(Subsignal("sink_ready", Pins(1)), Subsignal("sink_data", Pins(8))),
    ),
]
"""Clock and console: bytes, as LiteX's simulated UART has them."""
_PORTS = [
    ("sys_clk", 0, Pins(1)),
    ("serial", 0, Subsignal("tx", Pins(1)), Subsignal("rx", Pins(1))),
]
"""Clock and console, a serial line."""
_MEMORY, _REGISTERS = 0x4000_0000, 0x9000_0000


class TandemSoC(SoCCore):
    """A processor, an accelerator, and a memory that they share."""

    def __init__(self, platform: Any, description: SocDescription) -> None:
        super().__init__(
            platform,
            clk_freq=description.frequency,
            cpu_type=description.processor,
            cpu_variant=description.variant,
            integrated_rom_size=description.rom_bytes,
            # The firmware's image comes in place of this file, so that the hardware stays the same.
            integrated_rom_init=[0],
            integrated_sram_size=description.ram_bytes,
            # Caches are filled by bursts.
            bus_bursting=True,
            uart_name="sim" if description.is_simulated else "serial",
            with_timer=False,
        )
        self.crg = CRG(platform.request("sys_clk"))
        self.clock = CycleCounter(description.frequency)
        memory = SharedMemory(
            *(_MEMORY, description.memory_bytes, description.bus_bits, ID_BITS),
            *(description.latency, description.in_flight),
        )
        self.memory = memory
        region = SoCRegion(origin=_MEMORY, size=description.memory_bytes, mode="rwx", cached=True)
        self.bus.add_slave("main_ram", memory.bus, region)
        add_tandem(self, description.accelerator, origin=_REGISTERS, memory=memory.axi)


def generate(description: SocDescription, folder: Path) -> None:
    """Write `soc.v`, the files of its memories, and `system.json`: addresses and sources."""
    ports = _SIMULATED_PORTS if description.is_simulated else _PORTS
    platform = GenericPlatform("", ports, name="soc")
    soc = TandemSoC(platform, description)
    soc.finalize()
    verilog = platform.get_verilog(soc, name="soc")
    # The first and last lines have the date, and so would differ each time.
    text = verilog.main_source
    text = text[text.index("`timescale") : text.rindex("endmodule")]
    # No access relies on what a read gives of a beat that is written in the same cycle, and block
    # RAM promises nothing there.
    memory = verilog.ns.get_name(*soc.memory.arrays)
    array = f"reg [{description.bus_bits - 1}:0] {memory}[0:"
    assert text.count(array) == 1, array
    text = text.replace(array, f"(* no_rw_check *) {array}")
    (folder / "soc.v").write_text(f"{text}endmodule\n", encoding="utf-8")
    for name, content in verilog.data_files.items():
        (folder / name).write_text(content, encoding="utf-8")
    found = {
        "regions": {name: [region.origin, region.size] for name, region in soc.bus.regions.items()},
        "registers": {
            f"{name}_{register.name}": region.origin + 4 * number
            for name, region in soc.csr.regions.items()
            if isinstance(region.obj, list)
            for number, register in enumerate(region.obj)
        },
        "interrupts": dict(soc.irq.locs) if soc.irq.enabled else {},
        "sources": [source for source, *_ in platform.sources],
        "memory": memory,
    }
    (folder / "system.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    generate(SocDescription.read(Path(sys.argv[1])), Path(sys.argv[2]))
