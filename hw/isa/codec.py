"""Encoding and decoding of single instructions and micro-ops, by the layouts of `hw.encoding`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import cached_property
from typing import Any

from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.encoding import (
    FIELDS_OF,
    INSTRUCTION_BYTES,
    UOP_BYTES,
    Opcode,
    WordLayout,
    instruction_layout,
    opcodes_of,
    uop_layout,
)
from tandem.hw.errors import EncodingError, ProgramError
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.instruction_fields import HEADER
from tandem.hw.isa.field_writer import Writer
from tandem.hw.isa.instructions import (
    Alu,
    Finish,
    Gemm,
    Instruction,
    Load,
    MicroOp,
    Requantise,
    Store,
    Table,
    Tokens,
    opcode_of,
)
from tandem.hw.isa.number_texts import numbers_text
from tandem.hw.operations import AluOp
from tandem.hw.topology import TOKEN_FLAGS


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
        self._check_features(opcode, instruction)
        flags, numbers = self._writers[opcode]
        for writer in flags:
            word |= writer.bits(getattr(instruction.tokens, writer.attribute))
        for writer in numbers:
            value = getattr(instruction, writer.attribute)
            word |= writer.bits(self._number(value))
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
                Fault.OPCODE, position, f"opcode {number} is none of {numbers_text(self._layouts)}"
            )
        opcode = Opcode(number)
        layout = self._layouts[opcode]
        if unused := word & layout.unused:
            lowest = (unused & -unused).bit_length() - 1
            raise ProgramError(
                Fault.FEATURE, position, f"{opcode.name} sets bit {lowest}, which no field has"
            )
        values = _fields(layout, word)
        self._check_values(opcode, values, position)
        arguments = _arguments(layout, values)
        if opcode is Opcode.ALU:
            arguments["op"] = self._config.alu_operation(values["alu_opcode"])
        return _CLASSES[opcode](tokens=_tokens(values), **arguments)

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

    def _check_values(
        self, opcode: Opcode, values: Mapping[str, int], position: int | None
    ) -> None:
        """Raise `ProgramError` for a memory id or an ALU opcode that the configuration lacks."""
        config = self._config
        if opcode in (Opcode.LOAD, Opcode.STORE):
            number = values["memory_type"]
            if number not in config.memories:
                message = f"memory id {number} is none of {numbers_text(config.memories)}"
                raise ProgramError(Fault.MEMORY_ID, position, message)
        if opcode is Opcode.ALU and values["alu_opcode"] not in config.alu_opcodes:
            message = f"alu_opcode {values['alu_opcode']} is an extension that {config.name} lacks"
            raise ProgramError(Fault.FEATURE, position, message)

    def _check_features(self, opcode: Opcode, instruction: Instruction) -> None:
        """Raise `EncodingError` if an instruction needs features that the configuration lacks."""
        match instruction:
            case Load(memory=memory) | Store(memory=memory):
                self._require(memory.needs, f"{opcode.name} of {memory.name}")
            case Alu(op=AluOp() as op):
                self._require(op.needs, f"ALU {op.name}")
            case Requantise() | Table():
                self._require(opcode.needs, opcode.name)
            case _:
                pass
        for spec in _EXTENSIONS[opcode]:
            if spec.needs is not None and getattr(instruction, spec.python_name) != spec.default:
                self._require({spec.needs}, f"{opcode.name} {spec.name}")

    def _number(self, value: object) -> object:
        """A field's value as it is encoded: of a custom operation its opcode."""
        return self._config.alu_opcode(value) if isinstance(value, CustomOperation) else value

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


def _arguments(layout: WordLayout, fields: Mapping[str, int]) -> dict[str, Any]:
    """What the class of an instruction takes beside its tokens and the ALU's operation."""
    found: dict[str, Any] = {}
    for field in layout.fields[len(HEADER) :]:
        value = fields[field.name]
        if field.kind is AluOp:
            continue
        found[field.attribute] = value if field.kind is int else field.kind(value)
    return found


_CLASSES: Mapping[Opcode, Callable[..., Instruction]] = {
    Opcode.LOAD: Load,
    Opcode.STORE: Store,
    Opcode.GEMM: Gemm,
    Opcode.FINISH: Finish,
    Opcode.ALU: Alu,
    Opcode.REQUANTISE: Requantise,
    Opcode.TABLE: Table,
}
_EXTENSIONS = {
    opcode: [spec for spec in specs if spec.needs is not None]
    for opcode, specs in FIELDS_OF.items()
}
"""By opcode, the fields that extensions add."""
