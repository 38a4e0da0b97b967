"""Operators that the builder emits: their names, operands and attributes, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tandem.compiler.graph.attributes import NO_ATTRIBUTES
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Call, Var
from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.graph.operators.quantised import Requantise
from tandem.compiler.graph.operators.shapes import Flatten
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import INT8, INT16, INT32, UINT8
from tandem.compiler.quantise.builder import Builder
from tandem.compiler.quantise.forms import Int8Value, Movement, PendingAccumulator, Scale

X, ACC = Var("x"), Var("acc")


def pending(
    scales: tuple[float, ...] = (0.5,), bias: tuple[int, ...] = (0,), bound: int = 1000
) -> PendingAccumulator:
    return PendingAccumulator(ACC, np.array(scales), np.array(bias, np.int64), bound)


def shown(atom: Atom) -> object:
    if isinstance(atom, Constant):
        return str(atom.array.dtype), atom.array.tolist()
    return atom.name


def told(builder: Builder) -> list[tuple[str, str, tuple[object, ...]]]:
    """Names, operators and operands: of constants the type and the numbers."""
    found: list[tuple[str, str, tuple[object, ...]]] = []
    for let in builder.lets:
        assert isinstance(let.value, Call)
        args = tuple(
            (str(arg.array.dtype), arg.array.tolist()) if isinstance(arg, Constant) else arg.name
            for arg in let.value.args
        )
        found.append((let.name, let.value.callee.name, args))
    return found


def attributes(builder: Builder, at: int = -1) -> object:
    value = builder.lets[at].value
    assert isinstance(value, Call)
    return value.attributes


def test_names() -> None:
    builder = Builder(["x", "x_int8"])
    # The first of a name has the value as its origin, others are values of their own.
    first = builder.call("x", "_acc", "relu", [X])
    second = builder.call("x", "_acc", "relu", [X])
    third = builder.call("x_acc", "_wide", "relu", [X])
    fourth = builder.call(second.name, "_wide", "relu", [X])
    assert [each.name for each in (first, second, third)] == ["x_acc", "x_acc_1", "x_acc_wide"]
    assert [let.origin for let in builder.lets] == ["x", None, "x", second.name]
    assert fourth.name == "x_acc_1_wide"
    # A name that was taken before.
    taken = builder.call("x", "_int8", "relu", [X])
    assert (taken.name, builder.lets[-1].origin) == ("x_int8_1", None)
    builder.release("x_int8")
    assert builder.call("x", "_int8", "relu", [X]).name == "x_int8"
    builder.emit("y", "relu", [X], NO_ATTRIBUTES)
    assert (builder.lets[-1].name, builder.lets[-1].origin) == ("y", None)


def test_builders_of_inner_bodies() -> None:
    builder = Builder(["x"])
    builder.call("x", "_acc", "relu", [X])
    inner = builder.inner()
    assert inner.lets == []
    assert inner.call("x", "_acc", "relu", [X]).name == "x_acc_1"
    inner.int8_value("x", Var("v"), Scale(0.5))
    assert builder.scales == {"v": ("x", Scale(0.5))}
    assert inner.weights is builder.weights
    assert len(builder.lets) == 1


def test_what_is_made_apart() -> None:
    builder = Builder([])
    builder.call("x", "_a", "relu", [X])

    def make() -> None:
        builder.call("x", "_b", "relu", [X])
        builder.call("x", "_c", "relu", [X])

    assert [let.name for let in builder.apart(make)] == ["x_b", "x_c"]
    assert [let.name for let in builder.lets] == ["x_a"]


def test_reasons() -> None:
    builder = Builder([])
    builder.call("x", "_a", "relu", [X])
    builder.call("x", "_b", "relu", [X])
    builder.explain("x_b", "first")
    builder.explain("x_b", "second")
    builder.explain("x_z", "none")
    found = [[(each.operator, each.text) for each in let.reasons] for let in builder.lets]
    assert found == [[], [("relu", "first"), ("relu", "second")]]


def test_scales_are_recorded_once() -> None:
    builder = Builder([])
    assert builder.int8_value("x", Var("v"), Scale(0.5)) == Int8Value(Var("v"), Scale(0.5))
    builder.int8_value("y", Var("v"), Scale(0.25))
    assert builder.scales == {"v": ("x", Scale(0.5))}


def test_int8_as_sums() -> None:
    builder = Builder([])
    found = builder.accumulator_of(Int8Value(X, Scale(0.5, 3)))
    assert told(builder) == [("x_wide", "cast", ("x",))]
    assert attributes(builder) == Cast(INT32)
    assert (found.acc, found.scales.tolist(), found.bias.tolist()) == (Var("x_wide"), [0.5], [-3])
    assert (found.bound, found.is_plain) == (128, True)


def test_rounding() -> None:
    builder = Builder([])
    made = builder.quantise("x", Scale(0.25, -7))
    assert made == Int8Value(Var("x_int8"), Scale(0.25, -7))
    builder.dequantise("y", made)
    assert told(builder) == [
        ("x_int8", "quantise", ("x", ("float32", 0.25), ("int8", -7))),
        ("y", "dequantise", ("x_int8", ("float32", 0.25), ("int8", -7))),
    ]


def test_sums_as_real_numbers() -> None:
    builder = Builder([])
    builder.dequantise_accumulator("y", "", pending((0.5,), (3,)))
    builder.dequantise_accumulator("y", "_sums", pending((0.5,), (3, -4)))
    builder.dequantise_accumulator("z", "", pending((0.5, 0.25), (3,)))
    assert told(builder) == [
        ("y", "dequantise", ("acc", ("float32", 0.5), ("int32", -3))),
        ("y_sums", "dequantise", ("acc", ("float32", [0.5, 0.5]), ("int32", [-3, 4]))),
        ("z", "dequantise", ("acc", ("float32", [0.5, 0.25]), ("int32", [-3, -3]))),
    ]


def test_integers_of_the_network() -> None:
    builder = Builder([])
    value = Int8Value(X, Scale(1.0))
    builder.emit_integer("y", value, TensorType((2,), INT8))
    builder.emit_integer("z", value, TensorType((2,), UINT8))
    assert told(builder) == [
        ("y", "identity", ("x",)),
        ("z_wide", "cast", ("x",)),
        ("z_moved", "add", ("z_wide", ("int16", 128))),
        ("z", "cast", ("z_moved",)),
    ]
    assert [attributes(builder, at) for at in (1, 3)] == [Cast(INT16), Cast(UINT8)]
    other = Builder([])
    assert other.as_int8(X, INT8) is X
    assert other.as_int8(X, UINT8) == Var("x_int8")
    assert told(other) == [
        ("x_wide", "cast", ("x",)),
        ("x_moved", "subtract", ("x_wide", ("int16", 128))),
        ("x_int8", "cast", ("x_moved",)),
    ]
    assert [attributes(other, at) for at in (0, 2)] == [Cast(INT16), Cast(INT8)]


def test_requantisation() -> None:
    builder = Builder([])
    found = builder.requantise("y", pending((0.5,), (4,)), Scale(1.0))
    # (acc + 4) / 2, to the nearest.
    assert found == Int8Value(Var("y_int8"), Scale(1.0))
    ((name, operator, (data, multiplier, addend)),) = told(builder)
    assert (name, operator, data) == ("y_int8", "requantise", "acc")
    shift = attributes(builder)
    assert isinstance(shift, Requantise)
    assert (shift.low, shift.high) == (-128, 127)
    assert isinstance(multiplier, tuple)
    assert isinstance(addend, tuple)
    assert (multiplier[0], addend[0]) == ("int32", "int64")
    (factor,), (term,) = multiplier[1], addend[1]
    for acc in (-9, -5, -4, 0, 1, 100):
        assert (acc * factor + term) >> shift.shift == (acc + 4 + 1) // 2
    assert builder.scales["y_int8"] == ("y", Scale(1.0))
    assert builder.requantised["y_int8"].bias.tolist() == [4]


def test_equal_numbers_of_channels_are_one() -> None:
    for scales, bias, sizes in (
        ((0.5, 0.5), (4, 4), (1, 1)),
        ((0.5, 0.25), (0, 0), (2, 1)),
        ((0.5, 0.5), (4, 5), (1, 2)),
    ):
        builder = Builder([])
        builder.requantise("y", pending(scales, bias), Scale(1.0))
        ((_, _, (_, *numbers)),) = told(builder)
        assert tuple(len(each[1]) for each in numbers) == sizes  # type: ignore[index]


def limits(low: float | None, high: float | None) -> tuple[int, int]:
    builder = Builder([])
    builder.requantise("y", replace(pending(), low=low, high=high), Scale(0.5, 1))
    found = attributes(builder)
    assert isinstance(found, Requantise)
    return found.low, found.high


def test_limits_of_requantisation() -> None:
    assert limits(None, None) == (-128, 127)
    assert limits(0.0, None) == (1, 127)
    assert limits(None, 6.0) == (-128, 13)
    assert limits(-1.0, 1.0) == (-1, 3)
    # Beyond int8, on both sides.
    assert limits(-1000.0, 1000.0) == (-128, 127)
    assert limits(1000.0, None) == (127, 127)
    assert limits(None, -1000.0) == (-128, -128)
    # The upper one wins.
    assert limits(2.0, 1.0) == (3, 3)


def test_a_residual_and_numbers_for_channels() -> None:
    builder = Builder([])
    residual = Int8Value(Var("r"), Scale(0.25, 2))
    sums = replace(pending((0.5, 0.25), (0, 8)), residual=residual)
    builder.requantise("y", sums, Scale(0.5))
    ((name, operator, args),) = told(builder)
    assert (name, operator, args[0], args[3]) == ("y_int8", "requantise_add", "acc", "r")
    found = attributes(builder)
    assert isinstance(found, Requantise)
    numbers = [each[1] for each in args if isinstance(each, tuple)]
    multipliers, addends, (factor,) = numbers
    for acc, r in ((0, 2), (10, 2), (-40, 50), (33, -100)):
        for channel, (scale, bias) in enumerate(((0.5, 0), (0.25, 8))):
            real = (acc + bias) * scale + (r - 2) * 0.25
            whole = acc * multipliers[channel] + addends[channel] + r * factor
            exact = real / 0.5
            assert abs((whole >> found.shift) - exact) <= 0.5


def test_movements_of_int8() -> None:
    builder = Builder([])
    moves = (Movement("flatten", Flatten(2)), Movement("relu", NO_ATTRIBUTES))
    found = builder.requantise("y", replace(pending(), moves=moves), Scale(1.0))
    assert [(name, operator) for name, operator, _ in told(builder)] == [
        ("y_int8", "requantise"),
        ("y_int8_1", "flatten"),
        ("y_int8_2", "relu"),
    ]
    assert attributes(builder, 1) == Flatten(2)
    assert found.var == Var("y_int8_2")
    assert builder.scales == {"y_int8_2": ("y", Scale(1.0))}
    # What moves is no accumulator that others may be made of.
    assert builder.requantised == {}
