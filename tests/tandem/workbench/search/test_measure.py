"""Machines measured: exact cycles, the work of layers, refusals."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from math import inf
from pathlib import Path

import pytest

from tandem.base.sources import source_modules
from tandem.compiler.machines.accelerator.timed_streams import code_of
from tandem.compiler.search.work import Group, Times
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.isa import Program, work_of
from tandem.hw.memory_model import DEFAULT_MEMORY, MemoryModel, parse_memory
from tandem.runtime.artifact import Artifact, streams_of
from tandem.workbench.devices import Accelerator
from tandem.workbench.models import prepared_network
from tandem.workbench.search.measure import MEASURING, NOT_RUN, Network, Task, reference, times_of
from tests.support.compiler.models.digits import OPTIONS, prepared_digits
from tests.support.hw.found_machines import FOUND_FOR_SMALL8, PACKED_FOR_PYNQ

DIGITS = Network("digits", OPTIONS)


@cache
def task(memory: MemoryModel = DEFAULT_MEMORY) -> Task:
    layers, streams = reference(DIGITS, memory)
    return Task((DIGITS,), memory, (layers,), (streams,))


@cache
def artifact(machine: HardwareConfig, memory: MemoryModel) -> Artifact:
    accelerator = Accelerator(machine, memory, hiding=True)
    return prepared_digits().build(accelerator.targets())


def measured(*machines: HardwareConfig, memory: MemoryModel = DEFAULT_MEMORY) -> Times:
    return times_of(task(memory), Group(code_of(machines[0]), machines), inf)


@pytest.mark.every(2)
@pytest.mark.parametrize("memory", ["edge", "fast"])
def test_cycles_are_those_of_the_artifact(memory: str) -> None:
    """Also with weights and data in memory, which the search leaves out."""
    model = parse_memory(memory)
    small = load_config("small8")
    machines = (small, small.replace(longest_burst=8, load_buffer=8, instruction_queue=4))
    found = measured(*machines, memory=model)
    for at, machine in enumerate(machines):
        accelerator = Accelerator(machine, model, hiding=True)
        assert found.of(at) == ((accelerator.cycles(artifact(machine, model)),), "")
    assert found.cycles[0] != found.cycles[1]


@pytest.mark.parametrize(
    ("operations", "stages"), [(PACKED_FOR_PYNQ, 4), (FOUND_FOR_SMALL8, 4)], ids=["one", "two"]
)
def test_a_machine_with_operations(operations: tuple[CustomOperation, ...], stages: int) -> None:
    """The network is quantised as the machine asks, and takes fewer passes: as when it is run."""
    small = load_config("small8")
    own = small.replace(alu_operations=operations, alu_stages=stages)
    found = measured(own)
    accelerator = Accelerator(own, DEFAULT_MEMORY)
    prepared = prepared_network("digits", OPTIONS, accelerator)
    assert found.of(0) == ((accelerator.cycles(accelerator.build(prepared)),), "")
    plain = measured(small)
    assert found.cycles[0][0] < plain.cycles[0][0]
    assert found.work[0].alu_uops < plain.work[0].alu_uops
    assert found.work[0].gemm_uops == plain.work[0].gemm_uops


def test_the_work_of_layers() -> None:
    small, memory = load_config("small8"), parse_memory("edge")
    found = measured(small, memory=memory).work[0]
    (code,) = streams_of(artifact(small, memory)).values()
    program = Program.from_bytes(small, code.program)
    work = work_of(program)
    moved = sum(work.loaded.values()) + work.stored + len(code.program)
    assert found.dram_bytes == moved
    assert found.gemm_uops == work.gemm_uops + work.reset_uops
    assert found.alu_uops == work.alu_uops
    assert found.macs == sum(layer.macs for layer in code.layers)
    assert [layer.name for layer in found.layers] == [layer.name for layer in code.layers]


def test_a_machine_that_leaves_layers_to_the_host() -> None:
    found = measured(load_config("tiny").replace(log_wgt_buffer=6))
    cycles, reason = found.of(0)
    assert cycles == ()
    assert "digits: layer" in reason
    assert "would be left to the host" in reason


def test_a_machine_between_whose_streams_the_host_computes() -> None:
    found = measured(HardwareConfig(log_block_in=3, log_block_out=6))
    assert "the host would compute between 7 streams: 1 is allowed" in found.of(0)[1]


@pytest.mark.exhaustive
def test_a_machine_whose_addresses_do_not_reach() -> None:
    cycles, reason = measured(load_config("small8").replace(address_bits=16)).of(0)
    assert cycles == ()
    assert "digits: CapacityError: configuration" in reason
    assert "has addresses of 16 bits, which reach 65,536 bytes; the stream needs" in reason


def test_a_network_without_a_file(tmp_path: Path) -> None:
    missing = Network(str(tmp_path / "none.onnx"), DIGITS.options)
    own = Task((missing,), DEFAULT_MEMORY, (frozenset(),), (1,))
    small = load_config("small8")
    assert "none.onnx" in times_of(own, Group(code_of(small), (small,)), inf).of(0)[1]


MEASURED = """
import sys
from math import inf
from tandem.compiler.machines.accelerator.timed_streams import code_of
from tandem.compiler.search.work import Group
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.workbench.search.measure import Network, Task, reference, times_of
from tests.support.compiler.models.digits import OPTIONS

network, machine = Network("digits", OPTIONS), load_config("small8")
layers, streams = reference(network, DEFAULT_MEMORY)
task = Task((network,), DEFAULT_MEMORY, (layers,), (streams,))
assert times_of(task, Group(code_of(machine), (machine,)), inf).cycles[0]
print(*(name for name, module in sys.modules.items() if not hasattr(module, "__path__")))
"""
"""Prints the modules that are loaded when a machine has been measured, without packages."""


def test_the_digest_takes_all_that_measures() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], check=True, capture_output=True, text=True
    )
    names = done.stdout.split()
    loaded = {name for name in names if name.startswith(tuple(f"{each}." for each in MEASURING))}
    taken = {*source_modules("tandem.workbench.search.measure", within=MEASURING, without=NOT_RUN)}
    assert loaded <= taken
    assert not taken & {
        "tandem.hw.rtl.verilog",
        "tandem.hw.synthesis.place",
        "tandem.base.processes",
        "tandem.sim.pysim",
    }
