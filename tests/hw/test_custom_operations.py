"""Operations of a configuration's own: JSON both ways, parameters in an immediate, and refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.custom_operations import (
    PARAMETER_BITS,
    AluParameter,
    CustomOperation,
    free_opcodes,
)
from tandem.hw.errors import TermError
from tandem.hw.features import Feature

CLIP = CustomOperation.from_json(
    {
        "name": "CLIP",
        "result": "min(max(int32(a + b) >> shift, low), 127)",
        "parameters": {"shift": "uint5", "low": "int8"},
    }
)


def test_json() -> None:
    plain = CLIP.to_json()
    assert CustomOperation.from_json(json.loads(json.dumps(plain))) == CLIP
    assert plain["parameters"] == {"shift": "uint5", "low": "int8"}
    assert "parameters" not in CustomOperation.from_json({"name": "X", "result": "a"}).to_json()


def test_by_hand() -> None:
    immediate = CLIP.immediate({"shift": 3, "low": -128})
    assert immediate == 3 | 0x80 << 5
    assert CLIP.apply(1000, 24, immediate) == 127
    assert CLIP.apply(-80, 0, immediate) == -10
    assert CLIP.apply(-(1 << 20), 0, immediate) == -128
    # 2^31 wraps, because the term says so.
    assert CLIP.apply((1 << 31) - 1, 1, immediate) == -128
    assert CLIP.reads_second
    assert not CLIP.immediate_operand


def test_the_result_wraps() -> None:
    double = CustomOperation.from_json({"name": "DOUBLE", "result": "a + a"})
    assert double.apply(1 << 30, 0) == -(1 << 31)
    assert not double.reads_second
    both = CustomOperation.from_json({"name": "XOR", "result": "a ^ b"})
    assert both.immediate_operand
    assert both.apply(-1, 5, 77) == -6


@st.composite
def parameter_lists(draw: st.DrawFn) -> list[AluParameter]:
    left = PARAMETER_BITS
    found: list[AluParameter] = []
    while left and len(found) < 4:
        width = draw(st.integers(1, left))
        found.append(AluParameter(f"p{len(found)}", width, draw(st.booleans())))
        left -= width
    return found


@given(parameter_lists(), st.data())
def test_parameters_in_an_immediate(parameters: list[AluParameter], data: st.DataObject) -> None:
    result = "a + " + " + ".join(each.name for each in parameters)
    types = {each.name: each.type_text for each in parameters}
    operation = CustomOperation.from_json({"name": "SUM", "result": result, "parameters": types})
    assert operation.parameters == tuple(parameters)
    values = {each.name: data.draw(st.integers(*each.limits)) for each in parameters}
    immediate = operation.immediate(values)
    assert -(1 << 15) <= immediate < 1 << 15
    assert operation.values_of(immediate) == values
    assert operation.apply(10, 0, immediate) == 10 + sum(values.values())
    name = data.draw(st.sampled_from(parameters))
    beyond = data.draw(st.sampled_from([name.limits[0] - 1, name.limits[1] + 1]))
    with pytest.raises(TermError, match=f"{name.name} is {beyond}: it must lie in"):
        operation.immediate({**values, name.name: beyond})


def test_the_names_of_parameters() -> None:
    for values in ({"shift": 1}, {"shift": 1, "low": 0, "more": 2}, {}):
        with pytest.raises(TermError, match="its parameters are shift, low"):
            CLIP.immediate(values)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3, "an operation is an object with name and result, not 3"),
        ({"name": "X"}, "it has a name and a result"),
        ({"name": "X", "result": 5}, "it has a name and a result"),
        ({"name": "X", "result": "a", "stages": 2}, "it has a name and a result"),
        ({"name": "x", "result": "a"}, "operation 'x': a name is a capital"),
        ({"name": "X" * 33, "result": "a"}, "at most 32"),
        ({"name": "ADD", "result": "a"}, "operation ADD: the ALU has one of this name"),
        ({"name": "X", "result": "a +"}, "operation X: 'a +' is no term"),
        ({"name": "X", "result": "a + c"}, "its result names c: known are a, b"),
        ({"name": "X", "result": "5"}, "its result names neither a nor b"),
        ({"name": "X", "result": "a >> b"}, "shifts by b: an amount is a number from 0 to 31"),
        ({"name": "X", "result": "a >> 32"}, "shifts by 32"),
        ({"name": "X", "result": "a << -1"}, "shifts by -1"),
        ({"name": "X", "result": "a << a + 1"}, "shifts by a + 1"),
        (
            {"name": "X", "result": "a >> s", "parameters": {"s": "uint6"}},
            "shifts by s: an amount",
        ),
        ({"name": "X", "result": "a >> s", "parameters": {"s": "int5"}}, "shifts by s"),
        ({"name": "X", "result": "a * b * b"}, "a * b * b may have 94 bits: at most 64"),
        ({"name": "X", "result": "a", "parameters": []}, "parameters is []"),
        ({"name": "X", "result": "a", "parameters": {"s": "uint5"}}, "does not name s"),
        ({"name": "X", "result": "a + s", "parameters": {"s": "float"}}, "s' is 'float': a type"),
        ({"name": "X", "result": "a + s", "parameters": {"s": "uint17"}}, "a type is uint1 to"),
        ({"name": "X", "result": "a + s", "parameters": {"s": 5}}, "parameter 's' is 5"),
        ({"name": "X", "result": "a + S", "parameters": {"S": "int4"}}, "a parameter 'S'"),
        ({"name": "X", "result": "a + b", "parameters": {"b": "int4"}}, "a parameter 'b'"),
        (
            {"name": "X", "result": "a + s + t", "parameters": {"s": "int9", "t": "int8"}},
            "its parameters have 17 bits: at most 16",
        ),
    ],
)
def test_refusals(value: Any, words: str) -> None:
    with pytest.raises(TermError) as caught:
        CustomOperation.from_json(value)
    assert words in str(caught.value)


def test_a_parameter_twice() -> None:
    one = AluParameter("s", 2, signed=False)
    with pytest.raises(TermError, match="a parameter is there twice"):
        CustomOperation("X", CLIP.result, (*CLIP.parameters, one, one))


def test_widest() -> None:
    """A product of two operands has 64 bits."""
    top = CustomOperation.from_json({"name": "HIGH", "result": "a * b >> 31"})
    assert top.apply(1 << 30, 1 << 30) == 1 << 29
    assert top.apply(-(1 << 31), -(1 << 31)) == -(1 << 31)


def test_free_opcodes() -> None:
    assert free_opcodes(frozenset()) == (5, 6, 7)
    # RESIDUAL needs both extensions, and MOVE operands from INP.
    assert free_opcodes(frozenset({Feature.REQUANTISE})) == (5, 6, 7)
    assert free_opcodes(frozenset({Feature.INPUT_OPERANDS})) == (6, 7)
    assert free_opcodes(frozenset(Feature)) == (7,)
