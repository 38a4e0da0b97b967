"""The hardware configuration: a frozen value that parameterises RTL, compiler and simulators.

Sizes of arrays and memories are powers of two, stored as log2 as in VTA, because instruction
encodings derive from log2 sizes. Every other field is in the unit that its name says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from tandem.hw.codings import Coding
from tandem.hw.custom_operations import (
    MOST_STAGES,
    AnyOperation,
    CustomOperation,
    free_opcodes,
)
from tandem.hw.depth_limits import Reduction, depth_remedies
from tandem.hw.encoding import UOP_BYTES
from tandem.hw.errors import ConfigError, EncodingError
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp, operations_of
from tandem.hw.topology import MemoryId

ACC_BYTES = 4
PARAMETER_BYTES = 8
"""Bytes of the parameters of an output channel in PAR: an addend (int32), a multiplier (uint16), a
shift (the low five bits of a byte), and a byte that is not used."""
PAGE_BYTES = 4096
"""A page of memory: no AXI4 burst crosses the boundary between two (AMBA AXI4, A3.4.1)."""


NAME_LENGTH = 64
"""The maximum number of characters of a configuration's name."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareConfig:
    """All parameters of an accelerator; construction refuses impossible ones.

    Raises
    ------
    ConfigError
        Names the field, its value and the allowed ones.
    """

    name: str = "pynq"
    """A plain file name, since folders, reports and the Verilog's comments have it: at most
    `NAME_LENGTH` ASCII letters, digits and `_.+-`; the first is a letter, a digit or `_`."""

    log_batch: int = 0
    log_block_in: int = 4
    log_block_out: int = 4
    log_uop_buffer: int = 15
    """log2 of the micro-op memory's bytes; next three fields: log2 bytes of INP, WGT and ACC."""
    log_inp_buffer: int = 15
    log_wgt_buffer: int = 18
    log_acc_buffer: int = 17

    log_par_buffer: int = 13
    """log2 of the bytes of PAR; without effect on a machine that lacks it."""

    acc_read_ports: int = 2
    """Read ports of ACC. 2: ACC is duplicated, in twice the block RAM. 1: a micro-op with two
    operands from ACC (ALU without immediate) takes two cycles."""

    bus_bits: int = 64
    """Width of the AXI4 data bus."""
    address_bits: int = 32
    """Width of AXI4 addresses."""
    longest_burst: int = 64
    """Maximum length of a burst, in beats."""
    reads_in_flight: int = 64
    """Maximum number of outstanding read bursts; the next field: of outstanding write bursts."""
    writes_in_flight: int = 64
    axi_cache: int = 0b0011
    """Value of AxCACHE for every access (default: normal, non-cacheable, bufferable)."""
    axi_prot: int = 0b000

    instruction_queue: int = 32
    """Depth of each unit's instruction queue, in instructions."""
    fetch_buffer: int = 128
    """Depth of the buffer between fetch and dispatch, in instructions."""
    load_buffer: int = 256
    """Depth of the load unit's read data buffer, in beats: data requested and not yet used."""
    compute_buffer: int = 256
    """Depth of the compute unit's read data buffer, in beats, for the LOADs that it executes."""

    features: frozenset[Feature] = frozenset()

    alu_operations: tuple[CustomOperation, ...] = ()
    """Operations of the ALU beyond those of the instruction set. They have the lowest opcodes that
    are free, in this order."""
    alu_stages: int = 1
    """Stages in which `alu_operations` are computed, up to `MOST_STAGES`: with n, an instruction of
    these operations leaves n - 1 slots empty before its first micro-op."""

    def __post_init__(self) -> None:
        _check_config(self)

    # The array --------------------------------------------------------------------------

    @property
    def batch(self) -> int:
        """Rows of the GEMM array's input."""
        return 1 << self.log_batch

    @property
    def block_in(self) -> int:
        """Input channels that one micro-op reduces."""
        return 1 << self.log_block_in

    @property
    def block_out(self) -> int:
        """Output channels that one micro-op produces."""
        return 1 << self.log_block_out

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the array in one cycle."""
        return self.batch * self.block_in * self.block_out

    @property
    def acc_lanes(self) -> int:
        """32-bit values in one accumulator element."""
        return self.batch * self.block_out

    # The memories -----------------------------------------------------------------------

    @property
    def memories(self) -> tuple[MemoryId, ...]:
        """The memory ids that the machine has."""
        return tuple(memory for memory in MemoryId if memory.needs <= self.features)

    def element_bytes(self, memory: MemoryId, coding: Coding = Coding.BITS_1) -> int:
        """Bytes of one element of `memory` in DRAM; of WGT_CODES in this coding."""
        match memory:
            case MemoryId.UOP:
                return UOP_BYTES
            case MemoryId.WGT:
                return self.block_out * self.block_in
            case MemoryId.INP:
                return self.batch * self.block_in
            case MemoryId.ACC:
                return self.acc_lanes * ACC_BYTES
            case MemoryId.OUT | MemoryId.ACC_8BIT:
                return self.acc_lanes
            case MemoryId.PAR:
                return self.block_out * PARAMETER_BYTES
            case MemoryId.WGT_CODES:
                scales = coding.scale_bytes(self.block_out, self.bus_bytes)
                return scales + coding.code_bytes(self.block_out, self.block_in, self.bus_bytes)

    def dram_unit(self, memory: MemoryId) -> int:
        """The bytes that `dram_base` and `x_stride` of a LOAD or STORE count: an element's; of
        WGT_CODES, whose elements have any number of beats, a beat's."""
        return self.bus_bytes if memory is MemoryId.WGT_CODES else self.element_bytes(memory)

    def index_bits(self, memory: MemoryId) -> int:
        """log2 of the number of elements of `memory`."""
        match memory:
            case MemoryId.UOP:
                return self.log_uop_buffer - 2
            case MemoryId.WGT | MemoryId.WGT_CODES:
                return self.log_wgt_buffer - self.log_block_in - self.log_block_out
            case MemoryId.INP:
                return self.log_inp_buffer - self.log_batch - self.log_block_in
            case MemoryId.ACC | MemoryId.OUT | MemoryId.ACC_8BIT:
                return self.log_acc_buffer - self.log_batch - self.log_block_out - 2
            case MemoryId.PAR:
                return self.log_par_buffer - self.log_block_out - PARAMETER_BYTES.bit_length() + 1

    def depth(self, memory: MemoryId) -> int:
        """Number of elements of `memory`."""
        return 1 << self.index_bits(memory)

    @property
    def operations(self) -> tuple[AluOp, ...]:
        """The ALU operations that the machine has."""
        return operations_of(self.features)

    @property
    def custom_operations(self) -> dict[int, CustomOperation]:
        """The operations of `alu_operations`, by their opcodes."""
        numbers = free_opcodes(self.features)
        return dict(zip(numbers, self.alu_operations, strict=False))

    @property
    def without_second(self) -> tuple[int, ...]:
        """The opcodes of operations without a second operand, which exclude one from memory."""
        return tuple(
            number for number, own in self.custom_operations.items() if not own.reads_second
        )

    @property
    def without_immediate(self) -> tuple[int, ...]:
        """The opcodes of operations whose second operand is in memory, beside parameters."""
        return tuple(
            number
            for number, own in self.custom_operations.items()
            if own.reads_second and own.parameters
        )

    def having(self, operations: Sequence[AluOp]) -> tuple[AluOp, ...]:
        """Those of `operations` that this machine has: their opcodes mean nothing else."""
        return tuple(op for op in operations if op in self.operations)

    @property
    def alu_opcodes(self) -> tuple[int, ...]:
        """The opcodes of all operations of the ALU."""
        return (*self.operations, *self.custom_operations)

    def alu_opcode(self, operation: AnyOperation) -> int:
        """The opcode of an operation.

        Raises
        ------
        EncodingError
            The machine does not have a custom operation.
        """
        if isinstance(operation, AluOp):
            return operation
        for number, own in self.custom_operations.items():
            if own == operation:
                return number
        names = ", ".join(own.name for own in self.alu_operations) or "none"
        raise EncodingError(
            f"ALU {operation.name} is an operation that {self.name} lacks: alu_operations has "
            f"{names}"
        )

    def alu_operation(self, number: int) -> AnyOperation:
        """The operation with an opcode of `alu_opcodes`."""
        custom = self.custom_operations.get(number)
        return AluOp(number) if custom is None else custom

    # The bus ----------------------------------------------------------------------------

    @property
    def bus_bytes(self) -> int:
        """Bytes in one beat."""
        return self.bus_bits // 8

    # Other configurations ---------------------------------------------------------------

    def differences(self, other: HardwareConfig) -> tuple[str, ...]:
        """What `other` has otherwise, the name aside, as texts: `bus_bits 64 and not 128`."""
        pairs = (
            (field.name, _shown(getattr(self, field.name)), _shown(getattr(other, field.name)))
            for field in fields(self)
            if field.name != "name"
        )
        return tuple(f"{name} {own} and not {its}" for name, own, its in pairs if own != its)

    def replace(self, **changes: Any) -> HardwareConfig:
        """This configuration with some fields changed (and checked again)."""
        unknown = changes.keys() - {field.name for field in fields(self)}
        if unknown:
            raise ConfigError(f"configuration has no field {', '.join(sorted(unknown))}")
        return replace(self, **changes)


