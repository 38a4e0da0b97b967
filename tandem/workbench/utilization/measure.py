"""Measurements of convolutions on an engine, one at a time, each with its result checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tandem.compiler.errors import CompilerError
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.sim.engine import Bytes, Engine, Launch
from tandem.sim.memory import place_program
from tandem.sim.result import Result
from tandem.workbench.errors import ConvolutionError, WrongResultError
from tandem.workbench.utilization import case as cases
from tandem.workbench.utilization.build import HIDING, CompiledConvolution, Convolution
from tandem.workbench.utilization.case import Int8
from tandem.workbench.utilization.conv_layers import RESNET18, ConvLayer, distinct
from tandem.workbench.utilization.rows import Row, Traffic

Report = Callable[[str], None]


def measure(
    engine: Engine,
    layers: Sequence[ConvLayer] = RESNET18,
    seed: int = 0,
    report: Report | None = None,
) -> Iterator[Row]:
    """Run each layer without latency hiding and with it, on the same tiles and values.

    A row is yielded after both results are found equal to NumPy's.

    Parameters
    ----------
    engine
        The machine; tiles are chosen for its memory model.
    seed
        Seed of data, weights and biases.
    report
        Callback for progress.

    Raises
    ------
    ConvolutionError
        A layer that the machine cannot hold or compute, or two layers of one name.
    WrongResultError
        A wrong result: names the layer, the index and both values.
    """
    say = report if report is not None else ignore
    for layer in distinct(layers):
        yield _measured(engine, layer, seed, say)


def _measured(engine: Engine, layer: ConvLayer, seed: int, say: Report) -> Row:
    say(f"{layer.name}: compiling")
    case = cases.make_case(layer, seed)
    model = engine.memory_model
    try:
        conv = Convolution.of(case, engine.config, MemoryTiming(model.latency, model.interval))
        ways = {"without": conv.build(1), "with": conv.build(HIDING)}
    except CompilerError as error:
        raise ConvolutionError(f"layer {layer.name}: {error}") from error
    say(f"{layer.name}: computing the expected result")
    wanted = cases.expected(case)
    without, hidden = (
        run_checked(engine, built, wanted, f"{layer.name} {way} latency hiding", say).result
        for way, built in ways.items()
    )
    cycles = without.cycles, hidden.cycles
    traffic = Traffic.of(without.work), Traffic.of(hidden.work)
    return Row.of(layer, engine.config.macs, cycles, traffic)


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """A run whose result was found right; memory after it, and the program's address."""

    result: Result
    memory: Bytes
    address: int


def run_checked(
    engine: Engine, built: CompiledConvolution, wanted: Int8, label: str, say: Report
) -> CheckedRun:
    """Run a convolution; raises `WrongResultError` if its result is wrong."""
    say(label)
    memory, address = place_program(built.image(), built.stream.program, None)
    how = Launch(address=address, progress=lambda done: say(f"{label}, {done:,} steps"))
    result = engine.launch(built.stream.program, memory, how)
    _compare(built.result(memory), wanted, f"{label} on {engine.name}")
    return CheckedRun(result, memory, address)


def _compare(
    got: np.ndarray[tuple[int, ...], np.dtype[np.generic]], wanted: Int8, label: str
) -> None:
    wrong = np.argwhere(got != wanted)
    if not len(wrong):
        return
    first = tuple(map(int, wrong[0]))
    raise WrongResultError(
        f"{label}: {len(wrong):,} of {wanted.size:,} results differ from NumPy's; the first, "
        f"{list(first)} of [n, c, y, x], is {got[first]} and has to be {wanted[first]}"
    )


def ignore(step: str) -> None:
    """A callback for progress that does nothing."""
