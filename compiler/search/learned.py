"""Machines that were synthesised on this computer: models learn from them, too.

A sample is a line of JSON with the keys `kind`, `config` and what was measured, as in the files
that come with Tandem (`scripts.search.samples`). Those of another version of what makes them are
not read (`hw.sources`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tandem.base.cache import content_key
from tandem.compiler.errors import SearchError
from tandem.hw.area import estimate as area
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config
from tandem.hw.sources import area_digest, clock_digest, resources_digest
from tandem.hw.synthesis import clock, estimate
from tandem.hw.synthesis.families import Family

AREA, CLOCK = "area", "clock"
"""Kinds of samples; that of resources is the family's name."""


@dataclass(frozen=True, slots=True)
class Learned:
    """Samples beside those that come with Tandem, by what they say."""

    areas: tuple[area.Sample, ...] = ()
    resources: tuple[estimate.Sample, ...] = ()
    clocks: tuple[clock.ClockSample, ...] = ()

    @staticmethod
    def of(lines: Iterable[str]) -> Learned:
        """The samples of lines, in whatever order; machines that come with Tandem are left out.

        So are areas and resources of those with operations of their own: what these take is added
        to what a model says, and none learns it.
        """
        areas: dict[HardwareConfig, area.Sample] = {}
        resources: dict[tuple[HardwareConfig, Family], estimate.Sample] = {}
        clocks: dict[HardwareConfig, clock.ClockSample] = {}
        for line in sorted(lines):
            record = json.loads(line)
            kind = record["kind"]
            if kind != CLOCK and record["config"].get("alu_operations"):
                continue
            if kind == AREA:
                found = area.parse_sample(line)
                areas[_unnamed(found.config)] = found
            elif kind == CLOCK:
                routed = clock.parse_sample(line)
                clocks[_unnamed(routed.config)] = routed
            else:
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
        rows = self._execute(
            "SELECT line FROM samples WHERE code IN (?, ?, ?) ORDER BY line",
            *(area_digest(), resources_digest(), clock_digest()),
        )
        return tuple(line for (line,) in rows)

    def add(self, lines: Sequence[str]) -> None:
        """Keep samples; one of the same kind and machine is replaced."""
        for line in lines:
            record = json.loads(line)
            key = content_key(
                record["kind"], json.dumps({**record["config"], "name": ""}, sort_keys=True)
            )
            code = _code_digest(record["kind"])
            self._execute("INSERT OR REPLACE INTO samples VALUES (?, ?, ?)", code, key, line)

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


def _code_digest(kind: str) -> str:
    """The digest of the source that samples of a kind are made by."""
    if kind == AREA:
        return area_digest()
    return clock_digest() if kind == CLOCK else resources_digest()


def _unnamed(config: HardwareConfig) -> HardwareConfig:
    return config.replace(name="_")