def _shown(value: object) -> str:
    """A field's value; of features and operations their names."""
    if isinstance(value, frozenset):
        return "+".join(sorted(feature.value for feature in value)) or "none"
    if isinstance(value, tuple):
        return "+".join(operation.name for operation in value) or "none"
    return str(value)


_RANGES = {
    "log_batch": (0, 4),
    "log_block_in": (0, 7),
    "log_block_out": (0, 7),
    "log_uop_buffer": (3, 24),
    "log_inp_buffer": (1, 30),
    "log_wgt_buffer": (1, 30),
    "log_acc_buffer": (3, 30),
    "log_par_buffer": (4, 20),
    "acc_read_ports": (1, 2),
    "address_bits": (16, 64),
    "longest_burst": (1, 256),
    "reads_in_flight": (2, 256),
    "writes_in_flight": (2, 256),
    "axi_cache": (0, 15),
    "axi_prot": (0, 7),
    "instruction_queue": (2, 4096),
    "fetch_buffer": (8, 4096),
    "load_buffer": (2, 1 << 16),
    "compute_buffer": (2, 1 << 16),
    "alu_stages": (1, MOST_STAGES),
}
_BUS_BITS = (64, 128, 256, 512)
_SRAM_BASE_BITS = 16
"""Width of the field `sram_base` of LOAD and STORE."""
_POWERS_OF_TWO = ("instruction_queue", "fetch_buffer", "load_buffer", "compute_buffer")


