"""Copies of a block that are not as they should be, to see that its proof tells."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any

from amaranth.asserts import AnySeq
from amaranth.hdl import Const, Module, Value
from amaranth.lib.wiring import Out


def planted(block: type[Any], *changes: tuple[str, str]) -> Any:
    """The block as it would be if its source text read otherwise: what was, and what it becomes.

    Refuses a text that is not there exactly once: the fault must be where it is meant to be, also
    after the source has changed.
    """
    original = sys.modules[block.__module__]
    source = inspect.getsource(original)
    for was, becomes in changes:
        if source.count(was) != 1:
            raise ValueError(
                f"{original.__name__} has {was!r} {source.count(was)} times: it must have it once"
            )
        source = source.replace(was, becomes)
    copy = ModuleType(f"{original.__name__}_planted")
    exec(compile(source, f"<{copy.__name__}>", "exec", dont_inherit=True), copy.__dict__)
    return getattr(copy, block.__name__)


def anything(block: type[Any]) -> Any:
    """A block with the same ports, whose outputs have any value in each cycle."""

    def build(self: Any, m: Module) -> None:
        for _, member, port in self.signature.flatten(self):
            # An `always_ready` stream has a constant for a port.
            if member.flow is Out and not isinstance(port, Const):
                m.d.comb += Value.cast(port).eq(AnySeq(len(Value.cast(port))))

    return type("Anything", (block,), {"build": build})
