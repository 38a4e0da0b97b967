"""What random networks become on random machines stays what it was: the quantised graph, its parts
for the accelerator with their layouts and reasons, and the streams.

Scales are found with the host's real numbers: of real numbers and of long integers only the first
digits count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from tandem.compiler.graph import Function
from tandem.compiler.graph.passes import EliminateDead, simplifying_passes, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import all_lets, functions
from tandem.compiler.machines.accelerator.backend import StreamBackend
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.machines.accelerator.timed_streams import timed_streams
from tandem.compiler.plan.offload import ComputeInLayouts
from tandem.hw.config_files import dump_config
from tandem.hw.isa import disassemble
from tests.support.compiler.plan.accelerated_networks import accelerated_network
from tests.support.compiler.plan.offloaded import HOST
from tests.support.compiler.plan.random_offloads import Offloading
from tests.support.compiler.rounded_text import rounded_text

CASES = 15


def _reasons(function: Function) -> Iterator[str]:
    """Why operators are on the CPU."""
    for one in functions(function):
        for let in all_lets(one.body):
            if let.reasons:
                yield f"{let.name} {let.source}: {'; '.join(map(str, let.reasons))}"


def _network(seed: int) -> str:
    case = Offloading.of(seed + 100, upsampling=seed % 3 == 0)
    if seed % 3 == 1:
        real = accelerated_network(np.random.default_rng([seed, 3]), 16, joining=True)
        case = replace(case, real=real)
    memory = MemoryTiming(16 + 16 * (seed % 4), 1 + seed % 2)
    target = accelerator(case.config, memory, hiding=case.threads > 1)
    start = transform(case.quantised, simplifying_passes(HOST.make_runner()))
    passes = [*StreamBackend(target).passes(), ComputeInLayouts(), EliminateDead()]
    placed = transform(start, passes)
    lines = [f"{case.config.name} {memory} {case.options}", text(case.quantised)]
    lines += [dump_config(case.config), *_reasons(placed)]
    lines += [text(each) for each in functions(placed)]
    for stream in timed_streams(start, target):
        lines += [f"{call.name} {call.source} {dict(call.plan.choice)}" for call in stream.calls]
        lines += [f"{name} {tensor}" for name, tensor in stream.stream.tensors.items()]
        lines += [disassemble(stream.stream.program), str(stream.stream.sites)]
    return rounded_text("\n".join(lines))


def test_networks(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    found = {f"network {seed}": _network(seed) for seed in range(CASES)}
    recorded("recorded/layers/networks.txt", found)
