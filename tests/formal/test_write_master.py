"""The WriteMaster: AXI4's handshake rules, and every order's data and acknowledgement its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.write_master import WriteMaster
from tests.formal.harness import Harness
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything
from tests.formal.write_claims import beat_harness, burst_harness, order_harness

Claims = Callable[[Any, HardwareConfig], Harness]
PROOFS: tuple[Claims, ...] = (order_harness, burst_harness, beat_harness)


def config(in_flight: int) -> HardwareConfig:
    """AxCACHE and AxPROT are not what an idle wire would give."""
    return HardwareConfig(writes_in_flight=in_flight, axi_cache=0b1110, axi_prot=0b101)


@pytest.mark.parametrize(
    "in_flight", [2, *(pytest.param(each, marks=pytest.mark.exhaustive) for each in (3, 4, 8))]
)
@pytest.mark.parametrize("claims", PROOFS)
def test_every_run(claims: Claims, in_flight: int, tmp_path: Path) -> None:
    prove(claims(WriteMaster, config(in_flight)), tmp_path, reach=in_flight + 8)


@pytest.mark.parametrize("claims", PROOFS)
def test_each_property_says_something(claims: Claims, tmp_path: Path) -> None:
    assert not true_of_anything(claims(anything(WriteMaster), config(3)), tmp_path, steps=9)


@pytest.mark.every(6)
@pytest.mark.parametrize(
    ("claims", "was", "becomes", "broken"),
    [
        pytest.param(
            order_harness,
            "(~order.writes | ~address.valid | axi.awready)",
            "1",
            "aw_payload_0_is_steady",
            id="address_not_held",
        ),
        pytest.param(
            order_harness,
            "with m.If(axi.awready):",
            "with m.If(address.valid):",
            "aw_stays_valid",
            id="valid_not_held",
        ),
        pytest.param(
            order_harness,
            "outstanding_writes.level < config.writes_in_flight",
            "outstanding_writes.level <= config.writes_in_flight",
            "at_most_so_many_open",
            id="one_order_too_many",
        ),
        pytest.param(
            order_harness,
            "address.burst.beats - 1",
            "address.burst.beats",
            "length_is_the_bursts",
            id="long_burst",
        ),
        pytest.param(
            burst_harness,
            "sent + 1 == lengths.o.payload",
            "sent == lengths.o.payload",
            "last_exactly_on_the_last_beat",
            id="last_a_beat_late",
        ),
        pytest.param(
            burst_harness,
            "axi.wvalid.eq(beats.o.valid & lengths.o.valid)",
            "axi.wvalid.eq(beats.o.valid)",
            "data_after_its_address",
            id="data_before_its_address",
        ),
        pytest.param(
            burst_harness,
            "lengths.i.valid.eq(new_address)",
            "lengths.i.valid.eq(address.valid & axi.awready)",
            "data_waits_for_nothing_else",
            id="data_waits_for_awready",
        ),
        pytest.param(
            burst_harness,
            "client.waiting.eq(Mux(flushing, OUT_QUEUE_BEATS, beats.level))",
            "client.waiting.eq(beats.level)",
            "waiting_counts_beats",
            id="client_goes_on_after_a_fence",
        ),
        pytest.param(
            order_harness,
            "& (axi.bid == self.epoch)",
            "",
            "done_when_acknowledged",
            id="id_not_compared",
        ),
        pytest.param(
            order_harness,
            "with m.If(axi.awready):",
            "with m.If(axi.awready | self.fence):",
            "aw_stays_valid",
            id="fence_drops_the_address",
        ),
        pytest.param(
            order_harness,
            "axi.awid.eq(address.id)",
            "axi.awid.eq(self.epoch)",
            "aw_payload_2_is_steady",
            id="fence_changes_the_id",
        ),
        pytest.param(
            order_harness,
            "ResetBy(self.fence, outstanding_writes)",
            "outstanding_writes",
            "idle_after_a_fence",
            id="fence_gives_no_order_up",
        ),
        pytest.param(
            order_harness,
            "ResetBy(self.fence, responses)",
            "responses",
            "done_when_acknowledged",
            id="fence_keeps_a_response",
        ),
        # Bursts that were given up and new ones are together more than `lengths` holds.
        pytest.param(
            burst_harness,
            "config.writes_in_flight) & ~flushing",
            "config.writes_in_flight) & ~(flushing & self.halt)",
            "at_most_so_many_unsent",
            id="order_accepted_before_all_is_sent",
        ),
        pytest.param(
            burst_harness,
            "m.submodules.lengths = lengths = Queue(BEATS_BITS, depth)",
            "m.submodules.lengths = ResetBy(self.fence, lengths := Queue(BEATS_BITS, depth))",
            "data_waits_for_nothing_else",
            id="fence_drops_data",
        ),
        pytest.param(
            burst_harness,
            "client.beat.valid | flushing",
            "client.beat.valid",
            "data_waits_for_nothing_else",
            id="no_beats_for_what_was_given_up",
        ),
        pytest.param(
            burst_harness,
            "~lengths.o.valid & ~self.halt, self.restart)",
            "~lengths.o.valid, self.restart)",
            "waiting_counts_beats",
            id="client_goes_on_before_it_is_reset",
        ),
        pytest.param(
            burst_harness,
            "~lengths.o.valid & ~self.halt, self.restart)",
            "~self.halt, self.restart)",
            "data_waits_for_nothing_else",
            id="restart_drops_data",
        ),
        pytest.param(
            burst_harness,
            "~client.idle | address.valid | lengths.o.valid",
            "~client.idle | address.valid",
            "owes_orders_and_bursts",
            id="data_is_not_owed",
        ),
        pytest.param(
            order_harness,
            "axi.bready.eq(1)",
            "axi.bready.eq(~outstanding_writes.o.valid | oldest.writes)",
            "no_response_waits",
            id="response_waits",
        ),
        pytest.param(
            order_harness,
            "responses.o.ready.eq(acknowledged)",
            "responses.o.ready.eq(0)",
            "done_when_acknowledged",
            id="response_counted_twice",
        ),
        pytest.param(
            order_harness,
            "acknowledged & responses.o.payload",
            "acknowledged & axi.bresp[1]",
            "fault_is_its_own_error",
            id="error_of_another_order",
        ),
        pytest.param(
            order_harness,
            "outstanding_writes.o.ready.eq(~oldest.writes | responses.o.valid)",
            "outstanding_writes.o.ready.eq(responses.o.valid)",
            "done_at_once_without_a_burst",
            id="order_without_a_burst_waits",
        ),
        pytest.param(
            beat_harness,
            "beats.o.ready.eq(client.moving)",
            "beats.o.ready.eq(lengths.o.valid)",
            "w_stays_valid",
            id="beat_lost",
        ),
        pytest.param(
            beat_harness,
            "beats.o.ready.eq(client.moving)",
            "beats.o.ready.eq(axi.wvalid & (axi.wready | self.fence))",
            "data_is_the_beats",
            id="fence_drops_a_beat",
        ),
        pytest.param(
            beat_harness,
            "Mux(flushing, 0, client.beat.payload.strobe)",
            "client.beat.payload.strobe",
            "what_fills_writes_nothing",
            id="filled_up_with_strobes",
        ),
        pytest.param(
            beat_harness,
            "axi.wstrb.eq(beats.o.payload.strobe)",
            "axi.wstrb.eq(Mux(flushing, 0, beats.o.payload.strobe))",
            "w_payload_1_is_steady",
            id="fence_changes_the_strobes",
        ),
        pytest.param(
            beat_harness,
            "Mux(flushing, ~lengths.o.valid & ~self.halt, self.restart)",
            "flushing & ~lengths.o.valid & ~self.halt",
            "data_is_the_beats",
            id="restart_keeps_beats",
        ),
        pytest.param(
            beat_harness,
            "ResetBy(flushed, beats)",
            "beats",
            "data_is_the_beats",
            id="old_beats_for_new_bursts",
        ),
    ],
)
def test_fault_is_found(
    claims: Claims, was: str, becomes: str, broken: str, tmp_path: Path
) -> None:
    harness = claims(planted(WriteMaster, (was, becomes)), config(3))
    assert breaks(harness, broken, tmp_path, steps=10)
