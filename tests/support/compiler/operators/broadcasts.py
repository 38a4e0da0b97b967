"""Hypothesis strategies for shapes."""

from __future__ import annotations

from hypothesis import strategies as st

Shape = tuple[int, ...]


def shapes(
    least: int = 0, most: int = 4, extent: int = 4, smallest: int = 0
) -> st.SearchStrategy[Shape]:
    """Shapes of `least` to `most` dimensions; if `smallest` is 0, axes may be empty."""
    return st.lists(st.integers(smallest, extent), min_size=least, max_size=most).map(tuple)


@st.composite
def broadcasting_shapes(draw: st.DrawFn, count: int) -> tuple[Shape, ...]:
    """Shapes that broadcast together: one shape, less leading axes, with some axes of 1."""
    whole = draw(shapes())
    found = []
    for _ in range(count):
        start = draw(st.integers(0, len(whole)))
        found.append(tuple(1 if draw(st.booleans()) else each for each in whole[start:]))
    return tuple(found)
