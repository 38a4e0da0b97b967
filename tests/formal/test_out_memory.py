"""OUT behind the requantisers: what is written to ACC is there `OUT_STAGES` cycles later, at its
place, and stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Mux, Signal

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.rtl.out_memory import OutMemory
from tandem.hw.timing import OUT_STAGES
from tests.formal.harness import Harness, implies
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything

BYTE = 8
REACH = 12


def machine(log_block: int, log_batch: int, bus_bits: int) -> HardwareConfig:
    """Four elements."""
    return HardwareConfig(
        log_batch=log_batch,
        log_block_in=log_block,
        log_block_out=log_block,
        log_uop_buffer=8,
        log_inp_buffer=8,
        log_wgt_buffer=10,
        log_acc_buffer=4 + log_batch + log_block,
        bus_bits=bus_bits,
        features=frozenset({Feature.REQUANTISE}),
    )


def out_harness(block: Any, config: HardwareConfig) -> Harness:
    """Writes in any cycle, of any banks; one byte of one element, which the solver chooses."""
    harness = Harness()
    harness.module.submodules.dut = dut = block(config)
    harness.free(dut.write, dut.low, dut.requantised, dut.value, dut.out_enable, dut.out_address)
    lanes = config.acc_lanes
    banks = len(dut.write.enable)
    m = harness.module
    # The place is chosen once, before the first write.
    place = Signal(len(dut.write.address), name="place")
    lane = Signal(range(lanes), name="lane")
    begun = Signal(name="begun")
    harness.sync(begun.eq(1))
    chosen_place, chosen_lane = Signal.like(place), Signal.like(lane)
    harness.free(chosen_place, chosen_lane)
    with m.If(~begun):
        m.d.sync += [place.eq(chosen_place), lane.eq(chosen_lane)]
    harness.suppose(implies(~begun, (chosen_lane < lanes) & (dut.write.enable == 0)))

    def byte(values: Any) -> Any:
        return Array(values.word_select(at, BYTE) for at in range(lanes))[lane]

    # What is written to ACC travels for OUT_STAGES cycles.
    bank = Array(dut.write.enable[at * banks // lanes] for at in range(lanes))[lane]
    writes: list[Any] = [begun & bank & (dut.write.address == place)]
    lows: list[Any] = [byte(dut.low)]
    for _ in range(OUT_STAGES):
        writes.append(harness.delayed(writes[-1]))
        lows.append(harness.delayed(lows[-1]))
    due = Mux(dut.requantised, byte(dut.value), lows[-1])
    known = Signal(name="known")
    content = Signal(BYTE, name="content")
    with m.If(writes[-1]):
        m.d.sync += [known.eq(1), content.eq(due)]
    # A read in the cycle of a write of the same place gives anything.
    reads = known & dut.out_enable & (dut.out_address == place) & ~writes[-1]
    asked, answer = harness.delayed(reads), harness.delayed(content)
    harness.must("reads_what_was_written", implies(asked, byte(dut.out_data) == answer))
    _invariants(harness, dut, (place, lane, begun, known, content, writes, lows))

    harness.reach("read", asked)
    harness.reach("read_requantised", asked & harness.delayed(harness.delayed(dut.requantised)))
    harness.reach("written_twice", writes[-1] & known & (due != content))
    return harness


def _invariants(harness: Harness, dut: Any, model: tuple[Any, ...]) -> None:
    """How the registers and the memory relate to the model."""
    place, lane, begun, known, content, writes, lows = model
    lanes, banks = len(dut.value) // BYTE, len(dut.write.enable)
    harness.invariant("lane_in_range", implies(begun, lane < lanes))
    for stage in range(1, OUT_STAGES + 1):
        enable = harness.peek(f"dut.enable_{stage}", banks)
        address = harness.peek(f"dut.address_{stage}", len(place))
        low = harness.peek(f"dut.low_{stage}", BYTE * lanes)
        of_bank = Array(enable[at * banks // lanes] for at in range(lanes))[lane]
        here = of_bank & (address == place)
        none = (enable == 0) & ~writes[stage]
        harness.invariant(f"nothing_before_{stage}", begun | none)
        harness.invariant(f"writes_{stage}", implies(begun & writes[stage], here))
        harness.invariant(f"writes_nothing_else_{stage}", implies(begun & here, writes[stage]))
        harness.invariant(
            f"low_{stage}", implies(writes[stage], low.word_select(lane, BYTE) == lows[stage])
        )
    depth = 1 << len(place)
    words = [harness.peek(f"dut.memory.array[{at}]", BYTE * lanes) for at in range(depth)]
    stored = Array(words)[place].word_select(lane, BYTE)
    harness.invariant("keeps_it", implies(known, stored == content))
    harness.invariant("known_after_the_choice", implies(known, begun))


@pytest.mark.parametrize(
    ("log_block", "log_batch", "bus_bits"),
    [
        (2, 0, 64),
        *(
            pytest.param(*shape, marks=pytest.mark.exhaustive)
            for shape in ((0, 0, 64), (3, 0, 64), (2, 1, 64), (2, 0, 512))
        ),
    ],
)
def test_every_run(log_block: int, log_batch: int, bus_bits: int, tmp_path: Path) -> None:
    prove(out_harness(OutMemory, machine(log_block, log_batch, bus_bits)), tmp_path, reach=REACH)


def test_each_property_says_something(tmp_path: Path) -> None:
    harness = out_harness(anything(OutMemory), machine(2, 0, 64))
    assert not true_of_anything(harness, tmp_path, steps=REACH)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        pytest.param(
            "delayed(m, self.write.address, OUT_STAGES,",
            "delayed(m, self.write.address, OUT_STAGES + 1,",
            id="at_the_place_of_the_one_ahead",
        ),
        pytest.param(
            "delayed(m, self.low, OUT_STAGES,",
            "delayed(m, self.low, OUT_STAGES + 1,",
            id="bytes_of_the_one_ahead",
        ),
        pytest.param(
            "delayed(m, self.write.enable, OUT_STAGES,",
            "delayed(m, self.write.enable, OUT_STAGES + 1,",
            id="too_late",
        ),
        pytest.param(
            "Mux(self.requantised, self.value, low)", "low", id="requantised_bytes_are_lost"
        ),
        pytest.param(
            "memory.write_enable.eq(enable)",
            "memory.write_enable.eq(enable.any().replicate(len(enable)))",
            id="banks_beside_are_written",
        ),
    ],
)
def test_fault_is_found(was: str, becomes: str, tmp_path: Path) -> None:
    harness = out_harness(planted(OutMemory, (was, becomes)), machine(2, 0, 64))
    assert breaks(harness, "reads_what_was_written", tmp_path, steps=REACH)
