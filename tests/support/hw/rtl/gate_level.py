"""Gates of a block, of two inputs at most and multiplexers, evaluated for many cases at once.

Registers are wires here: what comes out is what the block gives for inputs that stay.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Module

from tandem.hw.rtl.block import Block
from tandem.hw.rtl.netlist import Netlist, ports_of
from tests.mutation.yosys import run_yosys

Bits: TypeAlias = npt.NDArray[np.uint8]
"""A bit of all cases: eight of them in a number."""
Numbers: TypeAlias = npt.NDArray[np.int64]
Wire: TypeAlias = int | str
"""A number of Yosys's, or a constant: `0`, `1`, `x`."""
_GATES: Mapping[str, tuple[tuple[str, ...], Callable[..., Bits]]] = {
    "$_NOT_": (("A",), lambda a: ~a),
    "$_AND_": (("A", "B"), lambda a, b: a & b),
    "$_OR_": (("A", "B"), lambda a, b: a | b),
    "$_XOR_": (("A", "B"), lambda a, b: a ^ b),
    "$_MUX_": (("A", "B", "S"), lambda a, b, s: a ^ (a ^ b) & s),
}
_REGISTER = "$_DFF_P_"


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate: what it is, its operands and its result, which a fault may have `inverted`."""

    kind: str
    operands: tuple[Wire, ...]
    result: Wire
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class GateLevel:
    """The gates of a block, what a gate takes before the gate; and its ports, lowest bit first."""

    gates: tuple[Gate, ...]
    inputs: Mapping[str, tuple[Wire, ...]]
    outputs: Mapping[str, tuple[Wire, ...]]

    def inverted(self, position: int) -> GateLevel:
        """The same with a gate whose result is wrong."""
        gate = self.gates[position]
        wrong = replace(gate, inverted=not gate.inverted)
        return replace(self, gates=(*self.gates[:position], wrong, *self.gates[position + 1 :]))

    def evaluate(self, values: Mapping[str, int | Numbers], cases: int) -> dict[str, Numbers]:
        """The numbers at the outputs, in two's complement, for those at the inputs: one for each
        case, or one for all."""
        wires: dict[Wire, Bits] = {"0": _constant(0, cases), "1": _constant(1, cases)}
        for name, port in self.inputs.items():
            for place, wire in enumerate(port):
                wires[wire] = _bit(values[name], place, cases)
        for gate in self.gates:
            _, apply = _GATES[gate.kind]
            value = apply(*(wires[one] for one in gate.operands))
            wires[gate.result] = ~value if gate.inverted else value
        return {
            name: _number([wires[one] for one in port], cases)
            for name, port in self.outputs.items()
        }


def gate_level(block: Block) -> GateLevel:
    """The gates that Yosys makes of a block; of the same commands, so that it is the same each
    time."""
    netlist = Netlist("part")
    circuit = Module()
    circuit.submodules.block = block
    netlist.add("top", circuit, ports_of(block))
    commands = (
        "read_rtlil design.il",
        "hierarchy -check -top top",
        "proc",
        "flatten",
        "opt",
        "techmap",
        "simplemap",
        "opt",
        "opt_clean -purge",
        "write_json design.json",
    )
    made = json.loads(run_yosys(commands, {"design.il": netlist.text})["design.json"])
    return _read(made["modules"]["top"])


def _read(module: Any) -> GateLevel:
    alias: dict[Wire, Wire] = {}
    waiting: dict[Wire, Gate] = {}
    for cell in module["cells"].values():
        wires = {name: bits[0] for name, bits in cell["connections"].items()}
        if cell["type"] == _REGISTER:
            alias[wires["Q"]] = wires["D"]
        else:
            names, _ = _GATES[cell["type"]]
            waiting[wires["Y"]] = Gate(cell["type"], tuple(wires[one] for one in names), wires["Y"])

    def behind(wire: Wire) -> Wire:
        while wire in alias:
            wire = alias[wire]
        return wire

    ordered: dict[Wire, Gate] = {}

    def place(wire: Wire) -> None:
        """Deep first, without recursion: chains of carries are long."""
        stack = [wire]
        while stack:
            gate = waiting.get(stack[-1])
            if gate is None or stack[-1] in ordered:
                stack.pop()
                continue
            operands = tuple(map(behind, gate.operands))
            missing = [one for one in operands if one in waiting and one not in ordered]
            if missing:
                stack += missing
            else:
                ordered[stack.pop()] = Gate(gate.kind, operands, gate.result)

    ports: dict[str, dict[str, tuple[Wire, ...]]] = {"input": {}, "output": {}}
    for name, port in module["ports"].items():
        bits = tuple(map(behind, port["bits"]))
        ports[port["direction"]][name] = bits
        if port["direction"] == "output":
            for bit in bits:
                place(bit)
    inputs = {name: port for name, port in ports["input"].items() if name not in ("clk", "rst")}
    return GateLevel(tuple(ordered.values()), inputs, ports["output"])


def _constant(value: int, cases: int) -> Bits:
    return np.full(-(-cases // 8), 0xFF * value, np.uint8)


def _bit(value: int | Numbers, place: int, cases: int) -> Bits:
    if isinstance(value, int):
        return _constant(value >> place & 1, cases)
    return np.packbits((value >> place & 1).astype(np.uint8))


def _number(bits: list[Bits], cases: int) -> Numbers:
    found = np.zeros(cases, np.int64)
    for place, bit in enumerate(bits):
        found |= np.unpackbits(bit, count=cases).astype(np.int64) << place
    sign = np.int64(1) << np.int64(len(bits) - 1)
    return (found ^ sign) - sign
