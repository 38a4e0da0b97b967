"""`tandem.base.nearest`."""

from __future__ import annotations

import pytest

from tandem.base.nearest import did_you_mean


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("pinq", "; did you mean pynq?"),
        ("pynq-y", "; did you mean pynq-x?"),
        ("mobile", ""),
        ("", ""),
    ],
)
def test_the_nearest_name(name: str, hint: str) -> None:
    assert did_you_mean(name, ("tiny", "pynq", "pynq-x")) == hint
    assert did_you_mean(name, iter(())) == ""
