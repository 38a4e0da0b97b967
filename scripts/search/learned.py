"""Machines that were synthesised on this computer: models learn from them, too.

A sample is a line of JSON with the keys `kind`, `config` and what was measured, as in the files
that come with Tandem (`scripts.search.samples`). Those of another version of the hardware are not
read.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import hw
from hw.area import estimate as area
from hw.cache import content_key
from hw.config import HardwareConfig
from hw.config_files import dump_config
from hw.synthesis import clock, estimate
from hw.synthesis.families import Family
from scripts.errors import SearchError

AREA, CLOCK = "area", "clock"


@dataclass(frozen=True, slots=True)
class Learned:
    """Samples beside those that come with Tandem, by what they say."""

    areas: tuple[area.Sample, ...] = ()
    resources: tuple[estimate.Sample, ...] = ()
    clocks: tuple[clock.ClockSample, ...] = ()

    @staticmethod
    def of(lines: Iterable[str]) -> Learned:
        """The samples of lines, in whatever order; machines that come with Tandem are left out."""
        areas: dict[HardwareConfig, area.Sample] = {}
        resources: dict[tuple[HardwareConfig, Family], estimate.Sample] = {}
        clocks: dict[HardwareConfig, clock.ClockSample] = {}
        for line in sorted(lines):
            match json.loads(line)["kind"]:
                case "area":
                    found = area.parse_sample(line)
                    areas[_unnamed(found.config)] = found
                case "clock":
                    routed = clock.parse_sample(line)
                    clocks[_unnamed(routed.config)] = routed
                case _:
                    used = estimate.parse_sample(line)
                    resources[_unnamed(used.config), used.family] = used
        for known in area.samples():
            areas.pop(_unnamed(known.config), None)
        for counted in estimate.samples():
            resources.pop((_unnamed(counted.config), counted.family), None)
        for timed in clock.samples():
            clocks.pop(_unnamed(timed.config), None)
        return Learned((*areas.values(),), (*resources.values(),), (*clocks.values(),))

    @property
    def count(self) -> int:
        """The number of samples."""
        return len(self.areas) + len(self.resources) + len(self.clocks)

    def as_json(self) -> dict[str, dict[str, int]]:
        """The number of samples of each model: of those that come with Tandem, and of these."""
        packaged = (len(area.samples()), len(estimate.samples()), len(clock.samples()))
        own = (len(self.areas), len(self.resources), len(self.clocks))
        names = (AREA, "resources", CLOCK)
        return {
            "packaged": dict(zip(names, packaged, strict=True)),
            "own": dict(zip(names, own, strict=True)),
        }


NOTHING = Learned()


@dataclass(frozen=True, slots=True)
class OwnSamples:
    """The samples of this computer, a table of the database of results.

    Its methods raise `SearchError` if the database refuses them.
    """

    connection: sqlite3.Connection

    def lines(self) -> tuple[str, ...]:
        """All samples of this version of the hardware."""
        rows = self._execute("SELECT line FROM samples WHERE code = ? ORDER BY line", hardware())
        return tuple(line for (line,) in rows)

    def add(self, lines: Sequence[str]) -> None:
        """Keep samples; one of the same kind and machine is replaced."""
        for line in lines:
            record = json.loads(line)
            key = content_key(
                record["kind"], json.dumps({**record["config"], "name": ""}, sort_keys=True)
            )
            self._execute("INSERT OR REPLACE INTO samples VALUES (?, ?, ?)", hardware(), key, line)

    def _execute(self, statement: str, *values: str) -> list[Any]:
        try:
            with self.connection:
                self.connection.execute(
                    "CREATE TABLE IF NOT EXISTS samples "
                    "(code TEXT, key TEXT, line TEXT, PRIMARY KEY (code, key))"
                )
                return self.connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise SearchError(f"samples: {error}") from None


def sample_line(kind: str, config: HardwareConfig, found: Mapping[str, object]) -> str:
    """A sample as a line of JSON, without the end of the line."""
    return json.dumps({"kind": kind, "config": json.loads(dump_config(config)), **found})


@cache
def hardware() -> str:
    """A digest of the source that Verilog is made by, and synthesis run by."""
    digest = hashlib.sha256()
    assert hw.__file__ is not None, "a package with an __init__"
    root = Path(hw.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _unnamed(config: HardwareConfig) -> HardwareConfig:
    return config.replace(name="_")
