"""Programs: sequences of encoded instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.errors import EncodingError
from tandem.hw.isa.codec import Codec
from tandem.hw.isa.column_codec import decode_columns, encode_columns
from tandem.hw.isa.columns import Columns, units_of
from tandem.hw.isa.instructions import Instruction


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions, 16 bytes each, for one configuration, legal or not (`validate`).

    Raises
    ------
    EncodingError
        `data` is empty or does not end with a whole instruction.
    """

    config: HardwareConfig
    data: bytes

    def __post_init__(self) -> None:
        whole, rest = divmod(len(self.data), INSTRUCTION_BYTES)
        if rest:
            raise EncodingError(
                f"truncated program: {len(self.data)} bytes are {whole} instructions of "
                f"{INSTRUCTION_BYTES} bytes and {rest} bytes of another"
            )
        if not whole:
            raise EncodingError("empty program: it must hold at least a FINISH (16 bytes)")

    @classmethod
    def from_bytes(cls, config: HardwareConfig, data: bytes | bytearray | memoryview) -> Program:
        """The program that `data` encodes."""
        return cls(config, bytes(data))

    @classmethod
    def from_instructions(
        cls, config: HardwareConfig, instructions: Iterable[Instruction]
    ) -> Program:
        """Encode `instructions`; `EncodingError` names an instruction that does not fit."""
        codec = Codec(config)
        words = []
        for position, instruction in enumerate(instructions):
            try:
                words.append(codec.encode(instruction))
            except EncodingError as error:
                raise EncodingError(f"instruction {position}: {error}") from None
        return cls(config, b"".join(words))

    @classmethod
    def from_columns(cls, config: HardwareConfig, columns: Columns) -> Program:
        """Encode the fields of all instructions at once; `EncodingError` names the instruction that
        does not fit."""
        return cls(config, encode_columns(config, columns))

    def __len__(self) -> int:
        """Number of instructions."""
        return len(self.data) // INSTRUCTION_BYTES

    def __getitem__(self, position: int) -> Instruction:
        """Decode one instruction; `ProgramError` if no `Instruction` can represent the word."""
        return Codec(self.config).decode(self.word(position), self._index(position))

    def __iter__(self) -> Iterator[Instruction]:
        codec = Codec(self.config)
        for position in range(len(self)):
            yield codec.decode(self.word(position), position)

    def word(self, position: int) -> bytes:
        """The 16 bytes of one instruction."""
        start = INSTRUCTION_BYTES * self._index(position)
        return self.data[start : start + INSTRUCTION_BYTES]

    def columns(self) -> Columns:
        """Every field of every instruction, as arrays."""
        return decode_columns(self.config, self.data)

    def units(self) -> npt.NDArray[np.int8]:
        """The unit that executes each instruction; -1 where the opcode is illegal."""
        return units_of(self.columns())

    def _index(self, position: int) -> int:
        length = len(self)
        if not -length <= position < length:
            raise IndexError(f"instruction {position} of a program of {length}")
        return position % length
