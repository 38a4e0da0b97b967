"""The clock of a system, cycle by cycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("litex", reason="the extra soc")

from litex.gen.sim import run_simulation

from tandem.workbench.soc.parts.cycle_counter import CycleCounter


@pytest.mark.parametrize("megahertz", [1, 2, 3, 8, 25, 100])
def test_cycles_and_microseconds(megahertz: int) -> None:
    """A microsecond is whole cycles: at most so many as it has."""
    counter = CycleCounter(megahertz * 1_000_000 + 999_999)

    def watch() -> Iterator[Any]:
        for cycle in range(1, 4 * megahertz + 2):
            yield
            assert (yield counter.cycles.status) == cycle
            assert (yield counter.microseconds.status) == cycle // megahertz

    run_simulation(counter, [watch()])
