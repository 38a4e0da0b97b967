"""The table of fields, and what declares the same fields with types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.encoding import FIELDS_OF, Opcode, instruction_layout, uop_layout
from tandem.hw.features import Feature
from tandem.hw.instruction_fields import HEADER, MICRO_OP, FieldSpecs, own_fields
from tandem.hw.isa import (
    Alu,
    Columns,
    Finish,
    Gemm,
    Instruction,
    Load,
    MicroOp,
    Requantise,
    Store,
    Table,
    Tokens,
)
from tandem.hw.isa.instructions import AluExtensions, GemmExtensions
from tandem.hw.topology import TOKEN_FLAGS, MemoryId

EXTENDED = load_config("pynq").replace(name="extended", features=frozenset(Feature))
CLASSES: Mapping[Opcode, type[Instruction]] = {
    Opcode.LOAD: Load,
    Opcode.STORE: Store,
    Opcode.GEMM: Gemm,
    Opcode.FINISH: Finish,
    Opcode.ALU: Alu,
    Opcode.REQUANTISE: Requantise,
    Opcode.TABLE: Table,
}


def declared(kind: type[Any]) -> dict[str, object]:
    """The attributes of a dataclass, each with its default, or None."""
    return {
        field.name: None if field.default is MISSING else field.default for field in fields(kind)
    }


def specified(specs: FieldSpecs) -> dict[str, object]:
    """The attributes that fields have in Python, each with its default, or None."""
    return {spec.python_name: spec.default for spec in specs}


@pytest.mark.parametrize("opcode", Opcode)
def test_instructions_have_the_fields_of_the_table(opcode: Opcode) -> None:
    attributes = declared(CLASSES[opcode])
    assert attributes.pop("tokens") == Tokens()
    assert attributes == specified(own_fields(FIELDS_OF[opcode]))


def test_tokens_are_the_fields_that_all_instructions_have() -> None:
    assert declared(Tokens) == specified(HEADER[1:])
    assert tuple(spec.name for spec in HEADER[1:]) == TOKEN_FLAGS


def test_the_assembler_takes_the_fields_of_extensions() -> None:
    for opcode, options in ((Opcode.GEMM, GemmExtensions), (Opcode.ALU, AluExtensions)):
        added = {spec.python_name for spec in FIELDS_OF[opcode] if spec.needs is not None}
        assert set(options.__annotations__) == added


def test_micro_ops_have_the_fields_of_the_table() -> None:
    assert declared(MicroOp) == specified(MICRO_OP)


def test_there_is_a_column_for_each_field() -> None:
    columns = {field.name for field in fields(Columns)} - {"unused"}
    assert columns == {spec.name for specs in FIELDS_OF.values() for spec in specs}


def test_a_name_has_one_kind_of_values() -> None:
    kinds: dict[str, tuple[object, ...]] = {}
    for specs in FIELDS_OF.values():
        for spec in specs:
            kind = spec.kind, spec.signed, spec.python_name
            assert kinds.setdefault(spec.name, kind) == kind


@pytest.mark.parametrize("opcode", Opcode)
def test_a_machine_with_all_extensions_has_all_fields_in_order(opcode: Opcode) -> None:
    layout = instruction_layout(EXTENDED, opcode)
    assert [field.name for field in layout] == [spec.name for spec in FIELDS_OF[opcode]]
    for spec, field in zip(FIELDS_OF[opcode], layout, strict=True):
        assert (field.kind, field.signed) == (spec.kind, spec.signed)
        if isinstance(spec.width, int):
            assert field.width == spec.width
        assert spec.kind is not bool or field.width == 1


@pytest.mark.parametrize("feature", Feature)
def test_a_field_of_an_extension_is_absent_without_it(feature: Feature) -> None:
    without = EXTENDED.replace(features=frozenset(Feature) - {feature})
    for opcode in (Opcode.GEMM, Opcode.ALU):
        names = {field.name for field in instruction_layout(without, opcode)}
        added = {spec.name for spec in FIELDS_OF[opcode] if spec.needs is feature}
        assert names == {spec.name for spec in FIELDS_OF[opcode]} - added


def test_fields_of_extensions_say_what_uses_them() -> None:
    for specs in FIELDS_OF.values():
        for spec in specs:
            assert bool(spec.use) is (spec.needs is not None)
            assert spec.needs is None or spec.default is not None


def test_the_source_of_a_micro_op_is_wide_enough_for_both_memories() -> None:
    tiny = load_config("tiny")
    for deeper in (MemoryId.INP, MemoryId.ACC):
        name = f"log_{deeper.name.lower()}_buffer"
        config = tiny.replace(**{name: getattr(tiny, name) + 4})
        assert uop_layout(config)["src"].width == config.index_bits(deeper)
