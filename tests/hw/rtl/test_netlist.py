"""Blocks collected as modules."""

from __future__ import annotations

import re
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from tandem.hw.config_files import load_config
from tandem.hw.rtl.block import Block, ResetBy
from tandem.hw.rtl.mac import Mac
from tandem.hw.rtl.netlist import Netlist, ports_of
from tandem.hw.rtl.queue import Queue
from tandem.hw.rtl.read_stream import ReadStream
from tests.support.hw.rtl.rtl import only_built


class Pair(Block):
    """Blocks that are equal, and blocks that are not."""

    def __init__(self) -> None:
        super().__init__({"clear": In(1), "sum": Out(40)})

    def build(self, m: Module) -> None:
        blocks: dict[str, Any] = {
            "first": Mac(2),
            "second": Mac(2),
            "third": Mac(4),
            "small": Queue(3, 4),
            "large": Queue(3, 8),
        }
        for name, block in blocks.items():
            m.submodules[name] = block
        m.submodules.reset_by = ResetBy(self.clear, Queue(3, 4))
        m.d.comb += self.sum.eq(blocks["first"].dot + blocks["second"].dot)


def exported(block: Block) -> str:
    """The RTLIL of a circuit `top` that holds a block."""
    netlist = Netlist("pre")
    circuit = Module()
    circuit.submodules.block = block
    netlist.add("top", circuit, ports_of(block))
    return netlist.text


def modules(text: str) -> list[str]:
    return re.findall(r"^module \\(\S+)$", text, re.M)


def test_equal_blocks_are_one_module() -> None:
    text = exported(Pair())
    assert modules(text) == [
        "pre_mac",
        "pre_mac_2",
        "pre_queue_3x4",
        "pre_queue_3x8",
        "pre_pair",
        "top",
    ]
    cells = re.findall(r"^  cell \\(pre_\S+) ", text, re.M)
    assert sorted(cells) == [
        "pre_mac",
        "pre_mac",
        "pre_mac_2",
        "pre_pair",
        "pre_queue_3x4",
        "pre_queue_3x4",
        "pre_queue_3x8",
    ]


def test_names_of_modules_come_from_classes() -> None:
    config = load_config("tiny")
    text = exported(ReadStream(config, depth=4, longest=2, size_bits=12))
    assert modules(text) == [
        "pre_burst_generator_2x12",
        "pre_queue_64x4",
        "pre_read_stream_4x2x12",
        "top",
    ]


def test_ports_are_those_of_the_signature() -> None:
    config = load_config("tiny")
    stream = only_built(ReadStream(config, depth=4, longest=2, size_bits=12))
    ports = {name: (flow.name, len(signal)) for name, (flow, signal) in ports_of(stream).items()}
    # A beat is always accepted: its `ready` is a constant and no port.
    assert ports == {
        "start": ("In", 1),
        "rows": ("In", 32 + 12 + 12 + 16),
        "port_request_valid": ("Out", 1),
        "port_request_ready": ("In", 1),
        "port_request_payload": ("Out", 32 + 9),
        "port_beat_valid": ("In", 1),
        "port_beat_payload": ("In", 64),
        "beat_valid": ("Out", 1),
        "beat_ready": ("In", 1),
        "beat_payload": ("Out", 64),
    }


def test_no_source_locations() -> None:
    assert "\\src" not in exported(Pair())


def test_only_clocked_modules_have_clock_and_reset() -> None:
    netlist = Netlist("pre")
    clocked, combinational = Module(), Module()
    value, result = Signal(4, name="value"), Signal(4, name="result")
    clocked.d.sync += result.eq(value)
    combinational.d.comb += result.eq(value)
    ports = {"value": (In, value), "result": (Out, result)}
    netlist.add("clocked", clocked, ports)
    assert re.findall(r"input \d+ +\\(clk|rst)$", netlist.text, re.M) == ["clk", "rst"]
    netlist.add("combinational", combinational, ports)
    assert re.findall(r"input \d+ +\\(clk|rst)$", netlist.text, re.M) == ["clk", "rst"]


def test_a_circuit_has_the_ports_it_is_given() -> None:
    netlist = Netlist("pre")
    circuit = Module()
    value, result = Signal(4, name="value"), Signal(4, name="result")
    circuit.d.comb += result.eq(~value)
    ports = {
        "inward": (In, value),
        "outward": (Out, result),
    }
    netlist.add("inverter", circuit, ports)
    assert modules(netlist.text) == ["inverter"]
    assert re.search(r"wire width 4 input \d+ +\\inward", netlist.text)
    assert re.search(r"wire width 4 output \d+ +\\outward", netlist.text)
