"""The control registers of a machine, from the map in `hw.registers`."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Const, Module, Mux, ShapeLike, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.register_model import WORD_BITS, WORD_BYTES, Access, Register
from tandem.hw.registers import registers_of
from tandem.hw.rtl.axi_lite import WordPort
from tandem.hw.rtl.block import Block


def register_shape(register: Register) -> ShapeLike:
    """The shape of a register: its fields by name, or a number where one field is all of it."""
    if register.whole:
        return register.bits
    fields = {field.name: data.Field(field.width, field.lsb) for field in register.fields}
    return data.FlexibleLayout(register.bits, fields)


class RegisterFile(Block):
    """The registers of `config`; those whose fields are all constant have no member.

    Members
    -------
    port
        Accesses by the bus.
    a read-only register
        In: the value that a read returns.
    a read-write register
        Out: the value last written.
    a write-one register
        `<name>_set`, out: the bits written as 1, in the cycle after the write; `<name>`, in: the
        value read.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        self._registers = registers_of(config.features)
        members: dict[str, Member] = {}
        for register in self._registers:
            shape = register_shape(register)
            match register.access:
                case Access.READ_ONLY if register.constant:
                    pass
                case Access.READ_ONLY:
                    members[register.name] = In(shape)
                case Access.READ_WRITE:
                    members[register.name] = Out(shape)
                case Access.WRITE_ONE:
                    members[register.name] = In(shape)
                    members[f"{register.name}_set"] = Out(shape)
        super().__init__({"port": In(WordPort()), **members})

    def build(self, m: Module) -> None:
        port = self.port
        for register in self._registers:
            if register.access is Access.WRITE_ONE:
                m.d.sync += self._value(f"{register.name}_set").eq(0)
        places = [
            (offset // WORD_BYTES, register, lsb // WORD_BITS)
            for register in self._registers
            for _, offset, lsb in register.words
        ]
        with m.Switch(port.write_word):
            for word, register, part in places:
                with m.Case(word):
                    m.d.comb += port.write_known.eq(1)
                    with m.If(port.write):
                        self._write(m, register, part)
        # A chain of choices, as of a switch, would be three times as many look-up tables.
        reads = [
            (port.read_word == word, self._read(register).word_select(part, WORD_BITS))
            for word, register, part in places
        ]
        m.d.comb += [
            port.read_known.eq(reduce(or_, (selected for selected, _ in reads))),
            port.read_data.eq(reduce(or_, (Mux(selected, value, 0) for selected, value in reads))),
        ]

    def _value(self, name: str) -> Value:
        return Value.cast(getattr(self, name))

    def _read(self, register: Register) -> Value:
        if register.constant:
            return Const(register.value(self._config), register.bits)
        return self._value(register.name)

    def _write(self, m: Module, register: Register, part: int) -> None:
        match register.access:
            case Access.READ_ONLY:
                return
            case Access.READ_WRITE:
                target = self._value(register.name).word_select(part, WORD_BITS)
            case Access.WRITE_ONE:
                target = self._value(f"{register.name}_set")
        # Bits of no field stay 0.
        mask = register.mask >> part * WORD_BITS & ((1 << WORD_BITS) - 1)
        new = self.port.write_data & mask
        for lane in range(WORD_BYTES):
            with m.If(self.port.strobe[lane]):
                m.d.sync += target.word_select(lane, 8).eq(new.word_select(lane, 8))
