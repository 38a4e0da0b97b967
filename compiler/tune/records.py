"""Records of trials: a file with one line of JSON for each.

A trial is appended with one write as soon as it is finished, so that a killed process loses none
that was finished. A torn last line is cut off before the next trial is appended; damaged lines
elsewhere, and records with a field that no trial has, are skipped and reported.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from tandem.base.input_files import read_input
from tandem.base.paths import AnyPath
from tandem.compiler.errors import RecordError
from tandem.compiler.te.knobs import Setting
from tandem.compiler.tune.plain import canonical_text
from tandem.compiler.tune.record_fields import (
    check_choice,
    check_cost,
    check_machine,
    check_proposer,
    check_winner,
    check_workload,
)
from tandem.compiler.tune.trial import Outcome, Status

RECORD_BYTES: Final = 1 << 30
"""Limit of a file of records: a million of them."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One trial, or a choice that won a comparison at the end of a search.

    Attributes
    ----------
    tandem
        The version that measured it.
    target
        `accelerator` or `cpu`.
    machine
        The configuration, as `--config` takes it, or the processor's name, features and threads.
    memory
        The memory model; empty on the CPU.
    template, workload
        The schedule template's name, and its workload as `compiler.tune.plain` writes it.
    choice
        The settings of the knobs.
    status, cost, reason
        As in `Outcome`; the cost is in cycles on the accelerator, in seconds on the CPU, and None
        unless measured.
    limit
        The cost at which the measurement would have been abandoned; None if there was none.
    explorer, seed
        What proposed the choice.
    default_cost
        Of a choice that won: the default choice's cost in that comparison. A trial's record has no
        such field.
    """

    tandem: str
    target: str
    machine: Mapping[str, Any]
    memory: str
    template: str
    workload: Any
    choice: Mapping[str, Setting]
    status: Status
    cost: int | float | None
    reason: str = ""
    limit: int | float | None = None
    explorer: str
    seed: int
    default_cost: int | float | UnsetType = UNSET

    @property
    def outcome(self) -> Outcome:
        """The trial's outcome."""
        return Outcome(self.status, float("inf") if self.cost is None else self.cost, self.reason)


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that is no record, or that of no trial.

    Attributes
    ----------
    line
        Its number, from 1.
    """

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: skipped: {self.reason}"


def read_records(path: AnyPath) -> tuple[list[Record], list[Damage]]:
    """The records of a file in their order, and its damaged lines; a torn last line is neither.

    Raises
    ------
    RecordError
        The file cannot be read, or is no file but a device or a pipe.
    """
    path = Path(path)
    try:
        lines = read_input(path, RECORD_BYTES).split(b"\n")
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from None
    records, damages = [], []
    machines: set[str] = set()
    # What follows the last newline is torn, or nothing.
    for number, line in enumerate(lines[:-1], 1):
        try:
            record = _DECODER.decode(line)
            _check(record, machines)
            records.append(record)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, RecordError) as error:
            damages.append(Damage(path, number, str(error)))
    return records, damages


def _check(record: Record, machines: set[str]) -> None:
    """Raise `RecordError` for a field without meaning; `machines` are those found good before."""
    for name in ("tandem", "template"):
        if not getattr(record, name):
            raise RecordError(f"{name} is empty")
    machine = canonical_text([record.target, record.machine, record.memory])
    if machine not in machines:
        check_machine(record.target, record.machine, record.memory)
        machines.add(machine)
    check_workload(record.workload)
    check_choice(record.choice)
    check_cost(record.target, record.status, record.cost)
    if record.default_cost is not UNSET:
        check_winner(record.status, record.default_cost)
    check_proposer(record.limit, record.explorer, record.seed)


def dump_records(records: Iterable[Record]) -> bytes:
    """The content of a file with these records."""
    return b"".join(_ENCODER.encode(record) + b"\n" for record in records)


def append_records(path: AnyPath, records: Iterable[Record]) -> None:
    """Append records to a file, which is made if it is missing; a torn last line is cut off.

    Raises
    ------
    RecordError
        The file cannot be written; no record that it had is lost.
    """
    path = Path(path)
    lines = dump_records(records)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _check_kind(path, os.fstat(descriptor).st_mode)
            # Another tuner may append to the same file.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            end = _end_of_last_line(descriptor)
            os.ftruncate(descriptor, end)
            try:
                _write(descriptor, lines, end)
            except OSError:
                os.ftruncate(descriptor, end)
                raise
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from None


def merge_records(*parts: Sequence[Record]) -> list[Record]:
    """The records of all parts, equal ones once, in their order."""
    merged: dict[bytes, Record] = {}
    for part in parts:
        for record in part:
            merged.setdefault(_ENCODER.encode(record), record)
    return list(merged.values())


def _check_kind(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise RecordError(f"{path}: not a regular file")


def _write(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def _end_of_last_line(descriptor: int) -> int:
    """The offset behind the last newline."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - _BLOCK)
        at = os.pread(descriptor, end - start, start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


_BLOCK = 1 << 16
_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Record)