def _check_config(config: HardwareConfig) -> None:
    """Raise `ConfigError` unless `config` describes a machine that can be built."""
    _check_name(config.name)
    for name, (low, high) in _RANGES.items():
        value = getattr(config, name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(f"{name} is {value!r}: it must be a whole number")
        if not low <= value <= high:
            raise ConfigError(f"{name} is {value}: it must lie in {low}..{high}")
    if config.bus_bits not in _BUS_BITS:
        raise ConfigError(f"bus_bits is {config.bus_bits}: it must be one of {_BUS_BITS}")
    for name in _POWERS_OF_TWO:
        value = getattr(config, name)
        if value & (value - 1):
            above = 1 << value.bit_length()
            raise ConfigError(
                f"{name} is {value}: it must be a power of two, such as {above // 2} or {above}"
            )
    _check_operations(config)
    _check_memories(config)
    _check_buffers(config)
    _check_encodings(config)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise ConfigError(f"name is {name!r}: it must be a string, not empty")
    if len(name) > NAME_LENGTH:
        raise ConfigError(
            f"name has {len(name):,} characters ({name[:NAME_LENGTH]!a}...): at most {NAME_LENGTH} "
            f"are allowed"
        )
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"name is {name!a}: it must be ASCII letters, digits and the characters _ . + -, and "
            f"begin with a letter, a digit or _"
        )


