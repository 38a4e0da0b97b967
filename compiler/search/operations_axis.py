"""Operations of the ALU as an axis of a space: each machine has none, or those of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tandem.compiler.errors import SpaceError
from tandem.compiler.search.space import Dimension, Space
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation, free_opcodes
from tandem.hw.features import Feature

FIELDS = ("alu_operations", "alu_stages")
"""The fields of the axis, which change together."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A machine whose operations are offered to the machines of a space.

    Attributes
    ----------
    source
        What it is called in errors: its file.
    """

    source: str
    config: HardwareConfig


def with_operations(space: Space, offered: Sequence[Offered]) -> Space:
    """A space with an axis more: a machine has the operations of the space's base, mostly none, or
    those of one of the machines that are offered, with their stages. What else these machines have
    is no matter. Without an offer it is the same space.

    Raises
    ------
    SpaceError
        The space varies operations already; a machine has none, or those of another; or no machine
        of the space has opcodes for them.
    """
    if not offered:
        return space
    for dimension in space.dimensions:
        for field in dimension.fields:
            if field in FIELDS:
                raise SpaceError(
                    f"space {space.name} has the field {field} already: operations of "
                    f"{offered[0].source} cannot be a second one"
                )
    named = {_of(space.base): f"the base of the space {space.name}"}
    for one in offered:
        _check_encodable(space, one)
        operations = _of(one.config)
        if operations in named:
            raise SpaceError(f"{one.source} has the operations of {named[operations]}")
        named[operations] = one.source
    return replace(space, dimensions=(*space.dimensions, Dimension(FIELDS, tuple(named))))


def _of(config: HardwareConfig) -> tuple[tuple[CustomOperation, ...], int]:
    return config.alu_operations, config.alu_stages


def _check_encodable(space: Space, offered: Offered) -> None:
    """Raise `SpaceError` unless a machine of the space has opcodes for the operations."""
    operations = offered.config.alu_operations
    if not operations:
        raise SpaceError(
            f"{offered.source}: the machine {offered.config.name} has no alu_operations to offer; "
            f"`tandem discover -o FILE` finds some"
        )
    free = max(len(free_opcodes(features)) for features in _features(space))
    if len(operations) > free:
        raise SpaceError(
            f"{offered.source} has {len(operations)} alu_operations: machines of the space "
            f"{space.name} have opcodes for {free} at most"
        )


def _features(space: Space) -> Iterator[frozenset[Feature]]:
    """The sets of features that machines of a space may have."""
    for dimension in space.dimensions:
        if "features" in dimension.fields:
            at = dimension.fields.index("features")
            yield from (row[at] for row in dimension.values)
            return
    yield space.base.features
