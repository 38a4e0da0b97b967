"""Configurations that tests run on: the presets, and machines of uncommon shape."""

from __future__ import annotations

from itertools import cycle, islice

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config, preset_names
from tandem.hw.custom_operations import MOST_STAGES, CustomOperation
from tandem.hw.features import Feature

COMPUTE_FEATURES = frozenset(Feature) - {Feature.COMPRESSED_WEIGHTS}
"""The extensions of compute, which machines of any blocks may have."""
_SMALL = HardwareConfig(log_uop_buffer=9, log_inp_buffer=9, log_wgt_buffer=12, log_acc_buffer=11)
_SCALAR = _SMALL.replace(
    name="scalar",
    log_block_in=0,
    log_block_out=1,
    log_wgt_buffer=6,
    longest_burst=256,
    compute_buffer=256,
    address_bits=64,
)


def _operation(name: str, result: str, **parameters: str) -> CustomOperation:
    return CustomOperation.from_json({"name": name, "result": result, "parameters": parameters})


UNCOMMON = (
    # Every element is narrower than a beat; queues and buffers have their minimum size.
    _SMALL.replace(
        name="wide_bus",
        log_block_in=2,
        log_block_out=3,
        bus_bits=256,
        longest_burst=5,
        load_buffer=8,
        compute_buffer=16,
        instruction_queue=2,
        fetch_buffer=8,
    ),
    # Bursts of one beat, two bursts in flight, several instructions per beat.
    _SMALL.replace(
        name="widest_bus",
        log_batch=1,
        log_block_in=3,
        log_block_out=2,
        bus_bits=512,
        longest_burst=1,
        load_buffer=2,
        compute_buffer=2,
        reads_in_flight=2,
        writes_in_flight=2,
        instruction_queue=4,
    ),
    # An adder tree that has nothing to add, and the longest bursts of AXI4.
    _SCALAR,
    # The shortest pipeline in which one read port of ACC reads two operands in turn.
    _SCALAR.replace(name="scalar_one_port", acc_read_ports=1),
    # A tall array of single columns; limits that are no powers of two; one read port of ACC.
    _SMALL.replace(
        name="tall",
        acc_read_ports=1,
        log_batch=2,
        log_block_in=1,
        log_block_out=0,
        log_wgt_buffer=8,
        bus_bits=128,
        longest_burst=16,
        reads_in_flight=3,
        writes_in_flight=5,
    ),
    # All extensions but compressed weights.
    _SMALL.replace(
        name="extended",
        log_block_in=2,
        log_block_out=2,
        log_wgt_buffer=8,
        features=COMPUTE_FEATURES,
    ),
    # The same with two rows, elements that are parts of a beat, and one read port of ACC.
    _SMALL.replace(
        name="extended_one_port",
        acc_read_ports=1,
        log_batch=1,
        log_block_in=1,
        log_block_out=1,
        log_wgt_buffer=6,
        log_par_buffer=8,
        bus_bits=256,
        longest_burst=9,
        load_buffer=16,
        compute_buffer=16,
        features=COMPUTE_FEATURES,
    ),
    # Requantised results and nothing else, of fewer output than input channels.
    _SMALL.replace(
        name="requantising",
        log_block_in=5,
        log_block_out=1,
        log_inp_buffer=11,
        log_par_buffer=6,
        features=frozenset({Feature.REQUANTISE}),
    ),
    # Operands from INP and nothing else: a bit of the ALU's instructions that GEMM does not have.
    _SMALL.replace(
        name="input_operands",
        log_block_in=3,
        log_block_out=3,
        features=frozenset({Feature.INPUT_OPERANDS}),
    ),
    # Compressed weights and nothing else: a row of a block takes several beats of codes.
    _SMALL.replace(
        name="compressed",
        log_block_in=5,
        log_block_out=2,
        log_inp_buffer=11,
        load_buffer=16,
        longest_burst=11,
        features=frozenset({Feature.COMPRESSED_WEIGHTS}),
    ),
    # The same with several beats of scales, several rows of a block in a beat, and two rows of INP.
    _SMALL.replace(
        name="compressed_tall",
        log_batch=1,
        log_block_in=1,
        log_block_out=5,
        log_acc_buffer=13,
        acc_read_ports=1,
        features=frozenset({Feature.COMPRESSED_WEIGHTS}),
    ),
    # All extensions, and scales that take a part of a beat.
    _SMALL.replace(
        name="compressed_wide",
        log_block_in=3,
        log_block_out=3,
        log_wgt_buffer=12,
        bus_bits=128,
        longest_burst=7,
        load_buffer=8,
        features=frozenset(Feature),
    ),
    # More input than output channels, three levels of adders; one read port of ACC.
    HardwareConfig(
        name="deep",
        acc_read_ports=1,
        log_uop_buffer=10,
        log_inp_buffer=12,
        log_wgt_buffer=16,
        log_acc_buffer=13,
        log_block_in=5,
        log_block_out=4,
        longest_burst=33,
        load_buffer=64,
        compute_buffer=64,
    ),
    # Operations of its own, in three stages, with and without parameters and second operand.
    _SMALL.replace(
        name="custom",
        log_block_in=2,
        log_block_out=2,
        log_wgt_buffer=8,
        alu_operations=(
            _operation(
                "SHIFT_CLIP", "min(max(int32(a + b) >> shift, low), 127)", shift="uint5", low="int8"
            ),
            _operation("XOR", "a ^ b"),
            _operation("SCALED", "a * factor - 5", factor="int16"),
        ),
        alu_stages=3,
    ),
    # One, beside all extensions of compute, with two rows and one read port of ACC.
    _SMALL.replace(
        name="custom_one_port",
        acc_read_ports=1,
        log_batch=1,
        log_block_in=1,
        log_block_out=1,
        log_wgt_buffer=6,
        log_par_buffer=8,
        features=COMPUTE_FEATURES,
        alu_operations=(_operation("ADD_SCALED", "a + (b * factor >> 3)", factor="uint9"),),
        alu_stages=2,
    ),
)


