"""What was judged is there again, whole, whoever asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.compiler.errors import SearchError
from tandem.workbench.discovery.judged import open_judged


def test_kept(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "judged.db"
    with open_judged(path) as judged:
        assert judged.get("key") is None
        judged.put("key", {"cycles": 5, "reason": ""})
        judged.put("other", "proved")
        judged.put("key", {"cycles": 6, "reason": ""})
    with open_judged(path) as judged:
        assert judged.get("key") == {"cycles": 6, "reason": ""}
        assert judged.get("other") == "proved"
        assert len(judged) == 2


def test_two_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "judged.db"
    with open_judged(path) as one, open_judged(path) as other:
        one.put("key", 1)
        assert other.get("key") == 1


def test_no_table(tmp_path: Path) -> None:
    path = tmp_path / "judged.db"
    path.write_text("no database, but a text that is long enough to be seen as one" * 20)
    with pytest.raises(SearchError, match=f"judged operations in {path}"), open_judged(path):
        pass


def test_a_damaged_row(tmp_path: Path) -> None:
    path = tmp_path / "judged.db"
    with open_judged(path) as judged, judged.connection:
        judged.connection.execute("INSERT INTO judged VALUES ('key', 'no JSON')")
    with (
        pytest.raises(SearchError, match=f"judged operations in {path}: the row key is damaged"),
        open_judged(path) as judged,
    ):
        judged.get("key")


def test_what_fails_elsewhere_is_no_fault_of_the_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), open_judged(tmp_path / "judged.db"):
        (tmp_path / "absent").read_text()
