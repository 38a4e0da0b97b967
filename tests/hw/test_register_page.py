"""`docs/registers.md` says what the machine has."""

from __future__ import annotations

from collections.abc import Callable

from tandem.hw.register_page import register_page


def test_the_page_is_up_to_date(golden: Callable[[str, str], None]) -> None:
    golden("../../docs/registers.md", register_page())
