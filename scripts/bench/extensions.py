"""What each extension brings and costs.

`python -m tandem.scripts.bench.extensions [--plot FILE.svg]` prints the table that
docs/extensions.md shows: cycles of ResNet-18's convolutions and of the whole network on `pynq`
without extensions, with each alone and with all, every result checked; the resources of these
machines on `xc7`, and the clock of `small8` with the same extensions on an ECP5. All of it takes
hours on one core, most of them synthesis, whose results are cached; `--cycles` leaves it out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tandem.base.files import write_atomically
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.memory_model import parse_memory
from tandem.hw.rtl.verilog import generate
from tandem.hw.synthesis.errors import DoesNotFitError
from tandem.hw.synthesis.families import Family
from tandem.runtime.inputs import random_inputs
from tandem.scripts.bench.clocks import clock
from tandem.scripts.resources import find_resources
from tandem.sim.engines import make_engine
from tandem.workbench.devices import Accelerator
from tandem.workbench.errors import WrongResultError
from tandem.workbench.models import ModelOptions
from tandem.workbench.networks import Arrays
from tandem.workbench.opened import open_model
from tandem.workbench.platform import Platform
from tandem.workbench.utilization import RESNET18, measure, total

OF_COMPUTE = tuple(feature for feature in Feature if feature is not Feature.COMPRESSED_WEIGHTS)
"""The extensions that change how a network in int8 is computed: the first three."""
VARIANTS = (
    ("none", frozenset[Feature]()),
    *((feature.value, frozenset({feature})) for feature in OF_COMPUTE),
    ("all", frozenset(OF_COMPUTE)),
)
"""The sets of these extensions, by name."""
MEMORIES = ("fast", "edge")
MACHINE = "pynq"
ROUTED = "small8"
SEEDS = 1
"""How often each of these machines is placed and routed, at some ten minutes each."""
NETWORK = "resnet18"
UNITS = ("lut", "ff", "dsp", "bram")


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one set of extensions.

    Attributes
    ----------
    convolutions, network
        Cycles by memory.
    resources
        Amounts by `UNITS`; empty where not measured.
    mhz
        The clock of `ROUTED`; None where not measured, or where the device is too small.
    """

    name: str
    convolutions: tuple[int, ...]
    network: tuple[int, ...]
    resources: tuple[int, ...] = ()
    mhz: float | None = None

    def __str__(self) -> str:
        cells = [f"{cycles:,}" for cycles in (*self.convolutions, *self.network)]
        if self.resources:
            cells += [f"{amount:,}" for amount in self.resources]
            cells.append("" if self.mhz is None else f"{self.mhz:.1f}")
        return f"| {self.name} | {' | '.join(cells)} |"


def heading(costs: bool) -> str:
    """The two lines above the rows."""
    what = [f"{subject}, `{memory}`" for subject in ("C2-C11", NETWORK) for memory in MEMORIES]
    if costs:
        what += [*(unit.upper() for unit in UNITS), f"`{ROUTED}`, MHz"]
    return f"| extensions | {' | '.join(what)} |\n|---{'|--:' * len(what)}|"


def extended(preset: str, features: frozenset[Feature]) -> HardwareConfig:
    """A preset with these extensions."""
    return load_config(preset).replace(features=features)


def rows(engine: str, costs: bool) -> Iterator[Row]:
    """Measure every variant.

    Raises
    ------
    WrongResultError
        A convolution that differs from NumPy's, a network's output from that without extensions.
    """
    expected: Arrays | None = None
    for name, features in VARIANTS:
        config = extended(MACHINE, features)
        convolutions, network = [], []
        for memory in MEMORIES:
            convolutions.append(_convolutions(config, memory, engine))
            cycles, outputs = _network(config, memory, engine)
            network.append(cycles)
            expected = expected or outputs
            _check(name, memory, outputs, expected)
        amounts: tuple[int, ...] = ()
        mhz = None
        if costs:
            (found,) = find_resources(generate(config), [Family.XC7], quiet=True)
            amounts = tuple(getattr(found, unit) for unit in UNITS)
            timing = clock(extended(ROUTED, features), seeds=SEEDS)
            mhz = None if isinstance(timing, DoesNotFitError) else timing.median.mhz
        yield Row(name, tuple(convolutions), tuple(network), amounts, mhz)


def _convolutions(config: HardwareConfig, memory: str, engine: str) -> int:
    """Cycles of C2 to C11, weighted by count."""
    machine = make_engine(engine, config, parse_memory(memory))
    try:
        cycles = total(list(measure(machine, RESNET18))).cycles_with
    finally:
        machine.close()
    assert cycles is not None, f"the {engine} engine has time"
    return cycles


def _network(config: HardwareConfig, memory: str, engine: str) -> tuple[int, Arrays]:
    """Cycles of a whole network in one launch, and its outputs."""
    model = parse_memory(memory)
    options = ModelOptions()
    opened = open_model(NETWORK, options, None)
    artifact = opened.network(Accelerator(config, model, True), None).artifact
    inputs = random_inputs(opened.inputs, seed=0)
    (run,) = Platform(engine, model, threads=1).run(artifact, [inputs])
    assert run.profile.cycles is not None, f"the {engine} engine has time"
    return run.profile.cycles, run.outputs


def _check(name: str, memory: str, outputs: Arrays, expected: Arrays) -> None:
    for output, values in expected.items():
        if not np.array_equal(outputs[output], values):
            raise WrongResultError(
                f"{NETWORK} with extensions {name} on memory {memory}: output {output} differs"
            )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table; with `--plot`, draw its cycles."""
    parser = argparse.ArgumentParser(prog="python -m tandem.scripts.bench.extensions")
    parser.add_argument("--engine", default="rtl")
    parser.add_argument("--cycles", action="store_true", help="no synthesis")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    asked = parser.parse_args(arguments)
    print(heading(not asked.cycles))
    found = []
    for row in rows(asked.engine, not asked.cycles):
        print(row, flush=True)
        found.append(row)
    if asked.plot is not None:
        # Imported here, because Altair is large and optional.
        from tandem.scripts.bench.extension_bars import draw

        bars = [(row.name, dict(zip(MEMORIES, row.network, strict=True))) for row in found]
        write_atomically(asked.plot, draw(bars, NETWORK))


if __name__ == "__main__":
    main()
