"""Fields by name and by number, and the units of instructions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.isa import Instruction, Program, unit_of
from tandem.hw.isa.columns import (
    FIELD_NAMES,
    FIELDS,
    FROM_INP,
    OPCODE,
    X_PAD_1,
    make_table,
    units_of,
)
from tests.support.hw.strategies import configs, instructions


def test_numbers_of_fields() -> None:
    assert FIELD_NAMES[OPCODE] == "opcode"
    assert FIELD_NAMES[X_PAD_1] == "x_pad_1"
    assert FIELD_NAMES[FROM_INP] == "from_inp"
    assert len(FIELD_NAMES) == FIELDS


@given(data=st.data())
def test_a_field_by_name_by_number_and_in_a_row(data: st.DataObject) -> None:
    config = data.draw(configs())
    drawn: list[Instruction] = data.draw(st.lists(instructions(config), min_size=1, max_size=4))
    columns = Program.from_instructions(config, drawn).columns()
    table = make_table(columns)
    assert table.shape == (len(drawn), FIELDS)
    for number, name in enumerate(FIELD_NAMES):
        assert columns[number] is getattr(columns, name)
        np.testing.assert_array_equal(table[:, number], columns[number])
    assert units_of(columns).tolist() == [unit_of(instruction) for instruction in drawn]
