"""Workloads of records as short texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem.compiler.tune.plain import canonical_text


def workload_text(template: str, workload: Any) -> str:
    """A workload on one line, from the plain data of a record.

    Shapes are in blocks of channels; strides other than 1, groups and the operations of the passes
    follow. A workload that this version does not know is shown as JSON.
    """
    match workload:
        case {"data": [*data], "weight": [*weight], "strides": [*strides], "groups": groups}:
            text = f"{_shape(data)} * {_shape(weight)}{_strides(strides)}"
            text += f" groups {groups}" if groups != 1 else ""
        case {"products": {"rows": rows, "inputs": inputs, "outputs": outputs}} | {
            "rows": rows,
            "inputs": inputs,
            "outputs": outputs,
        }:
            text = f"{_shape([rows, inputs])} * {_shape([outputs, inputs])}"
        case {"data": [*data], "pool": {"kernel": [*kernel], "strides": strides}}:
            text = f"{_shape(data)} window {_shape(kernel)}{_strides(strides or [])}"
        case {"data": [*data], "factors": [*factors]}:
            text = f"{_shape(data)} by {_shape(factors)}"
        case {"data": [*data]}:
            text = _shape(data)
        case {"is": "Computation", "program": str(program)}:
            text = program.partition("\n")[0].removeprefix("func kernel").rstrip(":")
        case _:
            text = canonical_text(workload)
    passes = workload.get("passes") if isinstance(workload, dict) else None
    return " ".join([template, text, *map(_pass, passes or ())])


def _shape(extents: Sequence[int]) -> str:
    """The first four extents: of packed tensors the numbers of blocks, without their insides."""
    return "x".join(map(str, extents[:4]))


def _strides(strides: Sequence[int]) -> str:
    match [*dict.fromkeys(strides)]:
        case [] | [1]:
            return ""
        case [stride]:
            return f" /{stride}"
    return f" /{_shape(strides)}"


def _pass(one: Any) -> str:
    """The operation of a pass, marked if it has an operand for each element."""
    match one:
        case {"op": op, "kind": "ELEMENT"}:
            return f"{op}+residual"
        case {"op": op}:
            return str(op)
        case {"residual": residual}:
            return "REQUANTISE" if residual is None else "REQUANTISE+residual"
    return canonical_text(one)
