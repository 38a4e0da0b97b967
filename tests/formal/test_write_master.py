"""The WriteMaster: AXI4's handshake rules, and every order's data and acknowledgement its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from hw.config import HardwareConfig
from hw.rtl.write_master import WriteMaster
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything
from tests.formal.writes import write_harness


def config(in_flight: int) -> HardwareConfig:
    """AxCACHE and AxPROT are not what an idle wire would give."""
    return HardwareConfig(writes_in_flight=in_flight, axi_cache=0b1110, axi_prot=0b101)


@pytest.mark.parametrize(
    "in_flight", [2, *(pytest.param(each, marks=pytest.mark.exhaustive) for each in (3, 4))]
)
def test_every_run(in_flight: int, tmp_path: Path) -> None:
    harness = write_harness(WriteMaster, config(in_flight))
    prove(harness, tmp_path, reach=in_flight + 8)


@pytest.mark.exhaustive
def test_every_run_of_many(tmp_path: Path) -> None:
    prove(write_harness(WriteMaster, config(8)), tmp_path, reach=16)


def test_each_property_says_something(tmp_path: Path) -> None:
    harness = write_harness(anything(WriteMaster), config(3))
    assert not true_of_anything(harness, tmp_path, steps=9)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("was", "becomes", "broken"),
    [
        pytest.param(
            "(~order.writes | ~address.valid | axi.awready)",
            "1",
            "aw_payload_0_is_steady",
            id="address_not_held",
        ),
        pytest.param(
            "with m.If(axi.awready):",
            "with m.If(address.valid):",
            "aw_stays_valid",
            id="valid_not_held",
        ),
        pytest.param(
            "outstanding_writes.level < config.writes_in_flight",
            "outstanding_writes.level <= config.writes_in_flight",
            "at_most_so_many_open",
            id="one_order_too_many",
        ),
        pytest.param(
            "address.burst.beats - 1",
            "address.burst.beats",
            "length_is_the_bursts",
            id="long_burst",
        ),
        pytest.param(
            "sent + 1 == lengths.o.payload",
            "sent == lengths.o.payload",
            "last_exactly_on_the_last_beat",
            id="last_a_beat_late",
        ),
        pytest.param(
            "axi.wvalid.eq(self.beat.valid & lengths.o.valid)",
            "axi.wvalid.eq(self.beat.valid)",
            "data_after_its_address",
            id="data_before_its_address",
        ),
        pytest.param(
            "lengths.i.valid.eq(new_address)",
            "lengths.i.valid.eq(address.valid & axi.awready)",
            "data_waits_for_nothing_else",
            id="data_waits_for_awready",
        ),
        pytest.param(
            "self.beat.ready.eq(axi.wready & lengths.o.valid)",
            "self.beat.ready.eq(lengths.o.valid)",
            "beat_is_taken_once",
            id="beat_lost",
        ),
        pytest.param(
            "axi.bready.eq(1)",
            "axi.bready.eq(~outstanding_writes.o.valid | oldest.writes)",
            "no_response_waits",
            id="response_waits",
        ),
        pytest.param(
            "responses.o.ready.eq(acknowledged)",
            "responses.o.ready.eq(0)",
            "done_when_acknowledged",
            id="response_counted_twice",
        ),
        pytest.param(
            "acknowledged & responses.o.payload",
            "acknowledged & axi.bresp[1]",
            "fault_is_its_own_error",
            id="error_of_another_order",
        ),
        pytest.param(
            "outstanding_writes.o.ready.eq(~oldest.writes | responses.o.valid)",
            "outstanding_writes.o.ready.eq(responses.o.valid)",
            "done_at_once_without_a_burst",
            id="order_without_a_burst_waits",
        ),
    ],
)
def test_fault_is_found(was: str, becomes: str, broken: str, tmp_path: Path) -> None:
    harness = write_harness(planted(WriteMaster, (was, becomes)), config(3))
    assert breaks(harness, broken, tmp_path, steps=10)