TWO_PASSES = (
    _operation("HIGH", "int32(a * uint16(b) >> 8)"),
    _operation("CLIP", "min(max(int32(a + b) >> 8 >> shift, low), 127)", shift="uint3", low="int8"),
)
"""A product in full, and what makes int8 of it."""


def presets() -> tuple[HardwareConfig, ...]:
    """Every preset."""
    return tuple(load_config(name) for name in preset_names())


def compressed() -> tuple[HardwareConfig, ...]:
    """A dozen machines that load compressed weights: all of the above that do, and others that do
    when they are given the feature."""
    every = (*presets(), *UNCOMMON)
    others = ("block4", "batch2", "extended", "requantising", "input_operands", "deep")
    return (
        *(config for config in every if Feature.COMPRESSED_WEIGHTS in config.features),
        *(
            config.replace(
                name=f"{config.name}_compressed",
                features=config.features | {Feature.COMPRESSED_WEIGHTS},
            )
            for config in every
            if config.name in others
        ),
    )


def with_operations() -> tuple[HardwareConfig, ...]:
    """A dozen machines with operations of their own: all of the above that have some, and others
    that requantise in two passes, in one to four stages."""
    every = (*presets(), *UNCOMMON)
    others = [config for config in every if not (config.features or config.alu_operations)]
    others.sort(key=lambda config: config.log_block_in + config.log_block_out)
    added = (
        config.replace(name=f"{config.name}_own", alu_operations=TWO_PASSES, alu_stages=stages)
        for config, stages in zip(others, cycle(range(1, MOST_STAGES + 1)))
    )
    own = [config for config in every if config.alu_operations]
    return (*own, *islice(added, 12 - len(own)))
