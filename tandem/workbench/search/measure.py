"""Machines measured: the exact cycles of networks, by the `cycle` engine.

Machines whose programs are equal are a group: their streams are compiled once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tandem.base.cache import content_key
from tandem.base.errors import BaseError
from tandem.base.sources import source_digest
from tandem.compiler.errors import CompilerError
from tandem.compiler.graph.nodes import Function
from tandem.compiler.machines.accelerator.timed_streams import (
    TimedStream,
    simplified,
    timed_streams,
)
from tandem.compiler.machines.cpu.runner import exact_runner
from tandem.compiler.requantisation import ShortFactors
from tandem.compiler.search.work import Group, LayerWork, StreamWork, Times
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES, Opcode
from tandem.hw.errors import HardwareError
from tandem.hw.isa import Program
from tandem.hw.isa.element_sizes import element_sizes
from tandem.hw.memory_model import MemoryModel
from tandem.sim.engine import Engine, Launch
from tandem.sim.engines import make_engine
from tandem.sim.errors import NeedsDataError, SimulationError
from tandem.sim.memory import place_program
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import exact_cycles
from tandem.workbench.models import ModelOptions, network_digest, prepared_network

MEASURING = (
    *("tandem.base.jit", "tandem.hw", "tandem.sim", "tandem.runtime", "tandem.compiler"),
    "tandem.workbench",
)
"""What measurements depend on; files, processes and caches say nothing of cycles."""
NOT_RUN = ("tandem.hw.rtl", "tandem.sim.rtl", "tandem.sim.pysim")
"""Engines that `sim.engines` imports only for those who ask for them, and what they run."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network, as the command line names it."""

    model: str
    options: ModelOptions


@dataclass(frozen=True, slots=True)
class Task:
    """What all measurements of a search share.

    Attributes
    ----------
    layers
        For each network the layers that have to be on the accelerator.
    most_streams
        For each network the most streams that it may be cut into: between them the host computes.
    """

    networks: tuple[Network, ...]
    memory: MemoryModel
    layers: tuple[frozenset[str], ...]
    most_streams: tuple[int, ...]


def times_of(task: Task, group: Group, limit: float) -> Times:
    """The exact cycles of a task's networks on a group's machines; `limit` has no effect."""
    accelerator = Accelerator(group.code, task.memory, hiding=True)
    networks = []
    for network, layers, most in zip(task.networks, task.layers, task.most_streams, strict=True):
        try:
            function = quantised(network, accelerator)
            streams = timed_streams(function, accelerator.target())
        except (CompilerError, BaseError, HardwareError) as error:
            return Times.refused(f"{network.model}: {type(error).__name__}: {error}")
        if reason := _missing(streams, layers, most):
            return Times.refused(f"{network.model}: {reason}")
        networks.append(streams)
    found = [_cycles(machine, task.memory, networks) for machine in group.machines]
    return Times(
        tuple(map(_work, networks)),
        tuple(cycles for cycles, _ in found),
        tuple(reason for _, reason in found),
    )


def reference(network: Network, memory: MemoryModel) -> tuple[frozenset[str], int]:
    """The layers that VTA's default configuration runs, and how many streams they are."""
    accelerator = Accelerator(HardwareConfig(), memory, hiding=True)
    streams = timed_streams(quantised(network, accelerator), accelerator.target())
    return frozenset(name for stream in streams for name in stream.layers), len(streams)


_FUNCTIONS: dict[tuple[Network, ShortFactors], Function] = {}


def quantised(network: Network, accelerator: Accelerator) -> Function:
    """A network before any target's passes, with the integers that a machine asks for; kept by this
    process."""
    key = network, accelerator.target().short_factors
    if key not in _FUNCTIONS:
        prepared = prepared_network(network.model, network.options, accelerator)
        _FUNCTIONS[key] = simplified(prepared.function, exact_runner())
    return _FUNCTIONS[key]


def _missing(streams: Sequence[TimedStream], layers: frozenset[str], most: int) -> str:
    """Why streams are not all that the accelerator has to run; empty if they are."""
    there = {name for stream in streams for name in stream.layers}
    if absent := sorted(layers - there):
        others = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        return f"layer {absent[0]}{others} would be left to the host"
    if len(streams) > most:
        return f"the host would compute between {len(streams)} streams: {most} is allowed"
    return ""


def _cycles(
    config: HardwareConfig, memory: MemoryModel, networks: Sequence[Sequence[TimedStream]]
) -> tuple[tuple[int, ...], str]:
    """The cycles of each network on a machine; none, with a reason, if it cannot run one."""
    engine = make_engine("cycle", config, memory)
    try:
        return tuple(
            sum(stream_cycles(engine, config, stream) for stream in streams) for streams in networks
        ), ""
    except (BaseError, HardwareError, SimulationError) as error:
        return (), " ".join(f"{type(error).__name__}: {error}".split())
    finally:
        engine.close()


def stream_cycles(engine: Engine, config: HardwareConfig, stream: TimedStream) -> int:
    """The exact cycles of a stream on a machine of equal code."""
    program = Program(config, stream.stream.program.data)
    memory, address = place_program(stream.image(), program)
    try:
        result = engine.launch(program, memory, Launch(address=address, data=False))
    except NeedsDataError:
        return exact_cycles(engine, program, stream.image(weights=True))
    assert result.cycles is not None, "the cycle engine knows time"
    return result.cycles


def _work(streams: Sequence[TimedStream]) -> StreamWork:
    digest = hashlib.sha256()
    for stream in streams:
        digest.update(stream.stream.program.data)
    layers = (layer for stream in streams for layer in _layers(stream))
    return StreamWork(digest.hexdigest()[:16], tuple(layers))


def _layers(stream: TimedStream) -> Iterator[LayerWork]:
    """The work of each layer; instructions that belong to none are the last one's."""
    program = stream.stream.program
    columns = program.columns()
    layer = np.where(
        stream.stream.operator_of < 0, len(stream.calls) - 1, stream.stream.operator_of
    )

    def by_layer(values: NDArray[np.int64]) -> list[int]:
        sums = np.zeros(len(stream.calls), np.int64)
        np.add.at(sums, layer, values)
        return [int(value) for value in sums]

    uops = (columns.uop_end - columns.uop_bgn) * columns.iter_out * columns.iter_in
    moved = columns.y_size * columns.x_size * element_sizes(program.config, columns)
    read = np.where(columns.opcode == Opcode.LOAD, moved, 0) + INSTRUCTION_BYTES
    counts = (
        by_layer(np.where(columns.opcode == Opcode.GEMM, uops, 0)),
        by_layer(np.where(columns.opcode == Opcode.ALU, uops, 0)),
        by_layer(read),
        by_layer(np.where(columns.opcode == Opcode.STORE, moved, 0)),
    )
    for call, *numbers in zip(stream.calls, *counts, strict=True):
        yield LayerWork(call.source, call.macs, *numbers)


def task_digest(task: Task) -> str:
    """A digest of all that results depend on beside the machine: networks, memory, and the source
    of the compiler and of the engine."""
    networks = (network_digest(network.model, network.options) for network in task.networks)
    return content_key("task", code_digest(), repr(task.memory), *networks)


def code_digest() -> str:
    """A digest of the source that measures: this module and what it imports, with the compiler of
    Python functions, but without engines that it does not run."""
    return source_digest(__name__, within=MEASURING, without=NOT_RUN)[:16]
