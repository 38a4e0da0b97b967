"""The back ends of targets, kept from one artifact to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from compiler.targets.target import Backend, Target

__all__ = ["Backends"]


@dataclass(frozen=True, slots=True)
class Backends:
    """A back end for each target, which compiles nothing twice.

    The artifact of a network for an accelerator, and its fallback for the host alone, share all
    that the accelerator never does.
    """

    _made: dict[Target[Any], Backend] = field(default_factory=dict, repr=False)

    def of(self, target: Target[Any]) -> Backend:
        """The target's."""
        if target not in self._made:
            self._made[target] = target.make_backend(target)
        return self._made[target]
