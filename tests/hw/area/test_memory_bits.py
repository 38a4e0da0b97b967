"""The bits of all memories are those that synthesis finds."""

from __future__ import annotations

from tandem.hw.area.estimate import samples
from tandem.hw.area.memory_bits import memory_bits, queue_bits
from tandem.hw.config import HardwareConfig


def test_every_synthesised_machine() -> None:
    found = samples()
    assert len(found) > 20
    for sample in found:
        assert memory_bits(sample.config) == sample.memory_bits


def test_copies_of_acc() -> None:
    config = HardwareConfig()
    less = memory_bits(config) - memory_bits(config.replace(acc_read_ports=1))
    assert less == 8 << config.log_acc_buffer


def test_queues_grow_with_their_depths() -> None:
    config = HardwareConfig()
    for change in ({"load_buffer": 512}, {"instruction_queue": 64}, {"reads_in_flight": 65}):
        assert queue_bits(config.replace(**change)) > queue_bits(config)
