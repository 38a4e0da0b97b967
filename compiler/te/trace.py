"""Traces: the primitives that made a schedule, as values, as JSON, and replayed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from compiler.errors import ReplayError
from compiler.ir.buffer import Scope
from compiler.ir.stmt import Function
from compiler.te.primitives import PRIMITIVES, Hole, Primitive

__all__ = ["FORMAT", "Trace", "fill", "holes", "trace_from_json", "trace_to_json"]

FORMAT = 1
"""Version of the JSON."""

Trace = tuple[Primitive, ...]


def holes(trace: Sequence[Primitive]) -> tuple[str, ...]:
    """The numbers that a trace leaves open, by name."""
    found = [
        value.name
        for step in trace
        for value in (getattr(step, field.name) for field in fields(step))
        if isinstance(value, Hole)
    ]
    return tuple(dict.fromkeys(found))


def fill(trace: Sequence[Primitive], choices: Mapping[str, int]) -> Trace:
    """A trace with its holes filled.

    Raises
    ------
    ReplayError
        A hole without a choice; a choice for no hole.
    """
    wanted = holes(trace)
    missing = [name for name in wanted if name not in choices]
    extra = [name for name in choices if name not in wanted]
    if missing or extra:
        said = f"no choice for {', '.join(missing)}" if missing else "every hole has a choice"
        raise ReplayError(f"{said}; chosen for nothing: {', '.join(extra) or 'none'}")
    return tuple(_filled(step, choices) for step in trace)


def _filled(step: Primitive, choices: Mapping[str, int]) -> Primitive:
    changes: dict[str, Any] = {
        field.name: choices[value.name]
        for field in fields(step)
        if isinstance(value := getattr(step, field.name), Hole)
    }
    return replace(step, **changes) if changes else step


def trace_to_json(trace: Sequence[Primitive]) -> str:
    """Text that `trace_from_json` reads back, a step a line."""
    steps = [json.dumps(_step_to_json(step)) for step in trace]
    body = ",\n  ".join(steps)
    return f'{{"format": {FORMAT}, "steps": [\n  {body}\n]}}\n'


def trace_from_json(text: str, intrinsics: Mapping[str, Function] | None = None) -> Trace:
    """The trace in a text.

    Parameters
    ----------
    intrinsics
        What tensorize may name.

    Raises
    ------
    ReplayError
        No JSON, another format, unknown primitives or fields, values of a wrong type.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReplayError(f"a trace must be JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ReplayError(f"a trace of format {FORMAT} is expected")
    steps = found.get("steps")
    if not isinstance(steps, list):
        raise ReplayError("a trace has a list of steps")
    return tuple(
        _step_from_json(number, step, intrinsics or {}) for number, step in enumerate(steps)
    )


def _step_to_json(step: Primitive) -> dict[str, Any]:
    written: dict[str, Any] = {"primitive": step.name}
    for field in fields(step):
        value = getattr(step, field.name)
        match value:
            case Hole(name=name):
                written[field.name] = {"hole": name}
            case Scope():
                written[field.name] = value.value
            case Function(name=name):
                written[field.name] = name
            case _:
                written[field.name] = value
    return written


def _step_from_json(number: int, step: Any, intrinsics: Mapping[str, Function]) -> Primitive:
    where = f"step {number}"
    if not isinstance(step, dict) or step.get("primitive") not in PRIMITIVES:
        raise ReplayError(f"{where}: {step!r} is none of {', '.join(sorted(PRIMITIVES))}")
    kind = PRIMITIVES[step["primitive"]]
    known = {field.name: str(field.type) for field in fields(kind)}
    given = {name: value for name, value in step.items() if name != "primitive"}
    unknown = sorted(given.keys() - known.keys())
    if unknown:
        raise ReplayError(f"{where}: {kind.name} has no {', '.join(unknown)}")
    values = {
        name: _value(f"{where}, {name}", known[name], value, intrinsics)
        for name, value in given.items()
    }
    try:
        return kind(**values)
    except TypeError as error:
        raise ReplayError(f"{where}: {error}") from None


def _value(where: str, kind: str, value: Any, intrinsics: Mapping[str, Function]) -> Any:
    match kind, value:
        case "str", str():
            return value
        case "bool", bool():
            return value
        case "int | Hole", {"hole": str(name)}:
            return Hole(name)
        case "int | Hole", int() if not isinstance(value, bool):
            return value
        case "tuple[str, ...]", list() if all(isinstance(each, str) for each in value):
            return tuple(value)
        case "Scope", str() if value in {each.value for each in Scope}:
            return Scope(value)
        case "Function", str():
            if value not in intrinsics:
                raise ReplayError(f"{where}: there is no intrinsic {value}")
            return intrinsics[value]
        case _:
            raise ReplayError(f"{where}: {value!r} is no {kind}")
