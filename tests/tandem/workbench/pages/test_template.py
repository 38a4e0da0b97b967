"""Filters of templates, at the edges of their forms, and text that is escaped."""

from __future__ import annotations

from math import inf, nan

import pytest
from jinja2 import UndefinedError

from tandem.workbench.pages.template import (
    NONE,
    cost,
    milliseconds,
    render_template,
    share,
    short,
    times,
    whole,
)

TIMES = "\N{MULTIPLICATION SIGN}"


def test_numbers_that_may_be_unknown() -> None:
    assert [whole(each) for each in (None, 0, 999, 1000)] == [NONE, "0", "999", "1,000"]
    assert [share(each) for each in (None, 0.0, 0.12345, 1)] == [NONE, "0.0%", "12.3%", "100.0%"]
    assert [times(each) for each in (None, 0.0, 1.005, 2)] == [
        NONE,
        f"0.00{TIMES}",
        f"1.00{TIMES}",
        f"2.00{TIMES}",
    ]
    assert [cost(each) for each in (inf, nan, 1234.5, 0.0)] == [NONE, NONE, "1,234", "0"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 ms"),
        (0.01234, "0.0123 ms"),
        (999.4, "999 ms"),
        (999.5, "1,000 ms"),
        (12_345.6, "12,346 ms"),
    ],
)
def test_milliseconds(value: float, text: str) -> None:
    assert milliseconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 "),
        (999, "999 "),
        (1_000, "1.0 k"),
        (999_949, "999.9 k"),
        (999_950, "1.0 M"),
        (1_814_073_344, "1.8 G"),
        (2 * 10**12, "2.0 T"),
        (3_500 * 10**12, "3,500.0 T"),
    ],
)
def test_short_numbers(value: int, text: str) -> None:
    assert short(value) == text


def test_a_page_has_its_style_and_what_made_it() -> None:
    text = render_template(
        '{% extends "frame.html" %}', command="tandem <run> & go", versions=[("tool", "1.2")]
    )
    assert "tandem &lt;run&gt; &amp; go" in text
    assert "tool 1.2" in text
    assert "<style>" in text
    assert "<script" in text
    # Nothing is loaded from elsewhere.
    assert "src=" not in text.split("<script")[0]


def test_filters_and_undefined_names() -> None:
    text = (
        "{{ n|whole }} {{ s|share }} {{ s|times }} {{ n|short }} {{ s|milliseconds }} {{ s|cost }}"
    )
    assert render_template(text, n=1500, s=0.5) == f"1,500 50.0% 0.50{TIMES} 1.5 k 0.5 ms 0"
    assert render_template("{{ text }}", text="<b>") == "&lt;b&gt;"
    with pytest.raises(UndefinedError, match="'nobody' is undefined"):
        render_template("{{ nobody }}")
