"""Encoding and decoding of single instructions and micro-ops, by the layouts of `hw.encoding`."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cached_property
from typing import assert_never

from hw.config import HardwareConfig
from hw.encoding import (
    INSTRUCTION_BYTES,
    UOP_BYTES,
    Opcode,
    WordLayout,
    instruction_layout,
    opcodes_of,
    uop_layout,
)
from hw.errors import EncodingError, ProgramError
from hw.faults import Fault
from hw.features import Feature
from hw.isa.field_writer import Writer
from hw.isa.instructions import (
    Alu,
    Finish,
    Gemm,
    Instruction,
    Load,
    MicroOp,
    Requantise,
    Store,
    Tokens,
    opcode_of,
)
from hw.operations import AluOp
from hw.topology import TOKEN_FLAGS, MemoryId


class Codec:
    """Encoder and decoder of one configuration.

    Words are little endian. Bits of an instruction that belong to no field are written as zero and
    must be zero; those of a micro-op are ignored.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        self._layouts = {
            opcode: instruction_layout(config, opcode) for opcode in opcodes_of(config)
        }
        self._uop = uop_layout(config)

    def encode(self, instruction: Instruction) -> bytes:
        """The 16 bytes of `instruction`; `EncodingError` where a value does not fit its field."""
        opcode = opcode_of(instruction)
        word = int(opcode)
        self._check_features(instruction)
        flags, numbers = self._writers[opcode]
        for writer in flags:
            word |= writer.bits(getattr(instruction.tokens, writer.attribute))
        for writer in numbers:
            word |= writer.bits(getattr(instruction, writer.attribute))
        return word.to_bytes(INSTRUCTION_BYTES, "little")

    def decode(self, data: bytes, position: int | None = None) -> Instruction:
        """The instruction that 16 bytes encode.

        Raises
        ------
        ProgramError
            An opcode, a memory id or an ALU opcode that this configuration does not have, and bits
            that belong to no field. `position` is the index that the error names.
        EncodingError
            `data` is not 16 bytes long.
        """
        if len(data) != INSTRUCTION_BYTES:
            raise EncodingError(f"an instruction is {INSTRUCTION_BYTES} bytes, not {len(data)}")
        word = int.from_bytes(data, "little")
        number = word & 7
        if number not in self._layouts:
            raise ProgramError(
                Fault.OPCODE, position, f"opcode {number} is none of 0..{max(self._layouts)}"
            )
        opcode = Opcode(number)
        layout = self._layouts[opcode]
        if unused := word & layout.unused:
            lowest = (unused & -unused).bit_length() - 1
            raise ProgramError(
                Fault.FEATURE, position, f"{opcode.name} sets bit {lowest}, which no field has"
            )
        values = _fields(layout, word)
        match opcode:
            case Opcode.LOAD | Opcode.STORE:
                return _memory_instruction(self._config, opcode, values, position)
            case Opcode.GEMM:
                return _gemm_instruction(values)
            case Opcode.ALU:
                return _alu_instruction(self._config, values, position)
            case Opcode.FINISH:
                return Finish(tokens=_tokens(values))
            case Opcode.REQUANTISE:
                return _requantise_instruction(values)
            case _:
                assert_never(opcode)

    def encode_uop(self, uop: MicroOp) -> bytes:
        """The 4 bytes of `uop`; `EncodingError` where an index does not fit."""
        word = 0
        for writer in self._uop_writers:
            word |= writer.bits(getattr(uop, writer.attribute))
        return word.to_bytes(UOP_BYTES, "little")

    def decode_uop(self, data: bytes) -> MicroOp:
        """The micro-op that 4 bytes encode."""
        if len(data) != UOP_BYTES:
            raise EncodingError(f"a micro-op is {UOP_BYTES} bytes, not {len(data)}")
        return MicroOp(**_fields(self._uop, int.from_bytes(data, "little")))

    def _check_features(self, instruction: Instruction) -> None:
        """Raise `EncodingError` if an instruction needs features that the configuration lacks."""
        match instruction:
            case Load(memory=memory) | Store(memory=memory):
                self._require(memory.needs, f"{opcode_of(instruction).name} of {memory.name}")
            case Gemm(overwrite=True):
                self._require({Feature.OVERWRITE}, "GEMM overwrite")
            case Alu(op=op, from_inp=from_inp):
                self._require(op.needs, f"ALU {op.name}")
                if from_inp:
                    self._require({Feature.INPUT_OPERANDS}, "ALU from_inp")
            case Requantise():
                self._require(Opcode.REQUANTISE.needs, "REQUANTISE")
            case _:
                pass

    def _require(self, features: Set[Feature], what: str) -> None:
        missing = sorted(each.value for each in features - self._config.features)
        if missing:
            raise EncodingError(
                f"{what} is an extension that {self._config.name} lacks: "
                f"its features must have {' and '.join(map(repr, missing))}"
            )

    @cached_property
    def _writers(self) -> dict[Opcode, tuple[list[Writer], list[Writer]]]:
        """By opcode, the writers of token flags and the writers of all other fields."""
        found = {}
        for opcode, layout in self._layouts.items():
            writers = [Writer.of(opcode.name, field) for field in layout if field.name != "opcode"]
            flags = [writer for writer in writers if writer.name in TOKEN_FLAGS]
            numbers = [writer for writer in writers if writer.name not in TOKEN_FLAGS]
            found[opcode] = flags, numbers
        return found

    @cached_property
    def _uop_writers(self) -> list[Writer]:
        return [Writer.of("micro-op", field) for field in self._uop]


