"""Codes of faults, and what sees them."""

from __future__ import annotations

from tandem.hw.faults import Fault, FaultSource
from tandem.hw.topology import TokenQueue


def test_codes_are_in_three_groups() -> None:
    """As the register's page has them: programs of others know the numbers."""
    codes = [int(each) for each in Fault]
    assert codes == [*range(13), *range(16, 21), *range(24, 28)]
    assert (Fault(9), Fault(20), Fault(27)) == (Fault.SHIFT, Fault.BUS_TIMEOUT, Fault.DEADLOCK)
    assert all(each.meaning for each in Fault)
    assert Fault.NO_ROWS.meaning == "y_size 0 with x_size above 0"


def test_counters_of_queues() -> None:
    found = [FaultSource.of_queue(queue) for queue in TokenQueue]
    assert [int(each) for each in found] == [4, 5, 6, 7]
    assert max(FaultSource) is FaultSource.DISPATCH
