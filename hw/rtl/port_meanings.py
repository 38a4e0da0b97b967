"""What the ports of the accelerator are, for the comments of the generated Verilog."""

from __future__ import annotations

import re

from tandem.hw.events import EVENT_BITS

_PORT = re.compile(r"(?P<bus>[ms]_axi)_(?P<channel>ar|aw|r|w|b)(?P<signal>[a-z]+)\Z")
_BUSES = {"m_axi": "AXI4 master", "s_axi": "AXI4-Lite slave"}
_CHANNELS = {
    "ar": "read address",
    "aw": "write address",
    "r": "read data",
    "w": "write data",
    "b": "write response",
}
_OTHERS = {
    "aclk": "clock: every register changes at its rising edge",
    "aresetn": "reset, active low, in step with the clock",
    "irq": "interrupt: high while an enabled cause is pending",
    "events": f"{EVENT_BITS} events of the previous cycle, for simulators and logic analysers",
}
_SIGNALS = {
    "valid": "the channel has something to take",
    "ready": "it is taken at the edge if valid",
    "id": "number of the transfer, which answers repeat",
    "addr": "byte address",
    "len": "beats of the burst, less one",
    "size": "bytes of a beat, as a power of two",
    "burst": "always 1: addresses rise",
    "cache": "kind of memory, as configured",
    "prot": "protection, as configured or ignored",
    "data": "the data",
    "strb": "a bit for each byte that is written",
    "resp": "response: an error if bit 1 is set",
    "last": "last beat of the burst",
}


def meaning(port: str) -> str:
    """What a port of the top module is; nothing for one that has no meaning here."""
    if port in _OTHERS:
        return _OTHERS[port]
    found = _PORT.match(port)
    return _SIGNALS[found["signal"]] if found else ""


def group(port: str) -> str:
    """The bus and channel that a port belongs to, or nothing."""
    found = _PORT.match(port)
    return f"{_BUSES[found['bus']]}, {_CHANNELS[found['channel']]} channel" if found else ""
