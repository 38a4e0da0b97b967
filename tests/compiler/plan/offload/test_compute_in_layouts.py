"""The host computes in a machine's layout where that is less work."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import EliminateDead, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.plan.offload import ComputeInLayouts
from tests.support.compiler.graph.graphs import graph, inputs, keeps_meaning


def blocks(size: int) -> str:
    return f"{{0, 1/{size}, 2, 3, _, 1%{size}}}"


def program(lines: str, channels: int = 8, size: int = 4, result: str = "r") -> str:
    """A function of two tensors in blocks, `p` and `q`, whose row-major values are `x` and `y`."""
    shape, layout = f"[1, {channels}, 3, 2]", blocks(size)
    text = "func @f(p: int8SHAPE LAYOUT, q: int8SHAPE LAYOUT, z: int8SHAPE):\n"
    text += "  x = convert(p, shape=SHAPE, source=LAYOUT)\n"
    text += "  y = convert(q, shape=SHAPE, source=LAYOUT)\n"
    text += "".join(f"  {line.strip()}\n" for line in lines.strip().splitlines())
    text += f"  return {result}\n"
    return text.replace(" LAYOUT", layout).replace("LAYOUT", layout).replace("SHAPE", shape)


def changed(lines: str, channels: int = 8, size: int = 4, result: str = "r") -> str:
    function = graph(program(lines, channels, size, result))
    if channels % size == 0:
        keeps_meaning(ComputeInLayouts(), function, inputs(function))
    found = transform(function, (ComputeInLayouts(), EliminateDead()))
    return text(found).split(":\n", 1)[1]


TO_BLOCKS = "r = convert(s, shape=SHAPE, target=LAYOUT)"


def test_between_two_conversions() -> None:
    found = changed(f"s = relu(x)\n{TO_BLOCKS}")
    assert found == (
        "  x_stored = view(p, shape=[1, 2, 3, 2, 1, 4])\n"
        "  s_stored = relu(x_stored)\n"
        f"  r = view(s_stored, shape=[1, 8, 3, 2], layout={blocks(4)})\n"
        "  return r\n"
    )


def test_a_chain_of_several_operands() -> None:
    found = changed(f"a = add(x, y)\nb = relu(a)\ns = multiply(b, x)\n{TO_BLOCKS}")
    assert "convert(" not in found
    assert found.count("view(") == 3


def test_numbers_are_no_tensors() -> None:
    found = changed(f"s = minimum(x, int8[](3))\n{TO_BLOCKS}")
    assert "minimum(x_stored, int8[](3))" in found


def test_a_result_that_is_read_in_both_ways() -> None:
    """Two operators, an operand and a result in blocks: 4 units in blocks, 5 row-major."""
    found = changed(f"a = relu(x)\ns = add(a, y)\n{TO_BLOCKS}\nt = (r, a)", result="t")
    assert "a = convert(a_blocks, " in found
    assert "add(a_stored, y_stored)" in found


def test_an_operand_that_is_row_major() -> None:
    found = changed(f"a = add(x, z)\ns = add(a, y)\n{TO_BLOCKS}")
    assert f"z_blocks = convert(z, shape=[1, 8, 3, 2], target={blocks(4)})" in found
    assert "add(x_stored, z_stored)" in found


@pytest.mark.parametrize(
    ("lines", "channels", "size"),
    [
        # Nothing is gained: one conversion in either way.
        (f"s = add(z, z)\n{TO_BLOCKS}", 8, 4),
        # 16 channels would be computed for 5, three times.
        (f"a = relu(x)\nb = negative(a)\ns = relu(b)\n{TO_BLOCKS}", 5, 16),
        # No element-wise operators: they move elements, or mix them.
        (f"s = transpose(x, perm=[0, 1, 2, 3])\n{TO_BLOCKS}", 8, 4),
        (f"m = reduce_max(x, axes=[1], keepdims=True)\ns = add(x, m)\n{TO_BLOCKS}", 8, 4),
        # A tensor of another shape, which broadcasts.
        (f"s = add(x, int8[2](1, 2))\n{TO_BLOCKS}", 8, 4),
        # Nor is a tensor of one element a number.
        (f"s = add(x, int8[1](3))\n{TO_BLOCKS}", 8, 4),
        (f"s = add(int8[1, 1, 1, 1](3), x)\n{TO_BLOCKS}", 8, 4),
        # Padding has to be zero.
        (
            "s = add(z, int8[](1))\nr = convert(s, shape=SHAPE, target={0, 1/4, 2, 3, _, 1%4=0})",
            *(7, 4),
        ),
    ],
)
def test_what_stays_row_major(lines: str, channels: int, size: int) -> None:
    function = graph(program(lines, channels, size))
    assert text(transform(function, (ComputeInLayouts(),))) == text(function)


def test_little_padding_is_computed() -> None:
    """One operator and two conversions of 7 channels, or one operator on 8."""
    assert "convert(" not in changed(f"s = relu(x)\n{TO_BLOCKS}", channels=7)


def test_of_two_layouts_the_cheaper() -> None:
    """Two tensors in blocks of 4 and one in blocks of 8."""
    other = "r = convert(s, shape=SHAPE, target={0, 1/8, 2, 3, _, 1%8})"
    found = changed(f"s = add(x, y)\n{other}")
    assert "add(x_stored, y_stored)" in found
    assert "s = convert(s_blocks, " in found
    assert "target={0, 1/8, 2, 3, _, 1%8})" in found


NAMES = ("x", "y", "z")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "maximum", "relu", "negative", "blocks", "transpose"]),
            st.integers(0, 50),
            st.integers(0, 50),
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([(8, 4), (8, 8), (4, 2)]),
)
def test_random_groups(steps: list[tuple[str, int, int]], sizes: tuple[int, int]) -> None:
    lines, known, results = [], [*NAMES], list[str]()
    for number, (operator, a, b) in enumerate(steps):
        left, right, name = known[a % len(known)], known[b % len(known)], f"v{number}"
        match operator:
            case "blocks":
                lines.append(f"{name} = convert({left}, shape=SHAPE, target=LAYOUT)")
                results.append(name)
                continue
            case "transpose":
                lines.append(f"{name} = transpose({left}, perm=[0, 1, 2, 3])")
            case "relu" | "negative":
                lines.append(f"{name} = {operator}({left})")
            case _:
                lines.append(f"{name} = {operator}({left}, {right})")
        known.append(name)
    lines.append(f"t = ({', '.join([*results, known[-1], known[-1]])})")
    channels, size = sizes
    function = graph(program("\n".join(lines), channels, size, "t"))
    keeps_meaning(ComputeInLayouts(), function, inputs(function))


@pytest.mark.parametrize("operator", ["maximum", "divide", "modulo"])
def test_padding_may_hold_anything(operator: str) -> None:
    """What lies behind the last channel changes no channel, not even as a divisor."""
    function = graph(program(f"s = {operator}(x, y)\n{TO_BLOCKS}", 7, 4))
    found = transform(function, (ComputeInLayouts(), EliminateDead()))
    assert "convert(" not in text(found)
    results = []
    for padding in (0, -128, 127):
        given = [np.array(each) for each in inputs(function)]
        for array in given[:2]:
            array[:, 1, :, :, :, 3] = padding
        results.append(np.array(evaluate(found, given)).reshape(2, 3, 2, 4))
    for other in results[1:]:
        np.testing.assert_array_equal(other[0], results[0][0])
        np.testing.assert_array_equal(other[1][..., :3], results[0][1][..., :3])
