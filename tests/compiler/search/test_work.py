"""What programs of networks do, summed by hand, and what comes of machines."""

from __future__ import annotations

from tandem.compiler.search.work import LayerWork, StreamWork, Times

WORK = StreamWork("d", (LayerWork("a", 1, 20, 300, 4000, 50000), LayerWork("b", 6, 70, 800, 9, 1)))


def test_sums_over_layers() -> None:
    assert (WORK.macs, WORK.gemm_uops, WORK.alu_uops) == (7, 90, 1100)
    assert WORK.dram_bytes == 54010
    assert StreamWork("d", ()).dram_bytes == 0


def test_what_came_of_machines() -> None:
    times = Times((WORK,), ((5,), (), (7,)), ("", "too small", ""))
    assert [times.of(machine) for machine in range(3)] == [
        ((5,), ""),
        ((), "too small"),
        ((7,), ""),
    ]
    refused = Times.refused("no  choice\n fits")
    assert refused == Times((), (), ("no choice fits",))
    assert [refused.of(machine) for machine in (0, 3)] == [((), "no choice fits")] * 2
