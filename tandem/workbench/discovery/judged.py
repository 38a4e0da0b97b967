"""What was judged, kept by content: another search goes on where this one ended."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tandem.compiler.errors import SearchError
from tandem.compiler.search.results import keep_a_log


@dataclass(frozen=True, slots=True)
class Judged:
    """A table of judgements on disk, as JSON by keys of their content."""

    connection: sqlite3.Connection

    def get(self, key: str) -> Any:
        """A judgement; None if it is not known."""
        rows = self.connection.execute("SELECT value FROM judged WHERE key = ?", (key,))
        found = rows.fetchone()
        try:
            return None if found is None else json.loads(found[0])
        except (TypeError, ValueError):
            raise sqlite3.DataError(f"the row {key} is damaged") from None

    def put(self, key: str, value: Any) -> None:
        """Keep a judgement, whole or not at all."""
        with self.connection:
            self.connection.execute(
                "INSERT OR REPLACE INTO judged VALUES (?, ?)", (key, json.dumps(value))
            )

    def __len__(self) -> int:
        (count,) = self.connection.execute("SELECT COUNT(*) FROM judged").fetchone()
        return int(count)


@contextmanager
def open_judged(path: Path) -> Iterator[Judged]:
    """The table in a file, which is made if need be.

    Raises
    ------
    SearchError
        The file cannot be used.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SearchError(f"judged operations in {path}: {error}") from None
    try:
        connection = sqlite3.connect(path, timeout=60)
        try:
            keep_a_log(connection)
            connection.execute(
                "CREATE TABLE IF NOT EXISTS judged (key TEXT PRIMARY KEY, value TEXT)"
            )
            yield Judged(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise SearchError(f"judged operations in {path}: {error}") from None
