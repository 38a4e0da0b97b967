"""Traces of sketches as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import ReplayError
from tandem.compiler.tune.sketches.trace import Decision, SketchTrace

NAMES = st.from_regex(r"[as][0-9](\.[a-z0-9]+)+", fullmatch=True)
VALUES = st.one_of(st.integers(-1000, 1000), st.from_regex(r"[a-z][a-z0-9]*", fullmatch=True))


@given(st.dictionaries(NAMES, VALUES))
def test_texts_are_read_back(choice: dict[str, int | str]) -> None:
    trace = SketchTrace.of(choice)
    assert SketchTrace.parse(str(trace)) == trace
    assert trace.choice == choice


def test_text() -> None:
    trace = SketchTrace((Decision("s1.lanes", "i1"), Decision("s1.tile.1", 32)))
    assert str(trace) == "s1.lanes=i1 s1.tile.1=32"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s1.lanes", r"'s1.lanes' is no decision: name=value is expected"),
        ("=3", r"'=3' is no decision"),
        ("s1.lanes=", r"'s1.lanes=' is no decision"),
        ("a=1 b=2 a=1", r"a is decided twice"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(ReplayError, match=message):
        SketchTrace.parse(text)
