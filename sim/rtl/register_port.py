"""An AXI4-Lite master for the register port, in Python: the counterpart of `register_port.hpp`."""

from __future__ import annotations

from enum import Enum

from tandem.sim.engine import Channel
from tandem.sim.rtl.bus import Pins


class _Phase(Enum):
    """The progress of one channel of an access; RAISED: the master's VALID or READY is high."""

    DONE = 0
    WAITING = 1
    RAISED = 2


class RegisterPort:
    """An AXI4-Lite master: one access at a time, with independent channels."""

    def __init__(self) -> None:
        self.value = 0
        self.response = 0
        self._write = False
        self._offset = 0
        self._address = self._data = self._answer = _Phase.DONE

    @property
    def active(self) -> bool:
        """Whether an access is under way."""
        return not self._address is self._data is self._answer is _Phase.DONE

    def begin_write(self, offset: int, value: int) -> None:
        """Start to write a register."""
        self._write, self._offset, self.value = True, offset, value
        self._address = self._data = self._answer = _Phase.WAITING

    def begin_read(self, offset: int) -> None:
        """Start to read a register; afterwards `value` has its content."""
        self._write, self._offset = False, offset
        self._address = self._answer = _Phase.WAITING

    def drive(self, pins: Pins, held: int) -> None:
        """Set the inputs of this cycle. VALID stays high until the handshake (AXI4, A3.2.1)."""
        self._address = _begun(self._address, held & (Channel.AW if self._write else Channel.AR))
        self._data = _begun(self._data, held & Channel.W)
        self._answer = _begun(self._answer, held & (Channel.B if self._write else Channel.R))
        address, answer = self._address is _Phase.RAISED, self._answer is _Phase.RAISED
        pins.set("s_axi_awvalid", self._write and address)
        pins.set("s_axi_arvalid", not self._write and address)
        pins.set("s_axi_wvalid", self._data is _Phase.RAISED)
        pins.set("s_axi_bready", self._write and answer)
        pins.set("s_axi_rready", not self._write and answer)
        pins.set("s_axi_awaddr", self._offset)
        pins.set("s_axi_araddr", self._offset)
        pins.set("s_axi_wdata", self.value)
        pins.set("s_axi_wstrb", 0xF)

    def sample(self, pins: Pins) -> None:
        """Process the handshakes of this cycle."""
        if self._address is _Phase.RAISED:
            if pins.get("s_axi_awready" if self._write else "s_axi_arready"):
                self._address = _Phase.DONE
        if self._data is _Phase.RAISED and pins.get("s_axi_wready"):
            self._data = _Phase.DONE
        if self._answer is not _Phase.RAISED:
            return
        if self._write and pins.get("s_axi_bvalid"):
            self._answer = _Phase.DONE
            self.response = pins.get("s_axi_bresp")
        elif not self._write and pins.get("s_axi_rvalid"):
            self._answer = _Phase.DONE
            self.response = pins.get("s_axi_rresp")
            self.value = pins.get("s_axi_rdata")


def _begun(phase: _Phase, held: int) -> _Phase:
    return _Phase.RAISED if phase is _Phase.WAITING and not held else phase
