"""A checker of files in the Trace Event Format, and the records and arrows that Perfetto reads.

Stricter than Perfetto's importer where that accepts errors or drops records silently, or did so in
a version that is still in use.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

Record = dict[str, Any]

_KEYS = {
    "M": {"pid", "tid", "name", "args"},
    "X": {"pid", "tid", "ts", "dur", "name", "cat", "args"},
    "s": {"pid", "tid", "ts", "name", "cat", "id"},
    "f": {"pid", "tid", "ts", "name", "cat", "id", "bp"},
    "C": {"pid", "tid", "ts", "name", "args"},
}
_METADATA = {"process_name": "name", "thread_name": "name", "thread_sort_index": "sort_index"}


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow, with the slices that its ends are attached to."""

    name: str
    giver: Record
    taker: Record


def records_of(text: str) -> list[Record]:
    """The records of a file."""
    return _parse(text)["traceEvents"]


def arrows_of(text: str) -> list[Arrow]:
    """The arrows of a file, in the order of their ends."""
    sent: dict[object, Record] = {}
    found = []
    for record, slice_ in _replay(records_of(text)):
        if record["ph"] == "s":
            assert slice_ is not None
            sent[_flow(record)] = slice_
        elif record["ph"] == "f":
            assert slice_ is not None
            found.append(Arrow(record["name"], sent[_flow(record)], slice_))
    return found


def faults(text: str) -> list[str]:
    """The faults of a file; empty for a valid one."""
    try:
        top = _parse(text)
    except ValueError as error:
        return [f"no JSON: {error}"]
    if not isinstance(top, dict) or next(iter(top), "") != "traceEvents":
        return ["a file begins with its traceEvents"]
    records = top["traceEvents"]
    if not isinstance(records, list) or not records:
        return ["there are no records"]
    single = [
        f"record {number}: {fault}"
        for number, record in enumerate(records)
        for fault in _record_faults(record)
    ]
    # Relations between records are checked only if each record is valid.
    return single or [*_title_faults(records), *_slice_faults(records), *_flow_faults(records)]


def _parse(text: str) -> Any:
    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number")

    def unique(pairs: list[tuple[str, Any]]) -> Record:
        if len(dict(pairs)) != len(pairs):
            raise ValueError(f"a key twice in {[key for key, _ in pairs]}")
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)


def _record_faults(record: Any) -> Iterator[str]:
    if not isinstance(record, dict) or record.get("ph") not in _KEYS:
        yield f"no phase that is known: {record}"
        return
    phase = record["ph"]
    if record.keys() != _KEYS[phase] | {"ph"}:
        yield f"{phase} with the keys {sorted(record)}"
        return
    if not _whole(record["pid"]) or not _whole(record["tid"]) or record["tid"] < 1:
        yield f"process {record['pid']!r}, thread {record['tid']!r}"
    if record["tid"] == record["pid"]:
        yield "its track is taken for the main thread"
    for key in {"name", "cat"} & record.keys():
        if not isinstance(record[key], str) or not record[key]:
            yield f"{key} is {record[key]!r}"
    if "ts" in record:
        # Read by a scan of the text, which knows few escapes, up to `ts`.
        keys = list(record)
        if any(keys.index("ts") > keys.index(key) for key in {"name", "cat", "args"} & set(keys)):
            yield "ts comes after text"
        if not _number(record["ts"]) or record["ts"] < 0 or record["ts"] * 1000 % 1:
            yield f"ts is {record['ts']!r}: no nanosecond"
    if phase == "X" and (not _number(record["dur"]) or record["dur"] <= 0):
        yield f"dur is {record['dur']!r}"
    if "id" in record and not (_whole(record["id"]) and record["id"] < 1 << 64):
        yield f"id is {record['id']!r}"
    if record.get("bp", "e") != "e":
        yield f"bp is {record['bp']!r}"
    if "args" in record:
        yield from _args_faults(record)


def _args_faults(record: Record) -> Iterator[str]:
    args = record["args"]
    if not isinstance(args, dict) or not args:
        yield f"args are {args!r}"
        return
    match record["ph"]:
        case "C":
            right = all(map(_number, args.values()))
        case "M":
            wanted = _METADATA.get(record["name"])
            number = wanted == "sort_index"
            right = [*args] == [wanted] and (
                _whole(args[wanted]) if number else bool(args[wanted] and args[wanted] != "")
            )
        case _:
            right = all(isinstance(value, str) or _number(value) for value in args.values())
    if not right:
        yield f"args are {args!r}"


def _title_faults(records: list[Record]) -> Iterator[str]:
    tracks = {(record["pid"], record["tid"]) for record in records if record["ph"] == "X"}
    processes = {(process,) for process, _ in tracks}
    for what, wanted in (
        ("process_name", processes),
        ("thread_name", tracks),
        ("thread_sort_index", tracks),
    ):
        keys = ("pid",) if what == "process_name" else ("pid", "tid")
        titled = Counter(
            tuple(record[key] for key in keys)
            for record in records
            if record["ph"] == "M" and record["name"] == what
        )
        if titled != Counter(wanted):
            yield f"{what} is given for {dict(titled)}, and there are {sorted(wanted)}"
    names = Counter(record["args"]["name"] for record in records if record["name"] == "thread_name")
    yield from (f"{count} tracks are {name}" for name, count in names.items() if count > 1)


def _slice_faults(records: list[Record]) -> Iterator[str]:
    until: dict[int, float] = {}
    last: dict[str, float] = {}
    for record in _in_time(records):
        if record["ph"] == "X":
            if record["ts"] < until.get(record["tid"], 0):
                yield f"slices overlap on track {record['tid']} at {record['ts']}"
            until[record["tid"]] = record["ts"] + record["dur"]
        elif record["ph"] == "C":
            if record["ts"] == last.get(record["name"]):
                yield f"{record['name']} has two values at {record['ts']}"
            last[record["name"]] = record["ts"]


def _flow_faults(records: list[Record]) -> Iterator[str]:
    open_: set[object] = set()
    done: set[object] = set()
    for record, slice_ in _replay(records):
        flow = _flow(record)
        if slice_ is None:
            yield f"arrow {flow}: no slice at its {record['ph']} at {record['ts']}"
        if record["ph"] == "s":
            if flow in open_ | done:
                yield f"arrow {flow} begins twice"
            open_.add(flow)
        elif flow in open_:
            open_.remove(flow)
            done.add(flow)
        else:
            yield f"arrow {flow} ends where none is"
    yield from (f"arrow {flow} does not end" for flow in open_)


def _replay(records: list[Record]) -> Iterator[tuple[Record, Record | None]]:
    """The start and end records of arrows, with the slice open on their track at that time."""
    running: dict[int, Record] = {}
    for record in _in_time(records):
        if record["ph"] == "X":
            running[record["tid"]] = record
        elif record["ph"] in "sf":
            found = running.get(record["tid"])
            ended = found is None or found["ts"] + found["dur"] <= record["ts"]
            yield record, None if ended else found


def _in_time(records: list[Record]) -> list[Record]:
    """The records in stable order of time."""
    timed = (record for record in records if "ts" in record)
    return sorted(timed, key=lambda record: float(record["ts"]))


def _flow(record: Record) -> tuple[str, str, int]:
    return record["cat"], record["name"], record["id"]


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
