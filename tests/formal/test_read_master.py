"""The ReadMaster: AXI4's handshake rules, and every burst answered to the client that asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.read_master import ReadMaster
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything
from tests.formal.reads import read_harness


def config(in_flight: int) -> HardwareConfig:
    """AxCACHE and AxPROT are not what an idle wire would give."""
    return HardwareConfig(reads_in_flight=in_flight, axi_cache=0b1110, axi_prot=0b101)


@pytest.mark.parametrize("in_flight", [2, 3, pytest.param(8, marks=pytest.mark.exhaustive)])
def test_every_run(in_flight: int, tmp_path: Path) -> None:
    harness = read_harness(ReadMaster, config(in_flight))
    prove(harness, tmp_path, reach=in_flight + 6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("in_flight", [16, 32])
def test_every_run_of_many(in_flight: int, tmp_path: Path) -> None:
    harness = read_harness(ReadMaster, config(in_flight))
    prove(harness, tmp_path, reach=14)


def test_each_property_says_something(tmp_path: Path) -> None:
    harness = read_harness(anything(ReadMaster), config(3))
    assert not true_of_anything(harness, tmp_path, steps=9)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("was", "becomes", "broken"),
    [
        pytest.param(
            "(~address.valid | axi.arready)",
            "(address.valid | ~address.valid)",
            "ar_payload_0_is_steady",
            id="address_not_held",
        ),
        pytest.param(
            "with m.If(axi.arready):",
            "with m.If(address.valid):",
            "ar_stays_valid",
            id="valid_not_held",
        ),
        pytest.param(
            "read_owners.level < config.reads_in_flight",
            "read_owners.level <= config.reads_in_flight",
            "at_most_so_many_open",
            id="one_burst_too_many",
        ),
        pytest.param("& ~self.halt", "", "nothing_new_after_halt", id="halt_not_seen"),
        pytest.param(
            "address.burst.beats - 1",
            "address.burst.beats",
            "length_is_the_bursts",
            id="long_burst",
        ),
        pytest.param(
            "read_owners.o.ready.eq(answered & axi.rlast)",
            "read_owners.o.ready.eq(answered)",
            "load_gets_its_own",
            id="turn_ends_early",
        ),
        pytest.param(
            "read_owners.i.payload.eq(index)",
            "read_owners.i.payload.eq(index & 1)",
            "load_gets_its_own",
            id="answer_to_another",
        ),
        pytest.param(
            " & (axi.rid == self.epoch)",
            "",
            "what_was_given_up_reaches_nobody",
            id="id_not_compared",
        ),
        pytest.param(
            "with m.If(axi.arready):",
            "with m.If(axi.arready | self.fence):",
            "ar_stays_valid",
            id="fence_drops_the_address",
        ),
        pytest.param(
            "axi.arid.eq(address.id)",
            "axi.arid.eq(self.epoch)",
            "ar_payload_2_is_steady",
            id="fence_changes_the_id",
        ),
        pytest.param(
            "ResetBy(self.fence, read_owners)",
            "read_owners",
            "idle_after_a_fence",
            id="fence_gives_nothing_up",
        ),
        pytest.param(
            "address.valid | ~self.idle",
            "~self.idle",
            "owes_addresses_and_answers",
            id="held_address_is_not_owed",
        ),
    ],
)
def test_fault_is_found(was: str, becomes: str, broken: str, tmp_path: Path) -> None:
    harness = read_harness(planted(ReadMaster, (was, becomes)), config(3))
    assert breaks(harness, broken, tmp_path, steps=10)