def _check_operations(config: HardwareConfig) -> None:
    operations = config.alu_operations
    if not isinstance(operations, tuple) or not all(
        isinstance(operation, CustomOperation) for operation in operations
    ):
        raise ConfigError(f"alu_operations is {operations!r}: it must be a tuple of operations")
    names = [operation.name for operation in operations]
    if len({*names}) < len(names):
        raise ConfigError(f"alu_operations has a name twice: {', '.join(names)}")
    free = free_opcodes(config.features)
    if len(operations) > len(free):
        raise ConfigError(
            f"alu_operations has {len(operations)} operations: {len(free)} opcodes are free"
        )
    if config.alu_stages > 1 and not operations:
        raise ConfigError(f"alu_stages is {config.alu_stages}: without alu_operations it must be 1")


def _check_memories(config: HardwareConfig) -> None:
    if Feature.INPUT_OPERANDS in config.features and config.block_in != config.block_out:
        raise ConfigError(
            f"log_block_in is {config.log_block_in} and log_block_out is {config.log_block_out}: "
            f"with the feature {Feature.INPUT_OPERANDS.value} they must be equal"
        )
    block, two_beats = config.element_bytes(MemoryId.WGT), 2 * config.bus_bytes
    if Feature.COMPRESSED_WEIGHTS in config.features and block < two_beats:
        least = two_beats.bit_length() - 1 - config.log_block_out
        raise ConfigError(
            f"log_block_in: a block of weights has {block} bytes; with the feature "
            f"{Feature.COMPRESSED_WEIGHTS.value} it has two beats, {two_beats} bytes, or more: it "
            f"is {config.log_block_in}, and must be at least {least}"
        )
    for memory in (MemoryId.UOP, MemoryId.WGT, MemoryId.INP, MemoryId.ACC, MemoryId.PAR):
        bits, field = config.index_bits(memory), _buffer_field(memory)
        log_bytes = getattr(config, field)
        element = config.element_bytes(memory)
        if bits < 1:
            raise ConfigError(
                f"{field}: {1 << log_bytes} bytes hold fewer than two elements of {element} "
                f"bytes: it is {log_bytes}, and must be at least {log_bytes + 1 - bits}"
            )
        if bits > _SRAM_BASE_BITS:
            raise ConfigError(
                f"{field}: {1 << bits} elements of {element} bytes; the sram_base field reaches "
                f"{1 << _SRAM_BASE_BITS}: it is {log_bytes}, and must be at most "
                f"{log_bytes + _SRAM_BASE_BITS - bits}"
            )


def _check_buffers(config: HardwareConfig) -> None:
    burst = config.longest_burst
    for name in ("load_buffer", "compute_buffer"):
        beats = getattr(config, name)
        if beats < burst:
            raise ConfigError(
                f"{name} is {beats} beats: a burst of {burst} (longest_burst) is only requested "
                f"with space for all of it: raise {name} to {1 << (burst - 1).bit_length()} or "
                f"lower longest_burst to {beats}"
            )


def _check_encodings(config: HardwareConfig) -> None:
    remedies = depth_remedies(config)
    if remedies is None:
        return
    words = ", ".join(
        f"the {word.name} word needs {word.width} bits and has {word.size}"
        for word in remedies.too_wide
    )
    ways = [_lowered(config, {memory: by}) for memory, by in remedies.alone.items()]
    together = _lowered(config, remedies.together)
    if together not in ways:
        ways.append(together)
    raise ConfigError(f"{words}, for memories of these depths: lower {'; or '.join(ways)}")


def _lowered(config: HardwareConfig, reduction: Reduction) -> str:
    """The fields of a reduction, with their values before and after."""
    return " and ".join(
        f"{field} from {getattr(config, field)} to {getattr(config, field) - by}"
        for field, by in ((_buffer_field(memory), by) for memory, by in reduction.items())
    )


def _buffer_field(memory: MemoryId) -> str:
    """The field that has the size of a memory."""
    return f"log_{memory.name.lower()}_buffer"
