"""The programs of `docs/python.md` run, and print what the page shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
BLOCKS = re.findall(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", PAGE.read_text(), re.DOTALL)
TIME = re.compile(r"[\d.]+ ms")


def test_the_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    assert len(BLOCKS) > 5
    for code, shown in BLOCKS:
        exec(compile(code, "docs/python.md", "exec"), names)
        assert TIME.sub("? ms", capsys.readouterr().out) == TIME.sub("? ms", shown)
