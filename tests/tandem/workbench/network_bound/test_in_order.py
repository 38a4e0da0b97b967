"""The least cycles of layers in order, against a schedule that loads ahead as far as it can."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.hw.topology import MemoryId
from tandem.workbench.network_bound.in_order import Held, least_cycles
from tandem.workbench.network_bound.traffic import EarlyRead, LayerTraffic

CONFIG = HardwareConfig()
BEAT = CONFIG.bus_bytes
MEMORY = MemoryModel(latency=5, interval=2)
NOTHING = Held({MemoryId.WGT: 0, MemoryId.INP: 0}, 0, 0)


def layer(
    compute: int,
    weights: int = 0,
    data: int = 0,
    since: int = 0,
    late: int = 0,
    written: int = 0,
) -> LayerTraffic:
    """A layer that reads so many beats of weights, data and late, and writes so many."""
    early = (
        EarlyRead(0, weights * BEAT, MemoryId.WGT),
        EarlyRead(since, data * BEAT, MemoryId.INP),
    )
    return LayerTraffic(compute, early, late * BEAT, written * BEAT)


@st.composite
def networks(draw: st.DrawFn) -> list[LayerTraffic]:
    few = st.integers(0, 40)
    count = draw(st.integers(1, 6))
    return [
        layer(draw(few), draw(few), draw(few), draw(st.integers(0, at)), draw(few))
        for at in range(count)
    ]


def loading_ahead(layers: list[LayerTraffic], held: Held) -> int:
    """The cycles of a legal schedule: while a layer is computed, the bus reads what is left of it,
    and then what the next layers read, as far as it has been written and there is space."""
    left = [[each.size // BEAT for each in one.early] for one in layers]
    space = {memory: size // BEAT for memory, size in held.operands.items()}
    time = 2 * MEMORY.latency
    for number, one in enumerate(layers):
        own = one.late // BEAT + sum(left[number])
        for size, read in zip(left[number], one.early, strict=True):
            space[read.memory] += read.size // BEAT - size
        beats = max(0, one.compute // MEMORY.interval - own)
        for later in range(number + 1, len(layers)):
            for at, read in enumerate(layers[later].early):
                if read.since <= number:
                    taken = min(left[later][at], beats, space[read.memory])
                    left[later][at] -= taken
                    space[read.memory] -= taken
                    beats -= taken
        time += max(one.compute, own * MEMORY.interval)
    return time + MEMORY.latency


@given(networks(), st.integers(0, 50), st.integers(0, 50))
def test_no_schedule_that_loads_ahead_is_below(
    layers: list[LayerTraffic], weights: int, data: int
) -> None:
    held = Held({MemoryId.WGT: weights * BEAT, MemoryId.INP: data * BEAT}, 0, 0)
    found = least_cycles(layers, held, CONFIG, MEMORY)
    assert found <= loading_ahead(layers, held)
    # Space on chip never makes the bound higher, and without it each layer waits for its reads.
    alone = least_cycles(layers, NOTHING, CONFIG, MEMORY)
    assert found <= alone
    least = 0
    for one in layers:
        beats = one.late // BEAT + sum(each.size // BEAT for each in one.early)
        least += max(one.compute, MEMORY.interval * (beats - 1))
    assert alone >= least


def test_of_one_layer_the_slowest_part_counts() -> None:
    for one, cycles in (
        (layer(100, weights=20, data=10, written=30), 100),
        (layer(10, weights=20, data=10, written=30), 2 * 29),
        (layer(10, weights=20, data=10, late=5), 2 * 34),
        (layer(10, written=40), 2 * 39),
    ):
        assert least_cycles([one], NOTHING, CONFIG, MEMORY) == 15 + cycles


def test_a_layer_reads_ahead_only_what_has_room_and_is_written() -> None:
    first = layer(1000)
    for data, since, space, wait in ((100, 0, 40, 60), (100, 1, 40, 60), (100, 0, 0, 100)):
        held = Held({MemoryId.WGT: 0, MemoryId.INP: space * BEAT}, 0, 0)
        second = layer(0, data=data, since=since)
        assert least_cycles([first, second], held, CONFIG, MEMORY) == 15 + 1000 + 2 * (wait - 1)
    # What a layer of the window writes is not there before it.
    held = Held({MemoryId.WGT: 0, MemoryId.INP: 100 * BEAT}, 0, 0)
    third = layer(0, data=100, since=2)
    found = least_cycles([first, layer(3), third], held, CONFIG, MEMORY)
    assert found == 15 + 1000 + 2 * (100 - 1)


def test_results_that_are_not_stored_yet_fit_on_chip() -> None:
    held = Held({MemoryId.WGT: 0, MemoryId.INP: 0}, 0, 30 * BEAT)
    layers = [layer(50, written=100), layer(1000)]
    # 70 beats are stored before the second layer begins.
    assert least_cycles(layers, held, CONFIG, MEMORY) == 15 + 2 * (70 - 1) + 1000
