"""The base of every RTL component: built in place for simulation, a module of its own in Verilog.

Amaranth's own converter emits a module for each instance and derives the module's ports from the
signals that cross its boundary. Readers of Verilog expect one module for sixteen equal lanes, with
the ports that the source declares. So an exported `Block` adds only an instance to its parent, and
is converted once, as a design of its own, whatever the number of its instances.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol, Self, runtime_checkable

from amaranth.hdl import (
    Elaboratable,
    Fragment,
    Instance,
    Module,
    ResetInserter,
    ResetSignal,
    Value,
)
from amaranth.lib import wiring


@runtime_checkable
class Exporter(Protocol):
    """A platform that collects blocks as modules; passed down through `elaborate`."""

    def instance(self, block: Block, reset: Value) -> Instance:
        """An instance of the block's module, reset by `reset`."""
        ...


class Block(wiring.Component):
    """A component whose circuit is described by `build`.

    Two blocks of one class that were constructed with equal arguments are the same module.
    """

    arguments: tuple[object, ...]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        block: Self = super().__new__(cls)
        block.arguments = (*args, *sorted(kwargs.items()))
        return block

    @abstractmethod
    def build(self, m: Module) -> None:
        """Describe the circuit inside `m`."""

    def variant(self) -> str:
        """A suffix that tells modules of one class apart in Verilog, or the empty string."""
        return ""

    def remark(self) -> str:
        """What the header of the module's Verilog says to its readers, or the empty string."""
        return ""

    def elaborate(self, platform: object) -> Module | Instance:
        """The circuit itself, or, for an exporter, an instance of the block's module."""
        if isinstance(platform, Exporter):
            return platform.instance(self, ResetSignal())
        m = Module()
        self.build(m)
        return m


class ResetBy(Elaboratable):
    """A block that is reset by a signal as well as by its clock domain's reset."""

    def __init__(self, reset: Value, block: Block) -> None:
        self._reset = reset
        self._block = block

    def elaborate(self, platform: object) -> Fragment:
        """The result of `Block.elaborate`, with the second reset."""
        if isinstance(platform, Exporter):
            return Fragment.get(self._block, _WithReset(platform, self._reset))
        return Fragment.get(ResetInserter(self._reset)(self._block), platform)


class _WithReset:
    """An exporter that adds a reset signal to its instances."""

    def __init__(self, exporter: Exporter, reset: Value) -> None:
        self._exporter = exporter
        self._reset = reset

    def instance(self, block: Block, reset: Value) -> Instance:
        return self._exporter.instance(block, reset | self._reset)
