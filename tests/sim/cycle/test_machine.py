"""The numbers of machines, by hand."""

from __future__ import annotations

from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.memory_model import MemoryModel
from tandem.sim.cycle.machine import Machine, make_machine
from tests.support.hw.configs import UNCOMMON

MEMORY = MemoryModel(latency=5, interval=3, in_flight=7)
TINY = load_config("tiny")
CUSTOM = next(config for config in UNCOMMON if config.name == "custom")


def test_a_small_machine() -> None:
    assert make_machine(TINY, MEMORY) == Machine(
        # Beats of 8 bytes, 512 of which are a page.
        beat_shift=3,
        page_beats=512,
        longest=8,
        address_mask=0xFFFFFFFF,
        # 8 instructions of two beats, cut at the longest burst; 8 instructions are 16 beats.
        fetch_longest=8,
        fetch_depth=16,
        load_depth=16,
        compute_depth=16,
        reads_in_flight=4,
        writes_in_flight=4,
        queue_depth=4,
        slow_steps=1,
        # Two levels of adders.
        depth=8,
        near=2,
        custom_lead=0,
        custom=0,
        two_reads=1,
        out_delay=0,
        latency=5,
        interval=3,
        in_flight=7,
    )


def test_what_bursts_of_fetch_hold() -> None:
    """Eight instructions, if the longest burst holds them, and at least a beat."""
    pynq = load_config("pynq")
    longest = [
        make_machine(pynq.replace(name="wide", bus_bits=bits), MEMORY).fetch_longest
        for bits in (64, 128, 256, 512)
    ]
    assert longest == [16, 8, 4, 2]
    wide = make_machine(pynq.replace(name="wide", bus_bits=512), MEMORY)
    assert (wide.beat_shift, wide.page_beats) == (6, 64)


def test_what_depends_on_extensions_and_ports() -> None:
    plain = make_machine(TINY, MEMORY)
    extended = make_machine(load_config("tiny-x"), MEMORY)
    assert extended == plain._replace(out_delay=4)
    one_port = make_machine(TINY.replace(name="one", acc_read_ports=1), MEMORY)
    assert one_port == plain._replace(two_reads=2)
    # 64 bytes of weights are 8 banks of a beat: those that a beat of codes of 1 bit fills in two
    # steps.
    wide = TINY.replace(
        name="codes",
        log_block_in=3,
        log_block_out=3,
        features=frozenset({Feature.COMPRESSED_WEIGHTS}),
    )
    assert make_machine(wide, MEMORY).slow_steps == 2


def test_custom_operations() -> None:
    machine = make_machine(CUSTOM, MEMORY)
    # Three stages: operands are read two stages earlier, and results are waited for as much longer.
    assert (machine.custom_lead, machine.near, machine.depth) == (2, 4, 10)
    numbers = list(CUSTOM.custom_operations)
    assert len(numbers) == 3
    assert machine.custom == sum(2**number for number in numbers)
    # Stages alone make no operations.
    without = make_machine(CUSTOM.replace(name="none", alu_operations=(), alu_stages=1), MEMORY)
    assert (without.custom, without.near, without.custom_lead) == (0, 2, 0)
