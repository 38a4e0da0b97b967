"""The BurstGenerator: bursts that keep to AXI4 and cover exactly a job's rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.rtl.bursts import BurstGenerator
from tandem.hw.rtl.layouts import clog2, row_bits
from tandem.hw.storage import INDEX_BITS
from tandem.hw.timing import FETCH_BURST
from tests.formal.harness import Harness
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything
from tests.formal.rows import Rows, claim_bursts, look_inside

DEFAULT = HardwareConfig()
NARROW = HardwareConfig(address_bits=16)
SMALLEST = HardwareConfig(address_bits=16, longest_burst=1)
WIDE = HardwareConfig(bus_bits=512, longest_burst=256)
# One row of instructions, perhaps longer than the address space: the generator must not mind.
FETCH_BEATS = FETCH_BURST * INSTRUCTION_BYTES // DEFAULT.bus_bytes
FETCH_BITS = INDEX_BITS + clog2(INSTRUCTION_BYTES)


def burst_harness(generator: Any, config: HardwareConfig, longest: int, size_bits: int) -> Harness:
    """Any job, bursts taken whenever."""
    harness = Harness()
    harness.module.submodules.dut = dut = generator(config, longest=longest, size_bits=size_bits)
    harness.free(dut.start, dut.rows, dut.burst.ready)
    burst, valid = dut.burst.payload, dut.burst.valid
    rows = Rows(harness, dut, dut.burst, config, longest)

    claim_bursts(harness, rows)
    last = rows.row_ends & (rows.rows == 1)
    harness.must("last_of_the_job", ~valid | (dut.last == last))
    harness.must("active_until_the_last", dut.active == rows.open)
    harness.must("offers_from_the_second_cycle", valid == (rows.open & ~rows.starting))
    harness.steady("burst", valid, dut.burst.ready, burst, dut.last)
    look_inside(harness, rows, "dut")

    taken = valid & dut.burst.ready
    harness.reach("a_row_of_bursts", taken & rows.row_ends & (burst.address != rows.row))
    if config.bus_bytes * longest < PAGE_BYTES:
        harness.reach("cut_at_the_longest", taken & ~rows.row_ends & (burst.beats == longest))
    if longest > 1:
        harness.reach("cut_at_a_page", taken & ~rows.row_ends & (burst.beats != longest))
    harness.reach("second_row", taken & (rows.rows != rows.job.rows) & dut.last)
    return harness


@pytest.mark.parametrize(
    ("config", "longest", "size_bits"),
    [
        pytest.param(NARROW, 4, 7, id="short"),
        pytest.param(NARROW, 8, 8, id="narrow", marks=pytest.mark.exhaustive),
        pytest.param(NARROW, 64, 12, id="long_rows", marks=pytest.mark.exhaustive),
        pytest.param(SMALLEST, 1, 12, id="smallest", marks=pytest.mark.exhaustive),
        pytest.param(
            DEFAULT,
            DEFAULT.longest_burst,
            row_bits(DEFAULT),
            id="default",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(DEFAULT, FETCH_BEATS, FETCH_BITS, id="fetch", marks=pytest.mark.exhaustive),
        pytest.param(WIDE, 256, 16, id="wide", marks=pytest.mark.exhaustive),
    ],
)
def test_every_run(config: HardwareConfig, longest: int, size_bits: int, tmp_path: Path) -> None:
    prove(burst_harness(BurstGenerator, config, longest, size_bits), tmp_path, reach=7)


@pytest.mark.exhaustive
@pytest.mark.parametrize("address_bits", [32, 64])
@pytest.mark.parametrize("bus_bits", [64, 512])
@pytest.mark.parametrize("longest", [1, 16, 256])
def test_every_run_of_others(
    longest: int, bus_bits: int, address_bits: int, tmp_path: Path
) -> None:
    config = HardwareConfig(bus_bits=bus_bits, address_bits=address_bits)
    prove(burst_harness(BurstGenerator, config, longest, row_bits(config)), tmp_path, reach=7)


def test_each_property_says_something(tmp_path: Path) -> None:
    harness = burst_harness(anything(BurstGenerator), DEFAULT, 64, row_bits(DEFAULT))
    assert not true_of_anything(harness, tmp_path, steps=5)


FAULTS = [
    pytest.param(
        "remaining[:BEATS_BITS] < page_beats",
        "remaining[:BEATS_BITS] <= page_beats",
        "within_a_page",
        id="row_ends_a_beat_behind_the_page",
    ),
    pytest.param(
        "beats.eq(page_beats - in_page)",
        "beats.eq(page_beats - in_page + 1)",
        "within_a_page",
        id="page_ends_a_beat_late",
    ),
    pytest.param(
        "place.eq(in_page + self._longest)",
        "place.eq(in_page)",
        "within_a_page",
        id="place_stays",
    ),
    pytest.param(
        "remaining < self._longest",
        "remaining <= self._longest",
        "not_too_long",
        id="beat_too_many",
    ),
    pytest.param(
        "beats.eq(self._longest)",
        "beats.eq(1)",
        "no_shorter_than_it_must_be",
        id="a_beat_at_a_time",
    ),
    pytest.param(
        "in_page + self._longest > page_beats",
        "in_page + self._longest < page_beats",
        "not_too_long",
        id="page_where_it_does_not_end",
    ),
    pytest.param(
        "address[:beat_bits] + size[",
        "size[",
        "last_of_the_job",
        id="begins_inside_a_beat_lacks_one",
    ),
    pytest.param("(self._bus_bytes - 1)", "0", "last_of_the_job", id="ends_inside_a_beat_lacks_it"),
    pytest.param(
        "beats.eq(remaining + 1)",
        "beats.eq(remaining)",
        "has_beats",
        id="burst_of_nothing",
    ),
    pytest.param(
        "beats.eq(remaining + 1)",
        "beats.eq(self._longest)",
        "within_the_row",
        id="last_burst_beyond_the_row",
    ),
    pytest.param(
        "rest.eq(remaining - self._longest)",
        "rest.eq(remaining)",
        "within_the_row",
        id="rest_is_the_whole",
    ),
    pytest.param(
        "remaining + in_page - page_beats",
        "remaining - page_beats",
        "within_the_row",
        id="rest_of_a_whole_page",
    ),
    pytest.param(
        "self._extra_beats(next_address, job.size)",
        "self._extra_beats(job.address, job.size)",
        "last_of_the_job",
        id="second_row_as_long_as_the_first",
    ),
    pytest.param(
        "self.burst.payload.address.eq(beat << beat_bits)",
        "self.burst.payload.address.eq(job.address)",
        "aligned_to_a_beat",
        id="address_inside_a_beat",
    ),
    pytest.param(
        "self.burst.valid & self.burst.ready)",
        "self.burst.valid)",
        "burst_payload_0_is_steady",
        id="payload_not_held",
    ),
    pytest.param(
        "running.eq(~self.last)", "running.eq(0)", "active_until_the_last", id="one_row_only"
    ),
    pytest.param(
        "next_address = job.address + job.stride",
        "next_address = job.address",
        "begins_where_the_last_ended",
        id="third_row_where_the_second_is",
    ),
]


@pytest.mark.every(6)
@pytest.mark.parametrize(("was", "becomes", "broken"), FAULTS)
def test_fault_is_found(was: str, becomes: str, broken: str, tmp_path: Path) -> None:
    generator = planted(BurstGenerator, (was, becomes))
    harness = burst_harness(generator, DEFAULT, DEFAULT.longest_burst, row_bits(DEFAULT))
    assert breaks(harness, broken, tmp_path, steps=7)