def encode(config: HardwareConfig, instruction: Instruction) -> bytes:
    """`Codec.encode` for one instruction."""
    return Codec(config).encode(instruction)


def decode(config: HardwareConfig, data: bytes) -> Instruction:
    """`Codec.decode` for one instruction."""
    return Codec(config).decode(data)


def encode_uop(config: HardwareConfig, uop: MicroOp) -> bytes:
    """`Codec.encode_uop` for one micro-op."""
    return Codec(config).encode_uop(uop)


def decode_uop(config: HardwareConfig, data: bytes) -> MicroOp:
    """`Codec.decode_uop` for one micro-op."""
    return Codec(config).decode_uop(data)


def _fields(layout: WordLayout, word: int) -> dict[str, int]:
    values = {}
    for field in layout:
        value = word >> field.lsb & ((1 << field.width) - 1)
        if field.signed and value >> (field.width - 1):
            value -= 1 << field.width
        values[field.name] = value
    return values


def _tokens(fields: Mapping[str, int]) -> Tokens:
    return Tokens(**{name: bool(fields[name]) for name in TOKEN_FLAGS})


def _memory_instruction(
    config: HardwareConfig, opcode: Opcode, fields: dict[str, int], position: int | None
) -> Load | Store:
    number = fields["memory_type"]
    if number not in config.memories:
        raise ProgramError(
            Fault.MEMORY_ID, position, f"memory id {number} is none of 0..{max(config.memories)}"
        )
    make = Load if opcode is Opcode.LOAD else Store
    return make(
        memory=MemoryId(number),
        sram_base=fields["sram_base"],
        dram_base=fields["dram_base"],
        y_size=fields["y_size"],
        x_size=fields["x_size"],
        x_stride=fields["x_stride"],
        y_pad_0=fields["y_pad_0"],
        y_pad_1=fields["y_pad_1"],
        x_pad_0=fields["x_pad_0"],
        x_pad_1=fields["x_pad_1"],
        tokens=_tokens(fields),
    )


def _gemm_instruction(fields: dict[str, int]) -> Gemm:
    return Gemm(
        reset=bool(fields["reset_reg"]),
        uop_bgn=fields["uop_bgn"],
        uop_end=fields["uop_end"],
        iter_out=fields["iter_out"],
        iter_in=fields["iter_in"],
        dst_factor_out=fields["dst_factor_out"],
        dst_factor_in=fields["dst_factor_in"],
        src_factor_out=fields["src_factor_out"],
        src_factor_in=fields["src_factor_in"],
        wgt_factor_out=fields["wgt_factor_out"],
        wgt_factor_in=fields["wgt_factor_in"],
        overwrite=bool(fields.get("overwrite", 0)),
        tokens=_tokens(fields),
    )


def _alu_instruction(config: HardwareConfig, fields: dict[str, int], position: int | None) -> Alu:
    number = fields["alu_opcode"]
    if number not in config.operations:
        raise ProgramError(
            Fault.FEATURE,
            position,
            f"alu_opcode {number} is an extension that {config.name} lacks",
        )
    return Alu(
        op=AluOp(number),
        use_imm=bool(fields["use_imm"]),
        imm=fields["imm"],
        uop_bgn=fields["uop_bgn"],
        uop_end=fields["uop_end"],
        iter_out=fields["iter_out"],
        iter_in=fields["iter_in"],
        dst_factor_out=fields["dst_factor_out"],
        dst_factor_in=fields["dst_factor_in"],
        src_factor_out=fields["src_factor_out"],
        src_factor_in=fields["src_factor_in"],
        reset=bool(fields["reset_reg"]),
        from_inp=bool(fields.get("from_inp", 0)),
        tokens=_tokens(fields),
    )


def _requantise_instruction(fields: dict[str, int]) -> Requantise:
    return Requantise(
        active=bool(fields["active"]),
        low=fields["low"],
        high=fields["high"],
        scale=fields["scale"],
        par_base=fields["par_base"],
        par_factor_out=fields["par_factor_out"],
        par_factor_in=fields["par_factor_in"],
        tokens=_tokens(fields),
    )
