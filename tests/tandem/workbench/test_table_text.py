"""Tables as text, as HTML, and texts that are cut."""

from __future__ import annotations

import pytest

from tandem.workbench.table_text import html_table, html_text, shortened, text_table

HEADS = ("name", "n")
ROWS = [["a", "1"], ["longer\n  name", "1,000"], ["", ""], ["b", "2"]]


def test_numbers_stand_at_the_right_and_lines_have_no_spaces_behind() -> None:
    assert text_table(HEADS, ROWS, (False, True), 0).splitlines() == [
        "name             n",
        "a                1",
        "longer name  1,000",
        "",
        "b                2",
    ]
    assert text_table(HEADS, ROWS, (True, False), 0).splitlines() == [
        "       name  n",
        "          a  1",
        "longer name  1,000",
        "",
        "          b  2",
    ]


@pytest.mark.parametrize(
    ("left", "line"), [(1, "... and 1 more row"), (2_000, "... and 2,000 more rows")]
)
def test_rows_that_are_left_out(left: int, line: str) -> None:
    assert text_table(HEADS, [], (False, True), left) == f"name  n\n{line}"
    assert html_table((("n", "a number"),), [], (True,), left).endswith(f"</table><p>{line}</p>")


@pytest.mark.parametrize("length", [1, 63, 64])
def test_short_texts_are_whole(length: int) -> None:
    assert shortened("x" * length) == "x" * length


def test_long_texts_have_64_characters() -> None:
    assert shortened("ab" * 40) == "ab" * 30 + "a..."
    assert len(shortened("x" * 65)) == 64


def test_html_is_escaped() -> None:
    found = html_table((("a<b", 'say "x"'), ("n", "number")), [["<i>", "1"]], (False, True), left=0)
    assert found == (
        '<table><thead><tr><th style="text-align: left" title="say &quot;x&quot;">a&lt;b</th>'
        '<th style="text-align: right" title="number">n</th></tr></thead>'
        '<tbody><tr><td style="text-align: left">&lt;i&gt;</td>'
        '<td style="text-align: right">1</td></tr></tbody></table>'
    )
    assert html_text("1 < 2", "<table></table>") == "<pre>1 &lt; 2</pre><table></table>"
