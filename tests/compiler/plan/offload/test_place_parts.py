"""Concatenations between a target's kernels are kernels of the target, or say why not."""

from __future__ import annotations

import pytest

from tandem.compiler.graph import Call, Function
from tandem.compiler.graph.passes import EliminateCommon, EliminateDead, transform
from tandem.compiler.plan.offload import CancelConversions, FormStreams, PlaceParts
from tandem.compiler.plan.placement import placement_of
from tests.support.compiler.graph.graphs import graph, inputs, keeps_meaning

B4 = "{0, 1/4, 2, 3, _, 1%4}"


def image(channels: int) -> str:
    return f"int8[1, {channels}, 3, 3]{B4}"


EIGHT, FOUR = image(8), image(4)
KERNELS = "".join(
    f"kernel[other] @k{channels}(p: {image(channels)}) -> {image(channels)}:\n"
    f"  x = convert(p, shape=[1, {channels}, 3, 3], source={B4})\n"
    "  r = relu(x)\n"
    f"  q = convert(r, shape=[1, {channels}, 3, 3], target={B4})\n"
    "  return q\n\n"
    for channels in (8, 4, 16, 14, 12)
)
MULTIPLIES = f"""
kernel[other] @m(p: {image(12)}) -> int32[1, 12, 3, 3]:
  a = convert(p, shape=[1, 12, 3, 3], source={B4})
  r = matmul(a, a, out_dtype=int32)
  return r

"""


def network(*lines: str, result: str = image(12)) -> Function:
    body = "".join(f"  {line}\n" for line in lines)
    params = f"x: {EIGHT}, y: {FOUR}, h: int8[1, 4, 3, 3]"
    return graph(f"{KERNELS}{MULTIPLIES}func @f({params}) -> {result}:\n{body}  return z\n")


PARTS = (
    "a = @k8(x)",
    "b = @k4(y)",
    f"a1 = convert(a, shape=[1, 8, 3, 3], source={B4})",
    f"b1 = convert(b, shape=[1, 4, 3, 3], source={B4})",
)


def placed(function: Function) -> Function:
    """The function after the pass, which keeps its meaning, and after its users."""
    keeps_meaning(PlaceParts("other"), function, inputs(function))
    passes = (PlaceParts("other"), CancelConversions(), EliminateCommon(), EliminateDead())
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
            f"d = convert(c, shape=[1, 12, 3, 3], target={B4})",
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
            f"d = convert(c, shape=[1, 12, 3, 3], target={B4})",
            f"g = convert(h, shape=[1, 4, 3, 3], target={B4})",
            "e = @k4(g)",
            "f = @k12(d)",
            f"e1 = convert(e, shape=[1, 4, 3, 3], source={B4})",
            "i = concat(a1, h, e1, axis=1)",
            f"j = convert(i, shape=[1, 16, 3, 3], target={B4})",
            "z = @k16(j)",
            result=image(16),
        )
    )
    assert operators(found).count("convert") == 1
    assert "concat" not in operators(found)


def test_a_concatenation_that_the_host_reads_too() -> None:
    """It is unpacked for the host: the stream gives one tensor instead of two."""
    found = placed(
        network(
            *PARTS,
            "c = concat(a1, b1, axis=1)",
            f"d = convert(c, shape=[1, 12, 3, 3], target={B4})",
            "e = @k12(d)",
            "n = negative(c)",
            f"z = convert(n, shape=[1, 12, 3, 3], target={B4})",
        )
    )
    assert operators(found) == [
        "compute",
        "compute",
        "place",
        "convert",
        "negative",
        "convert",
    ]


def test_a_concatenation_of_a_concatenation() -> None:
    found = placed(
        network(
            *PARTS,
            "c = concat(a1, b1, axis=1)",
            "d = concat(c, h, axis=1)",
            f"e = convert(d, shape=[1, 16, 3, 3], target={B4})",
            "z = @k16(e)",
            result=image(16),
        )
    )
    assert operators(found).count("place") == 2
    assert "concat" not in operators(found)


