"""Formats of weights for layers by name: rules of patterns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final, Self

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.weight_kinds import GROUPS, WeightKind

_SHOWN: Final = 6
"""The number of names that an error lists."""
_WILDCARDS: Final = "*?[]!"


@dataclass(frozen=True, slots=True)
class WeightRule:
    """The format of the layers whose names a pattern matches: `layer4*=int4/64`.

    Attributes
    ----------
    pattern
        A name, or one with the wildcards of file names: `*`, `?` and `[...]`.
    group
        The input channels that have one scale; None for the group of all layers.
    """

    pattern: str
    kind: WeightKind
    group: int | None = None

    def __post_init__(self) -> None:
        if not self.pattern:
            raise QuantisationError("weights of layers: a pattern of names is empty")
        if self.group is not None and self.group not in GROUPS:
            allowed = ", ".join(map(str, GROUPS))
            raise QuantisationError(
                f"weights of {self.pattern}: groups of {self.group}; {allowed} are allowed"
            )
        if self.group is not None and not self.kind.has_groups:
            raise QuantisationError(
                f"weights of {self.pattern}: {self.kind.value} has no groups with a scale"
            )

    @classmethod
    def of(cls, pattern: str, text: str) -> Self:
        """The rule of a pattern and a format, as tables print it: `int4`, `int4/64`.

        Raises
        ------
        QuantisationError
            There is no such format, or no such group.
        """
        name, divided, size = text.strip().partition("/")
        allowed = [kind.value for kind in WeightKind]
        if name not in allowed or (divided and not size.isdecimal()):
            raise QuantisationError(
                f"weights of {pattern}: {text!r} is no format: {', '.join(allowed)} are allowed, "
                f"those with groups as in int4/{GROUPS[1]} too"
            )
        return cls(pattern.strip(), WeightKind(name), int(size) if divided else None)

    def __str__(self) -> str:
        group = "" if self.group is None else f"/{self.group}"
        return f"{self.pattern}={self.kind.value}{group}"


def rules_by_layer(
    rules: Sequence[WeightRule], layers: Mapping[str, Collection[str]]
) -> dict[str, WeightRule]:
    """The last rule that matches a name of a layer, by the layer; none for other layers.

    Parameters
    ----------
    layers
        The names of a layer, by one of them.

    Raises
    ------
    QuantisationError
        A pattern that no name matches; says which names are near.
    """
    found: dict[str, WeightRule] = {}
    for rule in rules:
        matched = [
            layer
            for layer, names in layers.items()
            if any(name == rule.pattern or fnmatchcase(name, rule.pattern) for name in names)
        ]
        if not matched:
            raise QuantisationError(_unknown(rule, layers))
        found |= dict.fromkeys(matched, rule)
    return found


def _unknown(rule: WeightRule, layers: Mapping[str, Collection[str]]) -> str:
    names = [*dict.fromkeys(name for own in layers.values() for name in own)]
    plain = rule.pattern.translate(dict.fromkeys(map(ord, _WILDCARDS)))
    inside = [name for name in names if plain and plain.lower() in name.lower()]
    near = (inside or get_close_matches(plain, names, _SHOWN, 0.5) or names)[:_SHOWN]
    more = ", ..." if len(near) < len(names) else ""
    return (
        f"weights of {rule.pattern}: no layer with weights has such a name: there are "
        f"{', '.join(near)}{more}"
    )
