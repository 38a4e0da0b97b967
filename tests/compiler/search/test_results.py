"""Results of machines are kept by what they are of: task and machine, not its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.compiler.errors import SearchError
from tandem.compiler.search.results import Measured, open_results
from tandem.compiler.search.work import LayerWork, StreamWork
from tandem.hw.config_files import load_config

TINY = load_config("tiny")
FOUND = Measured((5, 6), (StreamWork("d", (LayerWork("a", 1, 2, 3, 4, 5),)),))


def test_what_is_kept(tmp_path: Path) -> None:
    root = tmp_path / "a" / "b"
    with open_results(root, "task") as results:
        assert results.get(TINY) is None
        results.put(TINY, FOUND)
        assert results.get(TINY) == FOUND
        assert results.get(TINY.replace(name="other")) == FOUND
        assert results.get(TINY.replace(instruction_queue=8)) is None
        mode = results.connection.execute("PRAGMA journal_mode").fetchone()
        assert mode == ("wal",)
        assert results.connection.execute("PRAGMA synchronous").fetchone() == (1,)
    assert (root / "results.db").exists()
    # Of another process, and of another task.
    with open_results(root, "task") as results:
        assert results.get(TINY) == FOUND
        results.put(TINY, Measured((), (), "no"))
        assert results.get(TINY) == Measured((), (), "no")
    with open_results(root, "other") as results:
        assert results.get(TINY) is None


def test_tables_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "results.db").write_text("this is no database, whatever its name says")
    with (
        pytest.raises(SearchError, match=f"^results in {tmp_path}: file is not a database$"),
        open_results(tmp_path, "task"),
    ):
        pass
    (tmp_path / "file").touch()
    with (
        pytest.raises(SearchError, match=f"^results in {tmp_path / 'file'}: "),
        open_results(tmp_path / "file", "task"),
    ):
        pass