def test_slices_and_their_concatenation() -> None:
    """As in a stage of YOLO: the halves of a result, and what is computed of the second half."""
    found = placed(
        network(
            "a = @k8(x)",
            f"a1 = convert(a, shape=[1, 8, 3, 3], source={B4})",
            "p = slice(a1, starts=[0], ends=[4], axes=[1])",
            "q = slice(a1, starts=[-4], ends=[99], axes=[-3])",
            f"q1 = convert(q, shape=[1, 4, 3, 3], target={B4})",
            "b = @k4(q1)",
            f"b1 = convert(b, shape=[1, 4, 3, 3], source={B4})",
            "c = concat(p, q, b1, axis=1)",
            f"d = convert(c, shape=[1, 12, 3, 3], target={B4})",
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
                f"e = convert(c, shape=[1, 14, 3, 3], target={B4})",
                "n = @k14(e)",
                f"d = convert(a1, shape=[1, 8, 3, 3], target={B4})",
            ),
            "part p has 6 channels, which are no whole blocks of 4",
        ),
        (
            ("c = concat(b1, b1, b1, axis=1)", f"d = convert(c, shape=[1, 12, 3, 3], target={B4})"),
            "a part occurs twice",
        ),
        (
            (
                "c0 = concat(b1, a1, axis=1)",
                f"d0 = convert(c0, shape=[1, 12, 3, 3], target={B4})",
                "e0 = @k12(d0)",
                "c = concat(a1, b1, axis=1)",
                f"d = convert(c, shape=[1, 12, 3, 3], target={B4})",
            ),
            "b has another place already",
        ),
        (
            (
                "c0 = concat(a1, h, axis=1)",
                f"d0 = convert(c0, shape=[1, 12, 3, 3], target={B4})",
                "e0 = @k12(d0)",
                "c = concat(a1, b1, axis=1)",
                f"d = convert(c, shape=[1, 12, 3, 3], target={B4})",
            ),
            "b and h_blocks would be in the same place",
        ),
        (
            (
                "c = slice(a1, starts=[2], ends=[6], axes=[1])",
                f"d = convert(c, shape=[1, 4, 3, 3], target={B4})",
                "e = @k4(d)",
            ),
            "channel 2 does not begin a block of 4",
        ),
        (
            (
                "c0 = slice(a1, starts=[4], ends=[8], axes=[1])",
                f"d0 = convert(c0, shape=[1, 4, 3, 3], target={B4})",
                "e0 = @k4(d0)",
                "p = slice(a1, starts=[0], ends=[4], axes=[1])",
                "c = concat(c0, p, axis=1)",
                f"d = convert(c, shape=[1, 8, 3, 3], target={B4})",
                "e = @k8(d)",
            ),
            "p_blocks has another place already",
        ),
        (
            (
                "c = concat(a1, b1, axis=1)",
                f"d = convert(c, shape=[1, 12, 3, 3], target={B4})",
                "e = @m(d)",
            ),
            "e reads c_blocks as weights",
        ),
    ],
)
def test_refusals(lines: tuple[str, ...], message: str) -> None:
    function = network(
        *PARTS, *lines, f"z = convert(h, shape=[1, 4, 3, 3], target={B4})", result=FOUR
    )
    keeps_meaning(PlaceParts("other"), function, inputs(function))
    found = PlaceParts("other").apply(function)
    assert message in reason(found, "c")
    assert {"concat", "slice"} & {*operators(found)}


def test_several_images() -> None:
    two = f"int8[2, 4, 3, 3]{B4}"
    function = graph(
        f"kernel[other] @k(p: {two}) -> {two}:\n"
        f"  x = convert(p, shape=[2, 4, 3, 3], source={B4})\n  r = relu(x)\n"
        f"  q = convert(r, shape=[2, 4, 3, 3], target={B4})\n  return q\n\n"
        f"func @f(x: {two}) -> int8[2, 8, 3, 3]{B4}:\n"
        f"  a = @k(x)\n  a1 = convert(a, shape=[2, 4, 3, 3], source={B4})\n  b = @k(a)\n"
        f"  b1 = convert(b, shape=[2, 4, 3, 3], source={B4})\n  c = concat(a1, b1, axis=1)\n"
        f"  d = convert(c, shape=[2, 8, 3, 3], target={B4})\n  return d\n"
    )
    found = PlaceParts("other").apply(function)
    assert "do not lie one behind the other in 2 images" in reason(found, "c")


@pytest.mark.parametrize(
    "lines",
    [
        # None of the target's kernels before or behind, or another axis.
        (
            "g = negative(h)",
            "c = concat(h, g, h, axis=1)",
            f"z = convert(c, shape=[1, 12, 3, 3], target={B4})",
        ),
        (
            "c = concat(a1, b1, axis=1)",
            "n = negative(c)",
            f"z = convert(n, shape=[1, 12, 3, 3], target={B4})",
        ),
        (
            "b2 = concat(b1, b1, axis=3)",
            "c = slice(b2, starts=[0], ends=[3], axes=[3])",
            "e = tile(c, repeats=[1, 3, 1, 1])",
            f"z = convert(e, shape=[1, 12, 3, 3], target={B4})",
        ),
    ],
)
def test_what_stays(lines: tuple[str, ...]) -> None:
    function = network(*PARTS, *lines)
    assert PlaceParts("other").apply(function) == function
