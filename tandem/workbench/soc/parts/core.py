"""The accelerator as a module of LiteX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import axi
from migen import ClockSignal, Instance, ResetSignal, Signal

from tandem.hw.axi import ID_BITS
from tandem.hw.config_files import load_config
from tandem.hw.registers import ADDRESS_BITS
from tandem.workbench.ip.names import CONFIG_FILE, FILE_LIST

REGISTERS_BYTES = 1 << 12
"""What the registers take of a system's addresses."""
_MASTER = {
    "ar": ("addr", "len", "size", "burst", "cache", "prot", "id"),
    "aw": ("addr", "len", "size", "burst", "cache", "prot", "id"),
    "w": ("data", "strb", "last"),
    "r": ("data", "resp", "last", "id"),
    "b": ("resp", "id"),
}
_SLAVE = {
    "ar": ("addr", "prot"),
    "aw": ("addr", "prot"),
    "w": ("data", "strb"),
    "r": ("data", "resp"),
    "b": ("resp",),
}
_FROM_SLAVE = ("r", "b")
"""The channels that the slave of a bus drives."""


class _Interrupt(LiteXModule):
    """What LiteX connects to the processor, without an event manager: the accelerator has registers
    of its own that enable and clear causes."""

    def __init__(self) -> None:
        self.irq = Signal()


class TandemCore(LiteXModule):
    """An accelerator that `tandem rtl` generated.

    Attributes
    ----------
    axi
        Its AXI4 master, for memory: `bus_bits` wide, byte addresses of 32 bits.
    registers
        Its AXI4-Lite slave.
    interrupt
        High while an enabled cause is pending.
    config
        Its configuration.
    """

    def __init__(self, platform: Any, folder: str | Path, clock_domain: str = "sys") -> None:
        """The accelerator in a folder that `tandem rtl -o` wrote.

        Raises
        ------
        OSError, ConfigError
            The folder is none of these.
        """
        folder = Path(folder).resolve()
        self.config = config = load_config(str(folder / CONFIG_FILE))
        self.axi = axi.AXIInterface(
            data_width=config.bus_bits,
            address_width=32,
            id_width=ID_BITS,
            clock_domain=clock_domain,
            bursting=True,
        )
        self.registers = axi.AXILiteInterface(
            data_width=32, address_width=32, clock_domain=clock_domain
        )
        self.ev = _Interrupt()
        self.interrupt = self.ev.irq
        ports = {
            "i_aclk": ClockSignal(clock_domain),
            "i_aresetn": ~ResetSignal(clock_domain),
            "o_irq": self.interrupt,
        }
        for bus, prefix, channels, master in (
            (self.axi, "m_axi", _MASTER, True),
            (self.registers, "s_axi", _SLAVE, False),
        ):
            for name, fields in channels.items():
                channel = getattr(bus, name)
                # What a master drives on the master, and a slave on the slave.
                drives = (name not in _FROM_SLAVE) is master
                ports[f"{'o' if drives else 'i'}_{prefix}_{name}valid"] = channel.valid
                ports[f"{'i' if drives else 'o'}_{prefix}_{name}ready"] = channel.ready
                for field in fields:
                    signal = getattr(channel, field)
                    if field == "addr":
                        signal = self._address(signal, drives=drives)
                    ports[f"{'o' if drives else 'i'}_{prefix}_{name}{field}"] = signal
        self.specials += Instance("tandem", **ports)
        for name in (folder / FILE_LIST).read_text("utf-8").split():
            platform.add_source(str(folder / name))

    def _address(self, bus: Any, *, drives: bool) -> Any:
        """The accelerator's side of an address of 32 bits."""
        if not drives:
            return bus[:ADDRESS_BITS]
        address = Signal(self.config.address_bits)
        self.comb += bus.eq(address)
        return address


def add_tandem(
    soc: Any, folder: str | Path, *, name: str = "tandem", origin: int, memory: Any = None
) -> TandemCore:
    """Put an accelerator on a LiteX system's bus.

    Its registers get `origin`, which lies where the processor has no cache; its interrupt goes to
    the processor, if that has any; and it reads and writes the system's memory.

    Parameters
    ----------
    folder
        What `tandem rtl -o` wrote.
    memory
        What its AXI4 master is connected to, for example a port of LiteDRAM; None for the
        system's own bus, which is slower: its transfers are one word each.
    """
    core = TandemCore(soc.platform, folder)
    soc.add_module(name=name, module=core)
    soc.bus.add_slave(
        name, core.registers, SoCRegion(origin=origin, size=REGISTERS_BYTES, cached=False)
    )
    if soc.irq.enabled:
        soc.irq.add(name, use_loc_if_exists=True)
    if memory is None:
        soc.bus.add_master(f"{name}_memory", core.axi)
    else:
        soc.comb += core.axi.connect(memory)
    return core
