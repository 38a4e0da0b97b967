"""A clock that any processor can read: cycles and microseconds."""

from __future__ import annotations

from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRStatus
from migen import If, Signal


class CycleCounter(LiteXModule):
    """Two registers of 32 bits that only grow: `cycles` and `microseconds`."""

    def __init__(self, frequency: int) -> None:
        """A clock of a system with so many cycles a second, a million or more."""
        self.cycles = CSRStatus(32)
        self.microseconds = CSRStatus(32)
        period = frequency // 1_000_000
        passed = Signal(max=max(period, 2))
        self.sync += [
            self.cycles.status.eq(self.cycles.status + 1),
            passed.eq(passed + 1),
            If(
                passed == period - 1,
                passed.eq(0),
                self.microseconds.status.eq(self.microseconds.status + 1),
            ),
        ]
