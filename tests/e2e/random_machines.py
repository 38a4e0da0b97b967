"""Random machines: any legal configuration of a size that Verilator builds in seconds."""

from __future__ import annotations

import random

from tandem.hw.config import HardwareConfig
from tandem.hw.errors import ConfigError
from tandem.hw.features import Feature
from tandem.hw.memory_model import MemoryModel


def random_machine(seed: int) -> HardwareConfig:
    """A legal configuration; draws are repeated until `check_config` accepts one."""
    rng = random.Random(seed)
    while True:
        block_in, block_out = rng.randint(1, 5), rng.randint(1, 5)
        if rng.random() < 0.5:
            block_in = block_out
        longest_burst = rng.randint(1, 256)
        try:
            return HardwareConfig(
                name=f"random{seed}",
                log_batch=rng.choice((0, 0, 0, 1)),
                log_block_in=block_in,
                log_block_out=block_out,
                log_uop_buffer=rng.randint(8, 14),
                log_inp_buffer=rng.randint(9, 15),
                log_wgt_buffer=rng.randint(11, 18),
                log_acc_buffer=rng.randint(11, 17),
                log_par_buffer=rng.randint(9, 13),
                acc_read_ports=rng.choice((1, 2)),
                bus_bits=rng.choice((64, 128, 256, 512)),
                address_bits=rng.randint(24, 64),
                longest_burst=longest_burst,
                reads_in_flight=rng.randint(2, 256),
                writes_in_flight=rng.randint(2, 256),
                instruction_queue=1 << rng.randint(1, 6),
                fetch_buffer=1 << rng.randint(3, 8),
                load_buffer=_at_least(rng, longest_burst),
                compute_buffer=_at_least(rng, longest_burst),
                features=frozenset(each for each in Feature if rng.random() < 0.5),
            )
        except ConfigError:
            continue


def random_memory(seed: int) -> MemoryModel:
    """A memory between one that answers at once and one four times slower than `edge`."""
    rng = random.Random(f"memory {seed}")
    return MemoryModel(rng.randint(1, 256), rng.randint(1, 8), rng.randint(1, 64))


def _at_least(rng: random.Random, beats: int) -> int:
    """A power of two that a burst of `beats` fits."""
    return (
        1 << ((beats - 1).bit_length() + rng.randint(0, 3)) if beats > 1 else 1 << rng.randint(1, 4)
    )
