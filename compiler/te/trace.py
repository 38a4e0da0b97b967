"""Traces as JSON: the primitives that made a schedule, and the knobs that are left open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

import msgspec

from tandem.compiler.errors import ReplayError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.te.knobs import Knob, OpenTrace, When
from tandem.compiler.te.primitives import PRIMITIVES, Primitive

FORMAT = 2
"""The version of the JSON."""


def trace_to_json(trace: Sequence[Primitive | When]) -> str:
    """Return text that `trace_from_json` reads back, one line for each step."""
    body = ",\n  ".join(json.dumps(_step_to_json(step)) for step in trace)
    return f'{{"format": {FORMAT}, "steps": [\n  {body}\n]}}\n'


def trace_from_json(text: str, intrinsics: Mapping[str, PrimFunc] | None = None) -> OpenTrace:
    """Return the trace in a text.

    Parameters
    ----------
    intrinsics
        The intrinsics that tensorize may use, by name.

    Raises
    ------
    ReplayError
        If the text is no JSON or of another format, or a primitive, a field or the type of a value
        is wrong.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReplayError(f"a trace must be JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ReplayError(f"a trace of format {FORMAT} is expected")
    return _Reader(intrinsics or {}).steps("step", found.get("steps"))


def _step_to_json(step: Primitive | When) -> dict[str, Any]:
    if isinstance(step, When):
        steps = [_step_to_json(each) for each in step.steps]
        return {"when": step.knob, "is": step.settings, "steps": steps}
    values = {field.name: _to_json(getattr(step, field.name)) for field in fields(step)}
    return {"primitive": step.name} | values


def _to_json(value: Any) -> Any:
    match value:
        case Knob(name=name, options=()):
            return {"knob": name}
        case Knob(name=name, options=options):
            return {"knob": name, "options": [[key, _to_json(each)] for key, each in options]}
        case Scope():
            return value.value
        case PrimFunc(name=name):
            return name
        case _:
            return value


@dataclass(frozen=True, slots=True)
class _Reader:
    intrinsics: Mapping[str, PrimFunc]

    def steps(self, where: str, found: Any) -> OpenTrace:
        if not isinstance(found, list):
            raise ReplayError("a trace has a list of steps")
        return tuple(self._step(f"{where} {number}", step) for number, step in enumerate(found))

    def _step(self, where: str, step: Any) -> Primitive | When:
        match step:
            case {"when": str(name), "is": list(settings), "steps": steps}:
                return When(name, tuple(settings), self.steps(f"{where},", steps))
            case {"primitive": str(name)} if name in PRIMITIVES:
                kind = PRIMITIVES[name]
                given = {field: value for field, value in step.items() if field != "primitive"}
            case _:
                raise ReplayError(f"{where}: {step!r} is none of {', '.join(sorted(PRIMITIVES))}")
        hints = get_type_hints(kind)
        known = {field.name: hints[field.name] for field in fields(kind)}
        unknown = sorted(given.keys() - known.keys())
        if unknown:
            raise ReplayError(f"{where}: {name} has no {', '.join(unknown)}")
        values = {
            field: self._value(f"{where}, {field}", known[field], value)
            for field, value in given.items()
        }
        try:
            return kind(**values)
        except TypeError as error:
            raise ReplayError(f"{where}: {error}") from None

    def _value(self, where: str, kind: Any, value: Any) -> Any:
        match value:
            case {"knob": str(name)}:
                pairs = value.get("options", [])
                options = tuple((key, self._value(where, kind, each)) for key, each in pairs)
                return Knob(name, options)
            case str() if kind is Scope:
                return Scope(value)
            case None if kind == PrimFunc | None:
                return None
            case str() if kind in (PrimFunc, PrimFunc | None):
                if value not in self.intrinsics:
                    raise ReplayError(f"{where}: there is no intrinsic {value}")
                return self.intrinsics[value]
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise ReplayError(f"{where}: {value!r}: {error}") from None
