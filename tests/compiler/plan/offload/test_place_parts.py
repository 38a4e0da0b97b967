"""Concatenations between a target's kernels are kernels of the target, or say why not."""

from __future__ import annotations

import pytest

from compiler.graph import Call, Function
from compiler.graph.passes import EliminateCommon, EliminateDead, transform
from compiler.plan.offload import CancelLayouts, FormStreams, PlaceParts
from compiler.plan.placement import placement_of
from tests.support.compiler.graph.graphs import graph, inputs, keeps_meaning

EIGHT, FOUR = "int8[1, 2, 3, 3, 1, 4]", "int8[1, 1, 3, 3, 1, 4]"
KERNELS = "".join(
    f"kernel[other] @{name}(p: {type_}) -> {type_}:\n  r = relu(p)\n  return r\n\n"
    for name, type_ in (
        ("k8", EIGHT),
        ("k4", FOUR),
        ("k16", "int8[1, 4, 3, 3, 1, 4]"),
        ("k12", "int8[1, 3, 3, 3, 1, 4]"),
    )
)
MULTIPLIES = """
kernel[other] @m(p: int8[1, 3, 3, 3, 1, 4]) -> int32[1, 12, 3, 3]:
  a = unpack_data(p, shape=[1, 12, 3, 3])
  r = matmul(a, a, out_dtype=int32)
  return r

"""


def network(*lines: str, result: str = "int8[1, 3, 3, 3, 1, 4]") -> Function:
    body = "".join(f"  {line}\n" for line in lines)
    params = f"x: {EIGHT}, y: {FOUR}, h: int8[1, 4, 3, 3]"
    return graph(f"{KERNELS}{MULTIPLIES}func @f({params}) -> {result}:\n{body}  return z\n")


PARTS = (
    "a = @k8(x)",
    "b = @k4(y)",
    "a1 = unpack_data(a, shape=[1, 8, 3, 3])",
    "b1 = unpack_data(b, shape=[1, 4, 3, 3])",
)


def placed(function: Function) -> Function:
    """The function after the pass, which keeps its meaning, and after its users."""
    keeps_meaning(PlaceParts("other"), function, inputs(function))
    passes = (PlaceParts("other"), CancelLayouts(), EliminateCommon(), EliminateDead())
    return transform(function, passes)


def operators(function: Function) -> list[str]:
    """Operators of the host and, of kernels, whether they are placed or computed."""
    found = []
    for let in function.body.lets:
        assert isinstance(let.value, Call)
        callee = let.value.callee
        if isinstance(callee, Function):
            found.append("compute" if placement_of(callee) is None else "place")
        else:
            found.append(callee.name)
    return found


def reason(function: Function, name: str) -> str:
    (found,) = [let.reason for let in function.body.lets if let.name == name]
    return found or ""


def test_parts_of_kernels() -> None:
    found = placed(
        network(
            *PARTS,
            "c = concat(a1, b1, axis=1)",
            "d = pack_data(c, batch=1, block=4)",
            "z = @k12(d)",
        )
    )
    assert operators(found) == ["compute", "compute", "place", "compute"]
    (stream,) = [let.value for let in FormStreams("other").apply(found).body.lets]
    assert isinstance(stream, Call)


def test_a_part_of_the_host_is_packed_once() -> None:
    found = placed(
        network(
            *PARTS,
            "c = concat(a1, h, axis=-3)",
            "d = pack_data(c, batch=1, block=4)",
            "g = pack_data(h, batch=1, block=4)",
            "e = @k4(g)",
            "f = @k12(d)",
            "e1 = unpack_data(e, shape=[1, 4, 3, 3])",
            "i = concat(a1, h, e1, axis=1)",
            "j = pack_data(i, batch=1, block=4)",
            "z = @k16(j)",
            result="int8[1, 4, 3, 3, 1, 4]",
        )
    )
    assert operators(found).count("pack_data") == 1
    assert "concat" not in operators(found)


def test_a_concatenation_that_the_host_reads_too() -> None:
    """It is unpacked for the host: the stream gives one tensor instead of two."""
    found = placed(
        network(
            *PARTS,
            "c = concat(a1, b1, axis=1)",
            "d = pack_data(c, batch=1, block=4)",
            "e = @k12(d)",
            "n = negative(c)",
            "z = pack_data(n, batch=1, block=4)",
        )
    )
    assert operators(found) == [
        "compute",
        "compute",
        "place",
        "unpack_data",
        "negative",
        "pack_data",
    ]


def test_a_concatenation_of_a_concatenation() -> None:
    found = placed(
        network(
            *PARTS,
            "c = concat(a1, b1, axis=1)",
            "d = concat(c, h, axis=1)",
            "e = pack_data(d, batch=1, block=4)",
            "z = @k16(e)",
            result="int8[1, 4, 3, 3, 1, 4]",
        )
    )
    assert operators(found).count("place") == 2
    assert "concat" not in operators(found)


