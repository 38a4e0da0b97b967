"""Definitions of operators that the `onnx` package does not know: ONNX Runtime's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from onnx import AttributeProto, helper

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx.definitions import Definition, Kind, define, standard
from tandem.compiler.frontends.onnx.operators import CONVERTERS
from tandem.compiler.frontends.onnx.operators.microsoft.domain import DOMAIN
from tandem.compiler.ir.dtypes import FLOAT32, INT8, UINT8, DType

OURS: Mapping[str, Definition] = {
    name.removeprefix(f"{DOMAIN}."): converter.definition
    for name, converter in CONVERTERS.items()
    if converter.definition is not None
}
_NAMES = {"float32": "float", "float64": "double"}


def onnx_name(type_: DType) -> str:
    return f"tensor({_NAMES.get(str(type_), str(type_))})"


def theirs() -> dict[str, Any]:
    """ONNX Runtime's definitions of the same operators."""
    state = pytest.importorskip(
        "onnxruntime.capi.onnxruntime_pybind11_state", reason="the extra `bench` brings it"
    )
    found = {}
    for schema in state.get_all_operator_schema():
        stray = schema.name in ("LayerNormalization", "SimplifiedLayerNormalization")
        own = schema.domain == DOMAIN or (
            stray and schema.domain == "" and schema.since_version == 1
        )
        if own and schema.name in OURS:
            found[schema.name] = schema
    return found


def test_they_are_those_of_onnx_runtime() -> None:
    schemas = theirs()
    assert schemas.keys() == OURS.keys()
    for name, schema in schemas.items():
        ours = OURS[name]
        types = {it.type_param_str: {*it.allowed_type_strs} for it in schema.type_constraints}
        for formals, given in ((ours.operands, schema.inputs), (ours.results, schema.outputs)):
            assert [it.name for it in formals] == [it.name for it in given], name
            for formal, their in zip(formals, given, strict=True):
                option = str(their.option).rsplit(".", 1)[-1]
                assert formal.optional == (option == "Optional"), (name, formal.name)
                assert formal.variadic == (option == "Variadic"), (name, formal.name)
                allowed = types.get(their.typeStr, {their.typeStr})
                own = {onnx_name(it) for it in ours.types[formal.type]}
                assert own <= allowed, (name, formal.name)
        assert ours.attributes.keys() == {*schema.attributes}, name
        for key, attribute in schema.attributes.items():
            kind = str(attribute.type).rsplit(".", 1)[-1]
            assert AttributeProto.AttributeType.Name(ours.kinds[key]) == kind, (name, key)
            default = AttributeProto()
            default.ParseFromString(attribute._default_value)
            mine = ours.attributes[key]
            if default.type:
                assert mine.type, (name, key)
                assert helper.get_attribute_value(mine) == pytest.approx(
                    helper.get_attribute_value(default)
                ), (name, key)


def test_those_of_the_standard() -> None:
    found = standard("Conv", 13, "")
    assert found is not None
    assert found.version == 11
    assert [each.name for each in found.operands] == ["X", "W", "B"]
    assert found.attributes["group"].i == 1
    assert standard("Conv", 13, "elsewhere") is None


MADE = define(
    "A: T, B: T?, parts: V*",
    "Y: T",
    {"T": (UINT8, INT8), "V": (FLOAT32, INT8)},
    axis=1,
    name="plain",
    scale=Kind.FLOAT,
)


def test_what_a_definition_says() -> None:
    assert [(it.name, it.type) for it in MADE.operands] == [("A", "T"), ("B", "T"), ("parts", "V")]
    assert [it.optional for it in MADE.operands] == [False, True, False]
    assert [it.variadic for it in MADE.operands] == [False, False, True]
    assert helper.get_attribute_value(MADE.attributes["axis"]) == 1
    assert helper.get_attribute_value(MADE.attributes["name"]) == b"plain"
    assert MADE.attributes["scale"].type == AttributeProto.UNDEFINED


@pytest.mark.parametrize(
    ("types", "attributes", "reason"),
    [
        ([UINT8, None, FLOAT32, INT8], {}, ""),
        ([UINT8, UINT8, FLOAT32], {"scale": 0.5}, ""),
        ([UINT8, INT8, FLOAT32], {}, "operands A and B are uint8 and int8"),
        ([FLOAT32, None, FLOAT32], {}, "operand A is float32: uint8 or int8 is possible"),
        ([UINT8, None, UINT8], {}, "operand parts is uint8: float32 or int8 is possible"),
        ([UINT8], {}, "operand parts is missing"),
        ([None, UINT8, FLOAT32], {}, "operand A is missing"),
        ([UINT8, None, FLOAT32], {"axis": 0.5}, "attribute axis is of another type"),
        ([UINT8, None, FLOAT32], {"other": 1}, "attribute other"),
    ],
)
def test_checks(types: list[DType | None], attributes: dict[str, Any], reason: str) -> None:
    names = [f"x{at}" if each else "" for at, each in enumerate(types)]
    node = helper.make_node("Made", names, ["y"], **attributes)
    if not reason:
        MADE.check(node, types, "here")
        return
    with pytest.raises(FrontendError, match=f"not legal: here: {reason}$"):
        MADE.check(node, types, "here")


def test_checks_of_results() -> None:
    node = helper.make_node("Made", ["a", "", "b"], ["y", "z"])
    with pytest.raises(FrontendError, match="here: 2 results, of 1"):
        MADE.check(node, [UINT8, None, FLOAT32], "here")
