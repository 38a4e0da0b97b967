"""What layers move at least, by classes of schedules, for three layers by hand."""

from __future__ import annotations

from tandem.hw.topology import MemoryId
from tandem.workbench.network_bound.needs import LayerNeeds, StreamNeeds, TensorRead
from tandem.workbench.network_bound.on_chip import OnChipBytes
from tandem.workbench.network_bound.traffic import (
    BetweenLayers,
    EarlyRead,
    LayerTraffic,
    Schedules,
    between_layers,
    traffic,
)

INP, WGT, PAR = MemoryId.INP, MemoryId.WGT, MemoryId.PAR


def chip(everything: int) -> OnChipBytes:
    return OnChipBytes({WGT: 1, INP: 1, PAR: 1}, 1, 1, everything)


# The input x is read twice, in the second layer with more rows of `a` than the third reads.
STREAM = StreamNeeds(
    (
        LayerNeeds("one", "a", 10, 1, 100, 8, (TensorRead("x", 40),), 30),
        LayerNeeds("two", "b", 20, 2, 200, 0, (TensorRead("a", 30), TensorRead("x", 35)), 50),
        LayerNeeds("three", "c", 0, 3, 0, 16, (TensorRead("b", 50, WGT), TensorRead("a", 12)), 60),
    ),
    frozenset({"x"}),
    frozenset({"c"}),
)


def test_between_layers() -> None:
    # 40 bytes of x are fresh once; a and b are kept, c is the host's.
    assert between_layers(STREAM, chip(28)) == (
        BetweenLayers(fresh=40, again=0, spilled=0, output=0, kept=30, evicted=2),
        BetweenLayers(fresh=0, again=65, spilled=37, output=0, kept=50, evicted=22),
        BetweenLayers(fresh=0, again=62, spilled=34, output=60, kept=0, evicted=0),
    )
    # All of it fits.
    for found in between_layers(STREAM, chip(65)):
        assert (found.spilled, found.evicted) == (0, 0)
    assert [each.spilled for each in between_layers(STREAM, chip(64))] == [0, 1, 0]


def test_a_result_that_no_layer_reads_is_not_evicted() -> None:
    alone = StreamNeeds(STREAM.layers[:1], frozenset({"x"}), frozenset())
    assert between_layers(alone, chip(0)) == (BetweenLayers(40, 0, 0, 0, 30, 0),)
    # A result of the host is stored once, and not evicted.
    read = StreamNeeds(STREAM.layers[:2], frozenset({"x"}), frozenset({"a"}))
    assert between_layers(read, chip(0))[0] == BetweenLayers(40, 0, 0, 30, 0, 0)


def test_through_dram() -> None:
    assert traffic(STREAM, chip(28), Schedules.THROUGH_DRAM) == (
        LayerTraffic(
            11, (EarlyRead(0, 100, WGT), EarlyRead(0, 8, PAR), EarlyRead(0, 40, INP)), 0, 30
        ),
        LayerTraffic(
            22,
            (
                *(EarlyRead(0, 200, WGT), EarlyRead(0, 0, PAR)),
                *(EarlyRead(1, 30, INP), EarlyRead(0, 35, INP)),
            ),
            0,
            50,
        ),
        LayerTraffic(
            3,
            (
                *(EarlyRead(0, 0, WGT), EarlyRead(0, 16, PAR)),
                *(EarlyRead(2, 50, WGT), EarlyRead(1, 12, INP)),
            ),
            0,
            60,
        ),
    )


def test_kept_on_chip_where_it_fits() -> None:
    assert traffic(STREAM, chip(28), Schedules.KEPT) == (
        LayerTraffic(11, (EarlyRead(0, 100 + 8 + 40, INP),), 0, 2),
        LayerTraffic(22, (EarlyRead(0, 200, INP),), 37, 22),
        LayerTraffic(3, (EarlyRead(0, 16, INP),), 34, 60),
    )


def test_of_any_order_all_are_one() -> None:
    assert traffic(STREAM, chip(28), Schedules.ANY) == (
        LayerTraffic(
            11 + 22 + 3,
            (EarlyRead(0, 148, INP), EarlyRead(0, 200, INP), EarlyRead(0, 16, INP)),
            0,
            60,
        ),
    )
