"""Names, types and strings in C, of any texts."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tandem.runtime.element_types import dtype_of
from tandem.workbench.errors import ExportError
from tandem.workbench.export.names import (
    c_name,
    c_names,
    c_names_in_order,
    c_string,
    c_type,
    check_name,
)

KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while"
)
"""C99, section 6.4.1, without those that begin with `_`."""
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from([*KEYWORDS.split(), "", "_", "a b", "a-b", "a_b", "1x", "x:0", "x/0"]),
)


@given(TEXTS)
def test_a_name_is_one_in_c(text: str) -> None:
    name = c_name(text)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
    assert name not in KEYWORDS.split()
    assert c_name(name) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("layer.1/conv:0", "layer_1_conv_0"),
        ("__x__", "x"),
        ("3x3", "n_3x3"),
        ("float", "float_"),
        ("floats", "floats"),
        ("", "network"),
        ("né", "n"),
        ("?", "network"),
    ],
)
def test_names(text: str, name: str) -> None:
    assert c_name(text) == name


def test_names_of_libraries() -> None:
    check_name("net_1")
    for text, better in (("a b", "a_b"), ("1x", "n_1x"), ("int", "int_"), ("", "network")):
        with pytest.raises(ExportError, match=f"^{text!r} is no name in C: {better} would be one"):
            check_name(text)


@given(st.lists(TEXTS, max_size=8))
@example(["a", "a_2", "a", "a", "a_2"])
def test_names_differ(texts: list[str]) -> None:
    found = c_names_in_order(texts)
    assert len({*found}) == len(found) == len(texts)
    for text, name in zip(texts, found, strict=True):
        assert re.fullmatch(re.escape(c_name(text)) + r"(_[1-9]\d*)?", name)
    by_text = c_names(texts)
    assert by_text.keys() == {*texts}
    assert len({*by_text.values()}) == len(by_text)
    assert all(name == c_name(text) for text, name in [*by_text.items()][:1])


def test_names_count_from_2() -> None:
    assert c_names_in_order(["a", "a", "a-", "b", "a"]) == ["a", "a_2", "a_3", "b", "a_4"]


SIZES = {"uint8_t": 1, "int8_t": 1, "uint16_t": 2, "float": 4, "double": 8} | {
    f"{sign}int{bits}_t": bits // 8 for sign in ("", "u") for bits in (16, 32, 64)
}


@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "float16", "bfloat16", "float32", "float64", "float4_e2m1fn"),
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (2, 4, 8, 16, 32, 64)),
    ],
)
def test_types_have_the_size_and_the_sign(dtype: str) -> None:
    found = c_type(dtype)
    assert SIZES[found] == dtype_of(dtype).itemsize
    if dtype in ("float32", "float64"):
        assert found == {"float32": "float", "float64": "double"}[dtype]
    elif np.dtype(dtype_of(dtype)).kind == "i":
        assert found.startswith("int")


@pytest.mark.parametrize("dtype", ["complex64", "int128", "xint8", "int8x", "float8"])
def test_no_types(dtype: str) -> None:
    with pytest.raises(ExportError, match=f"^no type in C for {dtype}$"):
        c_type(dtype)


@given(st.text(max_size=20))
@example('"\\?\x1f\x7f\x20~')
def test_strings(text: str) -> None:
    """What a compiler reads: octal escapes of three digits, all else as it is."""
    found = c_string(text)
    assert re.fullmatch(r'"([ !#->@-\[\]-~]|\\[0-3][0-7]{2})*"', found)
    read = re.sub(r"\\([0-3][0-7]{2})", lambda it: chr(int(it[1], 8)), found[1:-1])
    assert read.encode("latin-1") == text.encode()
