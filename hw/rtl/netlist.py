"""Collects blocks as modules of one RTLIL design."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    Elaboratable,
    Instance,
    Module,
    Signal,
    Value,
    ValueCastable,
)
from amaranth.lib import wiring

from tandem.hw.rtl.block import Block

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")

_SOURCE = re.compile(r'^ *attribute \\src "(.*)"\n', re.MULTILINE)
_OF_WIRE = re.compile(r"(?:^ *attribute .*\n)+(?= *wire )", re.MULTILINE)
_ROOT = Path(__file__).resolve().parents[2]

Port = tuple[wiring.Flow, Signal]
"""A port's direction and its signal."""


class Netlist:
    """An exporter that converts equal blocks once, and collects the modules as RTLIL text.

    `ports` has the ports of every module in the order of the source, without clock and reset.
    """

    def __init__(self, prefix: str, *, locations: bool = False) -> None:
        """Names of blocks' modules begin with `prefix`; `locations` keeps the lines of source."""
        self.ports: dict[str, tuple[str, ...]] = {}
        self._prefix = prefix
        self._locations = locations
        self._texts: dict[str, str] = {}
        self._blocks: dict[str, Block] = {}
        self._clocked: set[str] = set()

    @property
    def text(self) -> str:
        """RTLIL of all modules converted so far."""
        return "\n".join(self._texts.values())

    def remark(self, name: str) -> str:
        """What a module's block says to readers of its Verilog."""
        return self._blocks[name].remark() if name in self._blocks else ""

    def instance(self, block: Block, reset: Value) -> Instance:
        """An instance of the block's module; converts the block if no equal block was."""
        name = self._module(block)
        clocking = {"clk": ClockSignal(), "rst": reset} if name in self._clocked else {}
        return Instance(
            name,
            *(("i", port, value) for port, value in clocking.items()),
            *(
                ("i" if flow == wiring.In else "o", port, signal)
                for port, (flow, signal) in ports_of(block).items()
            ),
        )

    def add(self, name: str, circuit: Module, ports: Mapping[str, Port]) -> None:
        """Convert a circuit to a module called `name`.

        A circuit that uses clock domain `sync` without defining it gets the ports `clk` and `rst`.
        """

        def declare(domain: str) -> ClockDomain:
            self._clocked.add(name)
            return ClockDomain(domain)

        self.ports[name] = tuple(ports)
        text = rtlil.convert(
            ExportedCircuit(circuit, ports),
            name,
            self,
            emit_src=self._locations,
            missing_domain=declare,
        )
        # Of two names for one wire, Yosys keeps the one with more attributes: wires lose theirs.
        text = _OF_WIRE.sub(lambda found: _SOURCE.sub("", found[0]), text)
        self._texts[name] = _SOURCE.sub(_within_project, text)

    def _module(self, block: Block) -> str:
        """The name of the block's module; converts the block if no equal block was."""
        stem = _WORD.sub("_", type(block).__name__).lower()
        stem = f"{self._prefix}_{stem.removesuffix('_unit')}"
        if block.variant():
            stem += f"_{block.variant()}"
        name = stem
        number = 1
        while name in self._blocks:
            known = self._blocks[name]
            if type(known) is type(block) and known.arguments == block.arguments:
                return name
            number += 1
            name = f"{stem}_{number}"
        self._blocks[name] = block
        circuit = Module()
        block.build(circuit)
        self.add(name, circuit, ports_of(block))
        return name


class ExportedCircuit(Elaboratable):
    """A circuit whose ports are the members of a flat signature, for Amaranth's converter.

    The converter takes the names and directions of ports from the signature alone.
    """

    def __init__(self, circuit: Module, ports: Mapping[str, Port]) -> None:
        self.signature = wiring.Signature(
            {name: flow(signal.shape()) for name, (flow, signal) in ports.items()}
        )
        self._circuit = circuit
        for name, (_, signal) in ports.items():
            setattr(self, name, signal)

    def elaborate(self, platform: object) -> Module:
        """The wrapped circuit."""
        return self._circuit


def ports_of(block: wiring.Component) -> dict[str, Port]:
    """Every port of a component by its path: `axi.araddr` is `axi_araddr`.

    A member that is a constant (`ready` of a stream that is always ready) is no port.
    """
    found: dict[str, Port] = {}
    for path, member, value in block.signature.flatten(block):
        plain = value.as_value() if isinstance(value, ValueCastable) else value
        if not isinstance(plain, Signal):
            continue
        name = "_".join(str(part) for part in path)
        if name in found:
            raise ValueError(f"{type(block).__name__} has two ports called {name}")
        found[name] = (member.flow, plain)
    return found


def _within_project(found: re.Match[str]) -> str:
    """An attribute with the path from the project's root; nothing for a line of a library."""
    file, _, line = found[1].rpartition(":")
    try:
        place = Path(file).resolve().relative_to(_ROOT)
    except ValueError:
        return ""
    return f'attribute \\src "{place.as_posix()}:{line}"\n'
