"""What a network takes on machines and on this processor alone: measured, and kept as JSON.

Times of the processor are CPU time of one thread, which excludes waiting for other programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import thread_time
from typing import Final

import msgspec
import numpy as np

from tandem.base.files import write_atomically
from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.executor import Run
from tandem.runtime.inputs import random_inputs
from tandem.workbench.devices import Accelerator
from tandem.workbench.errors import WrongResultError
from tandem.workbench.models import ModelOptions, import_model
from tandem.workbench.networks import Arrays, Network
from tandem.workbench.platform import Platform

MACHINES: Final = ("pynq", "pynq-x")
MEMORY: Final = "fast"
ROUNDS: Final = 2
"""Runs of a network by default, of which the shortest time of each step counts."""


class OnMachine(msgspec.Struct, frozen=True):
    """The figures of a network on a machine.

    Attributes
    ----------
    products
        Products on the accelerator.
    launches
        Programs that are started in a run; the CPU does `steps` kernels before, between and after.
    seconds
        Time of the CPU's kernels, on one thread.
    """

    products: int
    cycles: int
    utilization: float
    launches: int
    steps: int
    seconds: float


class Figures(msgspec.Struct, frozen=True):
    """The figures of a network.

    Attributes
    ----------
    products
        Products of a run, whoever computes them.
    sqnr
        The least SQNR of an output against float32, in dB.
    seconds
        Time of the same integers on this processor alone, on one thread.
    """

    products: int
    sqnr: float
    processor: str
    seconds: float
    machines: dict[str, OnMachine]


def measure(model: str, machines: Sequence[str] = MACHINES, rounds: int = ROUNDS) -> Figures:
    """Compile a model for each machine and for the processor alone, and run it on all.

    Raises
    ------
    WrongResultError
        An output of a machine differs from the processor's.
    CompilerError
        The model is not supported.
    """
    options = ModelOptions()
    source = import_model(model, options, None)
    inputs = random_inputs(source.every_input, seed=0)
    prepared = source.prepared(None)
    alone: Sequence[Run] = ()
    found: dict[str, OnMachine] = {}
    ratio = 0.0
    for name in machines:
        device = Accelerator(load_config(name), parse_memory(MEMORY), hiding=True)
        if not alone:
            network = Network(prepared.build(device.targets(), fallback=True), prepared, device)
            alone = _runs(network, inputs, rounds)
            ratios = network.sqnr([inputs], alone[:1])
            assert ratios, "it was quantised here"
            ratio = min(ratios.values())
        found[name] = _on_machine(prepared, device, inputs, rounds, alone[0].outputs)
    products = sum(step.macs for step in alone[0].profile.steps)
    seconds = _cpu_seconds(alone)
    return Figures(products, ratio, CpuTarget.host().cpu, seconds, found)


def _on_machine(
    prepared: PreparedNetwork, device: Accelerator, inputs: Arrays, rounds: int, wanted: Arrays
) -> OnMachine:
    runs = _runs(Network(prepared.build(device.targets()), prepared, device), inputs, rounds)
    first = runs[0]
    for output, values in wanted.items():
        if not np.array_equal(first.outputs[output], values):
            raise WrongResultError(
                f"{prepared.provenance.model} on {device.config.name}: {output} is not the CPU's"
            )
    launched = [step for step in first.profile.steps if step.run is not None]
    products = sum(step.macs for step in launched)
    cycles = first.profile.cycles or 0
    return OnMachine(
        products,
        cycles,
        products / (cycles * device.config.macs) if cycles else 0.0,
        len(launched),
        len(first.profile.steps) - len(launched),
        _cpu_seconds(runs),
    )


def _runs(network: Network, inputs: Arrays, rounds: int) -> Sequence[Run]:
    machine = Platform("cycle", parse_memory(MEMORY), threads=1, clock=thread_time)
    return machine.run(network.artifact, [inputs] * rounds)


def _cpu_seconds(runs: Sequence[Run]) -> float:
    """The sum over the CPU's steps of the shortest time of each, in seconds."""
    rounds = zip(*(run.profile.steps for run in runs), strict=True)
    return sum(
        (min(step.seconds for step in steps) for steps in rounds if steps[0].run is None), 0.0
    )


def read_figures(path: Path) -> dict[str, Figures]:
    """The figures in a file, by the network's name; none if there is no such file."""
    if not path.exists():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Figures])


def write_figures(path: Path, figures: Mapping[str, Figures], order: Iterable[str]) -> None:
    """Write figures; networks in this order."""
    ordered = {name: figures[name] for name in order if name in figures}
    write_atomically(path, msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")
