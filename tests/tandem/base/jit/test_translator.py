"""Statements, arrays and tuples of compiled functions: the results of plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from tandem.base.jit import CompilationError, compiled, inlined
from tests.support.base.compiled import plain
from tests.support.base.written_modules import written

Ints = npt.NDArray[np.int64]
LIMIT = 3
WEIGHTS = (5, 7, 11)


class Pair(NamedTuple):
    """What a compiled function gets."""

    values: npt.NDArray[Any]
    scale: int
    inner: tuple[int, bool] | None = None


@compiled
def loops(values: Ints, stop: int) -> tuple[int, int, int]:
    total = last = 0
    for number in range(len(values)):
        if number == stop:
            break
        if values[number] < 0:
            continue
        last = number
        total += values[number]
    down = 0
    for number in range(stop, 0, -2):
        down = 10 * down + number
    while True:
        stop -= 1
        if stop < LIMIT:
            return total, last, down


@compiled
def over_items(rows: Ints) -> int:
    total = 0
    for row in rows:
        for value in row[1:]:
            total += value
        for value in row[:-1]:
            total -= 2 * value
    for factor, step in ((2, 1), (3, 5)):
        total = total * factor + step
    for name in WEIGHTS:
        if name == 7:
            continue
        total += name
    for index in range(len(WEIGHTS)):
        total += WEIGHTS[index] * index
    first, second = rows[0, :2]
    return int(total + first * second + rows[-1, -1])


@compiled
def stores(bytes_: npt.NDArray[np.uint8], flags: npt.NDArray[np.bool_], wide: Ints) -> None:
    bytes_[0] = wide[0]
    bytes_[1] += 200
    bytes_[2:5] = 7
    flags[1:3] = True
    flags[0] = wide[0] > 100
    wide[0], wide[1] = wide[1], wide[0]
    wide[2] = wide[3] = -1
    wide[4] <<= 2
    table = wide[5:]
    table[0] |= 1


@inlined
def clipped(value: int, low: int, high: int) -> int:
    return low if value < low else min(value, high)


@inlined
def part(values: Ints, start: int) -> Ints:
    return values[start:]


@inlined
def first_above(values: Ints, limit: int) -> Any:
    for value in values:
        if value > limit:
            return value
    return -1


@compiled
def calls(pair: Pair) -> int:
    found = clipped(pair.scale, -LIMIT, LIMIT)
    rest = part(pair.values, 2)
    found = 100 * found + len(rest) + rest[0]
    if pair.inner is not None:
        found += pair.inner[0] if pair.inner[1] else 1000
    return int(found * 10 + first_above(pair.values, 4) + pair.values.shape[0])


def scaled(factor: int) -> Any:
    @compiled
    def times(value: int) -> int:
        return value * factor

    return times


@pytest.mark.parametrize("stop", [0, 2, 4, 9])
def test_loops(stop: int) -> None:
    values = np.array([3, -1, 4, 1, -5, 9])
    assert loops(values, stop) == plain(loops)(values, stop)


def test_loops_over_items() -> None:
    rows = np.arange(12).reshape(3, 4) ** 2
    assert over_items(rows) == plain(over_items)(rows)


def test_stores_take_the_low_bits() -> None:
    arrays = [
        (
            np.array([1, 100, 3, 4, 5, 6], np.uint8),
            np.zeros(4, np.bool_),
            np.array([0x1FE, 2, 3, 4, 5, 6]),
        )
        for _ in range(2)
    ]
    stores(*arrays[0])
    bytes_, flags, wide = arrays[0]
    assert bytes_.tolist() == [0xFE, 300 & 0xFF, 7, 7, 7, 6]
    assert flags.tolist() == [True, True, True, False]
    assert wide.tolist() == [2, 0x1FE, -1, -1, 20, 7]


@pytest.mark.parametrize("inner", [None, (3, True), (3, False)])
@pytest.mark.parametrize("scale", [-50, 2, 50])
def test_calls_and_tuples(inner: tuple[int, bool] | None, scale: int) -> None:
    pair = Pair(np.array([1, 2, 3, 8, 5]), scale, inner)
    assert calls(pair) == plain(calls)(pair)


def test_values_that_a_function_closes_over() -> None:
    assert (scaled(3)(5), scaled(-4)(5)) == (15, -20)


@pytest.mark.parametrize("element", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_elements_keep_their_values(element: str, tmp_path: Path) -> None:
    module: Any = written(
        tmp_path,
        "@compiled\ndef found(a: object) -> int:\n"
        "    total = 0\n    for value in a:\n        total = 3 * total + value\n    return total\n",
    )
    limits = np.iinfo(element)
    values = [limits.min, limits.max, 1, limits.max // 2]
    total = 0
    for value in values:
        total = 3 * total + value
    assert module.found(np.array(values, element)) == total


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return [a][0]", "there is no List in compiled code"),
        ("with a:\n        return a\n    return a", "there is no With"),
        ("b = 1\n    b = 1.5\n    return b", "b: a value of type float cannot become int"),
        ("return a[0]", "int has no part"),
        ("return hash(a)", "hash is not compiled"),
        ("return missing", "names missing, which nothing defines"),
        ("return found.python", "nothing is known of .python"),
        ("return b\n    b = 1", "b is read before it is assigned"),
        ("return a ** 2", "no Pow of integers"),
        ("return max((a, 1), (2, a))", "min and max take numbers"),
        ("return 1 << 63", "has more than 64 bits"),
        ("for k in range(0, a, a):\n        pass\n    return 0", "the step of a range"),
        ("return a is 1", "`is` compares with None alone"),
        ("return min(a, b=1)", "its arguments have no names"),
        ("return a(1)", "what is called is a function"),
        ("a.real = 1\n    return a", "no assignment to Attribute"),
        ("b, c = (a, 2, 3)\n    return b", "tuple of 3 does not unpack to 2"),
        ("b, c = a\n    return b", "int does not unpack to 2"),
        ("b = len\n    return a", "<built-in function len> is no value of compiled code"),
        ("return ((1, 2), a)[a]", "an index into a tuple is constant unless its items are numbers"),
        ("return a[::2]", "a slice has no step: the part is not dense"),
        ("return len(a)", "int has no length"),
        ("for k in a:\n        pass\n    return 0", "no loop over int"),
        ("for k in range():\n        pass\n    return 0", "range takes one to three arguments"),
        (
            "for k in range(1, a, 1, 1):\n        pass\n    return 0",
            "range takes one to three arguments",
        ),
        ("for k in range(0, a, 0):\n        pass\n    return 0", "a constant, and not 0"),
        ("for k in range(a):\n        pass\n    else:\n        return 1\n    return 0", "no For"),
        ("return 1.5 // a", "no FloorDiv of floating-point numbers"),
        ("return (a, 1) + 1", "no Add of tuple of 2 and int"),
        ("return a in (1, 2)", "no In of int and tuple of 2"),
        ("return (a, 1) < a", "no Lt of tuple of 2 and int"),
        ("return (a, 2)", "a value of type tuple of 2 cannot become int"),
        ("return None", "a value of type None cannot become int"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is.*with.*literal:SyntaxWarning")
def test_what_is_not_compiled(body: str, message: str, tmp_path: Path) -> None:
    """The error names the file, the line and the reason."""
    module: Any = written(tmp_path, f"@compiled\ndef found(a: int) -> int:\n    {body}\n")
    with pytest.raises(CompilationError) as caught:
        module.found(1)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{module.__file__}:")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 1 if a else 0", "an array is neither true nor false"),
        ("return 0 if not a else 1", "an array is neither true nor false"),
        ("return a[1:, 0]", "an index follows a slice: the part is not dense"),
        ("return a[0, 0, 0]", "array of int64 with 2 dimensions has no part at 3 indices"),
        ("return a[0]", "array of int64 with 1 dimensions cannot become int"),
        ("a[0:1] = 1\n    return 0", "a number is stored to a number's place"),
        ("a[0, 0] = 1.5\n    return 0", "a value of type float cannot become int"),
        ("a[0] = a\n    return 0", "array of int64 with 2 dimensions cannot become int"),
        ("return a + 1", "no Add of array of int64 with 2 dimensions and int"),
        ("return a == 1", "no Eq of array of int64 with 2 dimensions and int"),
        ("return min(a, 1)", "min and max take numbers"),
    ],
)
def test_what_is_not_compiled_of_arrays(body: str, message: str, tmp_path: Path) -> None:
    module: Any = written(tmp_path, f"@compiled\ndef found(a: object) -> int:\n    {body}\n")
    with pytest.raises(CompilationError) as caught:
        module.found(np.zeros((2, 2), np.int64))
    assert message in str(caught.value)


def test_wrong_numbers_of_arguments(tmp_path: Path) -> None:
    module: Any = written(tmp_path, "@compiled\ndef found(a: int) -> int:\n    return a\n")
    with pytest.raises(CompilationError, match="found takes 1 arguments, not 2"):
        module.found(1, 2)


def test_a_source_that_has_changed_is_not_compiled(tmp_path: Path) -> None:
    """Else the code would be kept under the digest of the function that is running."""
    module: Any = written(tmp_path, "@compiled\ndef found(a: int) -> int:\n    return a + 1\n")
    path = Path(module.__file__)
    path.write_text(path.read_text().replace("a + 1", "a + 2"))
    with pytest.raises(CompilationError, match="has changed since it was imported: start again"):
        module.found(1)