def test_slices_and_their_concatenation() -> None:
    """As in a stage of YOLO: the halves of a result, and what is computed of the second half."""
    found = placed(
        network(
            "a = @k8(x)",
            "a1 = unpack_data(a, shape=[1, 8, 3, 3])",
            "p = slice(a1, starts=[0], ends=[4], axes=[1])",
            "q = slice(a1, starts=[-4], ends=[99], axes=[-3])",
            "q1 = pack_data(q, batch=1, block=4)",
            "b = @k4(q1)",
            "b1 = unpack_data(b, shape=[1, 4, 3, 3])",
            "c = concat(p, q, b1, axis=1)",
            "d = pack_data(c, batch=1, block=4)",
            "z = @k12(d)",
        )
    )
    assert operators(found) == ["compute", "place", "place", "compute", "place", "compute"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            (
                "p = slice(a1, starts=[0], ends=[6], axes=[1])",
                "c = concat(p, b1, h, axis=1)",
                "e = pack_data(c, batch=1, block=4)",
                "n = @k16(e)",
                "d = pack_data(a1, batch=1, block=4)",
            ),
            "part p has 6 channels, which are no whole blocks of 4",
        ),
        (
            ("c = concat(b1, b1, b1, axis=1)", "d = pack_data(c, batch=1, block=4)"),
            "a part occurs twice",
        ),
        (
            (
                "c0 = concat(b1, a1, axis=1)",
                "d0 = pack_data(c0, batch=1, block=4)",
                "e0 = @k12(d0)",
                "c = concat(a1, b1, axis=1)",
                "d = pack_data(c, batch=1, block=4)",
            ),
            "b has another place already",
        ),
        (
            (
                "c0 = concat(a1, h, axis=1)",
                "d0 = pack_data(c0, batch=1, block=4)",
                "e0 = @k12(d0)",
                "c = concat(a1, b1, axis=1)",
                "d = pack_data(c, batch=1, block=4)",
            ),
            "b and h_blocks would be in the same place",
        ),
        (
            (
                "c = slice(a1, starts=[2], ends=[6], axes=[1])",
                "d = pack_data(c, batch=1, block=4)",
                "e = @k4(d)",
            ),
            "channel 2 does not begin a block of 4",
        ),
        (
            (
                "c0 = slice(a1, starts=[4], ends=[8], axes=[1])",
                "d0 = pack_data(c0, batch=1, block=4)",
                "e0 = @k4(d0)",
                "p = slice(a1, starts=[0], ends=[4], axes=[1])",
                "c = concat(c0, p, axis=1)",
                "d = pack_data(c, batch=1, block=4)",
                "e = @k8(d)",
            ),
            "p_blocks has another place already",
        ),
        (
            (
                "c = concat(a1, b1, axis=1)",
                "d = pack_data(c, batch=1, block=4)",
                "e = @m(d)",
            ),
            "e reads c_blocks as weights",
        ),
    ],
)
def test_refusals(lines: tuple[str, ...], message: str) -> None:
    function = network(*PARTS, *lines, "z = pack_data(h, batch=1, block=4)", result=FOUR)
    keeps_meaning(PlaceParts("other"), function, inputs(function))
    found = PlaceParts("other").apply(function)
    assert message in reason(found, "c")
    assert {"concat", "slice"} & {*operators(found)}


def test_several_images() -> None:
    two = "int8[2, 1, 3, 3, 1, 4]"
    function = graph(
        f"kernel[other] @k(p: {two}) -> {two}:\n  r = relu(p)\n  return r\n\n"
        f"func @f(x: {two}) -> int8[2, 2, 3, 3, 1, 4]:\n"
        "  a = @k(x)\n  a1 = unpack_data(a, shape=[2, 4, 3, 3])\n  b = @k(a)\n"
        "  b1 = unpack_data(b, shape=[2, 4, 3, 3])\n  c = concat(a1, b1, axis=1)\n"
        "  d = pack_data(c, batch=1, block=4)\n  return d\n"
    )
    found = PlaceParts("other").apply(function)
    assert "do not lie one behind the other in 2 images" in reason(found, "c")


@pytest.mark.parametrize(
    "lines",
    [
        # None of the target's kernels before or behind, or another axis.
        ("g = negative(h)", "c = concat(h, g, h, axis=1)", "z = pack_data(c, batch=1, block=4)"),
        ("c = concat(a1, b1, axis=1)", "n = negative(c)", "z = pack_data(n, batch=1, block=4)"),
        (
            "b2 = concat(b1, b1, axis=3)",
            "c = slice(b2, starts=[0], ends=[3], axes=[3])",
            "e = tile(c, repeats=[1, 3, 1, 1])",
            "z = pack_data(e, batch=1, block=4)",
        ),
    ],
)
def test_what_stays(lines: tuple[str, ...]) -> None:
    function = network(*PARTS, *lines)
    assert PlaceParts("other").apply(function) == function
