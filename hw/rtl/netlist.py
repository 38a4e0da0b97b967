"""Collects blocks as modules of one RTLIL design."""

from __future__ import annotations

import re

from amaranth.back import rtlil
from amaranth.hdl import (
    ClockSignal,
    Fragment,
    Instance,
    Module,
    Signal,
    Value,
    ValueCastable,
)
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from hw.rtl.block import Block

__all__ = ["Netlist"]

_MEMINIT = re.compile(r"^  cell \$meminit_v2 .*?^  end\n\n?", re.M | re.S)
_INIT = re.compile(r"^  attribute \\init .*\n", re.M)
_CLOCKING = re.compile(r"^  wire width 1 input \d+ +\\(clk|rst)$", re.M)
_TOP = re.compile(r"^attribute \\top 1\n", re.M)
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Netlist:
    """An exporter: blocks go in, one RTLIL text comes out.

    No register and no memory has an initial value: registers that need one are reset, and what
    is on chip starts undefined, as it does on silicon.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._texts: dict[str, str] = {}
        self._blocks: dict[str, Block] = {}

    @property
    def text(self) -> str:
        """All modules so far."""
        return "\n".join(self._texts.values())

    def instance(self, block: Block, reset: Value) -> Instance:
        """An instance of the block's module, which is converted if it is a new one."""
        name = self._module(block)
        clocking = {"clk": ClockSignal(), "rst": reset}
        needed = _CLOCKING.findall(self._texts[name])
        return Instance(
            name,
            *(("i", port, clocking[port]) for port in sorted(set(needed))),
            *(
                ("i" if way == PortDirection.Input else "o", port, value)
                for port, (value, way) in ports_of(block).items()
            ),
        )

    def add(
        self, name: str, circuit: Module, ports: dict[str, tuple[Value, PortDirection]]
    ) -> None:
        """Convert a circuit under a name of its own."""
        text, _ = rtlil.convert_fragment(Fragment.get(circuit, self), ports, name, emit_src=False)
        for pattern in (_MEMINIT, _INIT, _TOP):
            text = pattern.sub("", text)
        self._texts[name] = text

    def _module(self, block: Block) -> str:
        """The name of the module that is equal to this block."""
        stem = _WORD.sub("_", type(block).__name__).lower()
        stem = f"{self._prefix}_{stem.removesuffix('_module')}"
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


def ports_of(block: Block) -> dict[str, tuple[Value, PortDirection]]:
    """Every port of a block by its path: `axi.araddr` is `axi_araddr`.

    What a signature fixes to a constant (a stream that is always ready) is no port.
    """
    found: dict[str, tuple[Value, PortDirection]] = {}
    for path, member, value in block.signature.flatten(block):
        plain = value.as_value() if isinstance(value, ValueCastable) else value
        if not isinstance(plain, Signal):
            continue
        way = PortDirection.Input if member.flow == wiring.In else PortDirection.Output
        name = "_".join(str(part) for part in path)
        if name in found:
            raise ValueError(f"{type(block).__name__} has two ports called {name}")
        found[name] = (plain, way)
    return found
