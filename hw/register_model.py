"""What a control register is: its place, its access, and its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum, IntFlag
from itertools import pairwise
from typing import Self

from tandem.hw.config import HardwareConfig
from tandem.hw.errors import RegisterMapError
from tandem.hw.features import BASE, Feature

WORD_BITS = 32
"""Width of the AXI4-Lite data; a wider register is several words, the low one first."""
WORD_BYTES = 4


class Access(Enum):
    """Access types of a register."""

    READ_ONLY = "ro"
    READ_WRITE = "rw"
    WRITE_ONE = "w1"
    """Writing 1 to a bit triggers its action (launch, clear); reads return the state."""


class Flag(IntFlag):
    """Base of the enumerations of a register's bits: a bit's number, and what it means.

    Members are masks, so that `Status.DONE in status` reads a register.
    """

    bit: int
    meaning: str

    def __new__(cls, bit: int, meaning: str = "") -> Self:
        """The member at `bit`."""
        member = int.__new__(cls, 1 << bit)
        member._value_ = 1 << bit
        member.bit = bit
        member.meaning = meaning
        return member


Value = Callable[[HardwareConfig], int]
"""What a field reads as in every machine of a configuration."""


@dataclass(frozen=True, slots=True)
class RegisterField:
    """A bit field of a register: `width` bits from bit `lsb` up.

    Attributes
    ----------
    constant
        Of a field that no run changes: its value in a machine.
    reset
        What it reads as after a reset, where it is no constant.
    codes
        The values that it takes, where they have names.
    """

    name: str
    lsb: int
    width: int
    meaning: str
    constant: Value | None = None
    reset: int = 0
    codes: type[IntEnum] | None = None

    @property
    def mask(self) -> int:
        """The field's bits in its register."""
        return ((1 << self.width) - 1) << self.lsb


@dataclass(frozen=True, slots=True)
class Register:
    """One control register.

    Attributes
    ----------
    offset
        In bytes.
    needs
        The features of a machine with this register.
    """

    name: str
    offset: int
    bits: int
    access: Access
    meaning: str
    fields: tuple[RegisterField, ...]
    needs: frozenset[Feature] = BASE

    @property
    def whole(self) -> bool:
        """Whether one field is the whole register."""
        return self.fields[0].width == self.bits

    @property
    def constant(self) -> bool:
        """Whether no run changes the register."""
        return all(field.constant is not None for field in self.fields)

    @property
    def mask(self) -> int:
        """The bits of all fields; other bits read as 0."""
        return sum(field.mask for field in self.fields)

    @property
    def words(self) -> tuple[tuple[str, int, int], ...]:
        """Name, offset and least significant bit of each word of the register."""
        names = (self.name, f"{self.name}_high")
        return tuple(
            (name, self.offset + lsb // 8, lsb)
            for name, lsb in zip(names, range(0, self.bits, WORD_BITS), strict=False)
        )

    def value(self, config: HardwareConfig) -> int:
        """What a machine's register reads as after a reset."""
        return sum(
            (field.reset if field.constant is None else field.constant(config)) << field.lsb
            for field in self.fields
        )


def whole_register(
    name: str,
    offset: int,
    bits: int,
    access: Access,
    meaning: str,
    needs: frozenset[Feature] = BASE,
    *,
    constant: Value | None = None,
    reset: int = 0,
    codes: type[IntEnum] | None = None,
) -> Register:
    """A register that is one value."""
    field = RegisterField("value", 0, bits, meaning, constant, reset, codes)
    return Register(name, offset, bits, access, meaning, (field,), needs)


def packed_register(
    name: str, offset: int, meaning: str, fields: Iterable[tuple[str, int, str, Value]]
) -> Register:
    """A word of constants: name, width, meaning and value of each, from bit 0 up."""
    placed, lsb = [], 0
    for field, width, says, constant in fields:
        placed.append(RegisterField(field, lsb, width, says, constant))
        lsb += width
    return Register(name, offset, WORD_BITS, Access.READ_ONLY, meaning, tuple(placed))


def flag_register(
    name: str, offset: int, access: Access, meaning: str, flags: type[Flag]
) -> Register:
    """A word of single bits."""
    fields = tuple(RegisterField(_text(flag), flag.bit, 1, flag.meaning) for flag in flags)
    return Register(name, offset, WORD_BITS, access, meaning, fields)


def _text(member: Flag) -> str:
    assert member.name is not None
    return member.name.lower()


def checked(registers: Iterable[Register], address_bits: int) -> tuple[Register, ...]:
    """The registers in order of offset.

    Raises
    ------
    RegisterMapError
        Two registers or two fields that overlap or have one name, a register that is not at a
        word's offset below 2 to the power of `address_bits`, or a field outside of its register.
    """
    ordered = tuple(sorted(registers, key=lambda register: register.offset))
    if len({register.name for register in ordered}) < len(ordered):
        raise RegisterMapError("two registers have one name")
    for register in ordered:
        end = register.offset + register.bits // 8
        if register.offset % WORD_BYTES or register.bits % WORD_BITS or end > 1 << address_bits:
            raise RegisterMapError(
                f"register {register.name} has {register.bits} bits at {register.offset:#x}: "
                f"registers are whole words of {WORD_BITS} bits below {1 << address_bits:#x}"
            )
        _check_fields(register)
    for one, other in pairwise(ordered):
        if one.offset + one.bits // 8 > other.offset:
            raise RegisterMapError(
                f"registers {one.name} and {other.name} overlap at {other.offset:#x}"
            )
    return ordered


def _check_fields(register: Register) -> None:
    taken, names = 0, set()
    for field in register.fields:
        where = f"field {field.name} of register {register.name}"
        if field.width < 1 or field.lsb < 0 or field.mask >> register.bits:
            raise RegisterMapError(f"{where} is outside of its {register.bits} bits")
        if taken & field.mask or field.name in names:
            raise RegisterMapError(f"{where} overlaps another one, or has its name")
        taken |= field.mask
        names.add(field.name)
