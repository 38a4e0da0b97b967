"""Tensors at fixed distances from each other, and kernels that say so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.compiler.graph import Call, Function
from tandem.compiler.graph.operators.parts import Slice
from tandem.compiler.plan.placement import Regions, first_channel, placement_of, regions_of
from tests.support.compiler.graph.graphs import graph

B4 = "{0, 1/4, 2, 3, _, 1%4}"
KERNEL = """
kernel[other, placed] @k({params}) -> int8[1, {channels}, 3, 1]B4:
  a = convert(p, shape=[1, 8, 3, 1], source=B4)
  b = convert(q, shape=[1, 3, 3, 1], source=B4)
  c = {value}
  r = convert({last}, shape=[1, {channels}, 3, 1], target=B4)
  return r

func @f(x: int8[1, 8, 3, 1]B4, y: int8[1, 3, 3, 1]B4) -> int8[1, {channels}, 3, 1]B4:
  z = @k(x, y)
  return z
"""


def program(value: str, channels: int = 11) -> Function:
    last = "d" if " d = " in value else "c"
    params = "p: int8[1, 8, 3, 1]B4, q: int8[1, 3, 3, 1]B4"
    text = KERNEL.format(value=value, channels=channels, last=last, params=params)
    return graph(text.replace("B4", B4))


def call(value: str) -> Call:
    (let,) = program(value).body.lets
    assert isinstance(let.value, Call)
    return let.value


def distances(value: str) -> tuple[int, ...] | None:
    kernel = call(value).callee
    assert isinstance(kernel, Function)
    return placement_of(kernel)


def test_the_parts_of_a_concatenation_lie_one_behind_the_other() -> None:
    assert distances("concat(a, b, axis=1)") == (0, 24)


SLICE = """
kernel[other, placed] @k(p: int8[1, 11, 3, 1]B4) -> int8[1, 7, 3, 1]B4:
  a = convert(p, shape=[1, 11, 3, 1], source=B4)
  c = slice(a, starts=[{start}], ends=[12], axes=[{axis}])
  r = convert(c, shape=[1, 7, 3, 1], target=B4)
  return r

func @f(x: int8[1, 11, 3, 1]B4) -> int8[1, 7, 3, 1]B4:
  z = @k(x)
  return z
"""


@pytest.mark.parametrize("start", [4, -7])
def test_a_slice_lies_within_its_operand(start: int) -> None:
    (let,) = graph(SLICE.format(start=start, axis=1).replace("B4", B4)).body.lets
    assert isinstance(let.value, Call)
    assert isinstance(let.value.callee, Function)
    assert placement_of(let.value.callee) == (-12,)


@pytest.mark.parametrize(
    ("given", "first"),
    [
        (Slice((2,), (9,), (1,)), 2),
        (Slice((0, 3), (1, 2**31 - 1)), 3),
        (Slice((3,), (6,), (-3,), (1,)), 3),
        (Slice((0,), (8,), (1,), (2,)), None),
        (Slice((3, 1), (6, 2), (1, 2)), None),
    ],
)
def test_the_first_channel_of_a_slice(given: Slice, first: int | None) -> None:
    assert first_channel(given, (1, 8, 3, 3)) == first


def test_a_kernel_that_computes_places_nothing() -> None:
    kernel = call("concat(a, b, axis=1)").callee
    assert isinstance(kernel, Function)
    assert placement_of(replace(kernel, template="")) is None


def test_the_regions_of_calls() -> None:
    function = program("concat(a, b, axis=1)")
    (let,) = function.body.lets
    assert isinstance(let.value, Call)
    assert function.result is not None
    types = {**{each.name: each.type for each in function.params}, "z": function.result}
    regions = regions_of({"z": let.value}, types)
    assert regions.members("y") == {"z": 0, "x": 0, "y": 24}
    assert regions.extent("x") == 36
    assert "z" in regions
    assert "w" not in regions


def three() -> Regions:
    regions = Regions()
    for name, size in (("a", 10), ("b", 20), ("c", 30)):
        regions.add(name, size)
    return regions


def test_regions_are_joined_at_a_distance() -> None:
    regions = three()
    assert regions.join("b", "a", -10)
    assert regions.join("c", "a", 5)
    assert regions.members("c") == {"a": 5, "b": 15, "c": 0}
    assert regions.extent("b") == 35


def test_a_tensor_lies_in_one_place() -> None:
    regions = three()
    assert regions.join("a", "b", 10)
    assert regions.join("b", "c", 20)
    assert regions.join("a", "c", 30)
    before = regions.members("a")
    assert not regions.join("a", "c", 31)
    assert regions.members("a") == before


def test_a_copy_is_another() -> None:
    regions = three()
    copied = regions.copy()
    copied.join("a", "b", 10)
    copied.add("d", 1)
    assert regions.members("a") == {"a": 0}
    assert "d" not in regions


def test_what_is_written_twice_is_found() -> None:
    regions = three()
    regions.join("c", "a", 0)
    regions.join("c", "b", 10)
    assert regions.overlap("a", {"c"}) is None
    assert regions.overlap("a", set()) == ("a", "c")
    regions.add("d", 5)
    regions.join("d", "b", 4)
    assert regions.overlap("b", {"c"}) == ("a", "d")
