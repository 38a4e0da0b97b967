"""Lines that were printed, without spaces at their ends."""

from __future__ import annotations

import pytest


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]
