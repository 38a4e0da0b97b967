"""JSON values with one value inside changed, determined by a generator of random numbers."""

from __future__ import annotations

import json
from random import Random
from typing import Any

_WORDS = ("", "x", "int8", "float32", "complex64", "accelerator", "cpu", "..", "a/b", "p" * 300)


def damage_json(rng: Random, value: Any) -> str:
    """Change one value inside a JSON value; returns what was done."""
    path = rng.choice(_leaves(value))
    *outer, last = path
    parent = value
    for key in outer:
        parent = parent[key]
    old = parent[last]
    match old, rng.random():
        case _, chance if chance < 0.15:
            del parent[last]
            return f"without {path}"
        case _, chance if chance < 0.25:
            parent[last] = rng.choice((None, [], {}, "text", -1, 1.5))
        case bool(), _:
            parent[last] = not old
        case int(), _:
            parent[last] = rng.choice((old + 1, old - 1, 0, -old, old * 64, 2**40, 2**70))
        case str(), _:
            parent[last] = rng.choice((*_WORDS, old + "_", old[:-1]))
        case list(), _ if old:
            at = rng.randrange(len(old))
            parent[last] = rng.choice((old[:at] + old[at + 1 :], [*old, old[at]], old[::-1]))
        case _:
            parent[last] = None
    return f"{path} is {json.dumps(parent[last])[:200]}"


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside a JSON value."""
    found = [path] if path else []
    if isinstance(value, dict | list):
        for key, inside in value.items() if isinstance(value, dict) else enumerate(value):
            found += _leaves(inside, (*path, key))
    return found
