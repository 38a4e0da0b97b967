"""Fences, as Control and Bus make them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Signal

from tandem.hw.axi import ID_BITS
from tests.formal.harness import Harness, implies


class Fences:
    """Drives a master's `halt`, `fence` and `epoch`, and the restart after a fence.

    An epoch comes again after all others: that memory does not answer what was given up so long
    ago is assumed where answers are.

    Attributes
    ----------
    epoch
        As many fences as there were, in so many bits.
    restart
        The clients are reset in this cycle.
    fenced
        There was a fence, and no restart after it.
    """

    def __init__(self, harness: Harness, dut: Any) -> None:
        self.epoch = Signal(ID_BITS, name="epoch")
        self.restart = Signal(name="restart")
        self.fenced = Signal(name="fenced")
        harness.free(dut.halt, dut.fence, self.restart)
        harness.comb(dut.epoch.eq(self.epoch))
        harness.sync(
            self.epoch.eq(self.epoch + dut.fence),
            self.fenced.eq(dut.fence | (self.fenced & ~self.restart)),
        )
        harness.suppose(implies(dut.fence | self.fenced | self.restart, dut.halt))
        harness.suppose(~(dut.fence & self.restart))
