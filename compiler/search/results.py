"""What machines measured, kept by content: another search that comes to the same machine measures
nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tandem.base.cache import content_key
from tandem.compiler.errors import SearchError
from tandem.compiler.search.work import StreamWork
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config


class Measured(msgspec.Struct, frozen=True):
    """What came of a machine.

    Attributes
    ----------
    cycles
        Of each network; empty if the machine cannot run one.
    work
        What the programs of each network do.
    reason
        Why the machine cannot run the networks; empty if it can.
    """

    cycles: tuple[int, ...]
    work: tuple[StreamWork, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    """A table of results on disk; several processes may use it at a time."""

    connection: sqlite3.Connection
    task: str

    def get(self, config: HardwareConfig) -> Measured | None:
        """The result of a machine, whatever its name; None if it is not known."""
        rows = self.connection.execute(
            "SELECT value FROM results WHERE key = ?", (self._key(config),)
        )
        found = rows.fetchone()
        return None if found is None else msgspec.json.decode(found[0], type=Measured)

    def put(self, config: HardwareConfig, measured: Measured) -> None:
        """Keep the result of a machine."""
        with self.connection:
            self.connection.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?)",
                (self._key(config), msgspec.json.encode(measured)),
            )

    def _key(self, config: HardwareConfig) -> str:
        return content_key("result", self.task, dump_config(config.replace(name="_")))


@contextmanager
def open_results(root: Path, task: str) -> Iterator[Results]:
    """The table under `root`, for the machines of a task.

    Parameters
    ----------
    task
        A digest of all that results depend on beside the machine.

    Raises
    ------
    SearchError
        The table cannot be used.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(root / "results.db", timeout=60)
        try:
            keep_a_log(connection)
            connection.execute(
                "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, value BLOB)"
            )
            yield Results(connection, task)
        finally:
            connection.close()
    except (sqlite3.Error, OSError) as error:
        raise SearchError(f"results in {root}: {error}") from None


def keep_a_log(connection: sqlite3.Connection) -> None:
    """Write to a log first: what is committed is not lost with the process, and nobody waits for
    the disk. After a power failure the last results may be missing, and are measured again."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
