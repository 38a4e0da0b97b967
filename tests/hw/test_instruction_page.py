"""`docs/instruction-set.md` says what instructions the machine has."""

from __future__ import annotations

from collections.abc import Callable

from tandem.hw.config_files import load_config
from tandem.hw.instruction_page import instruction_page


def test_the_page_is_up_to_date(golden: Callable[[str, str], None]) -> None:
    golden("../../docs/instruction-set.md", instruction_page(load_config("pynq-w")))
