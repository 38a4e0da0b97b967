"""What kernels of random networks become on other processors stays what it was: the template and
its choice, loops, and LLVM's text.

Nothing runs here: the processors are named, so that no text depends on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from tandem.compiler.driver.call_sequence import call_sequence
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph import Call, Constant, Function, Var
from tandem.compiler.graph.passes import simplifying_passes, transform
from tandem.compiler.graph.printer import text as graph_text
from tandem.compiler.ir.printer import text
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.backend import KernelBackend
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.module import build_module
from tandem.compiler.machines.cpu.kernels import cpu_kernel
from tandem.compiler.machines.cpu.processors import named_processor
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.plan.planner import fitting_choices
from tandem.compiler.plan.target import Target
from tests.support.compiler.frontends.random_nodes import NODES
from tests.support.compiler.frontends.runtime_runs import feeds_of, model_of
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.plan.accelerated_networks import accelerated_network
from tests.support.compiler.plan.random_offloads import Offloading

_X86 = ("avx", "avx2", "avx512bw", "avx512f", "avx512vl", "avx512vnni", "fma")
WIDE = CpuTarget("x86_64-unknown-linux-gnu", "cascadelake", _X86, 4)
PROCESSORS = {
    "avx512": WIDE,
    "avx2": WIDE.without("avx512f", "avx512bw", "avx512vl", "avx512vnni"),
    "sse": CpuTarget("x86_64-unknown-linux-gnu", "x86-64", ()),
    "a55": named_processor("cortex-a55", 2),
    "m4": named_processor("cortex-m4"),
}
_EMPTY = """
func @empty(x: float32[3, 0], y: float32[0, 3]):
  a = {name}(x)
  b = reduce_sum(y, axes=[1])
  t = (a, b)
  return t
"""
FLOATS = 25
INTEGERS = 10


def _kernels(function: Function, target: Target[CpuTarget]) -> Iterator[tuple[str, str]]:
    """The name and the texts of each kernel."""
    backend = KernelBackend(target)
    passes = [*simplifying_passes(target.make_runner()), *backend.passes()]
    for call in call_sequence(transform(function, passes)).invocations:
        args = (each if isinstance(each, Constant) else Var(each) for each in call.operands)
        plan = backend.planner.layer(Call(call.kernel, tuple(args)))
        kernel = cpu_kernel(call.kernel, plan, target)
        lines = ["generic"]
        if plan is not None:
            choices = fitting_choices(target, plan.template, plan.workload)
            costs = target.cost.costs(plan.template, plan.workload, choices)
            lines = [f"{plan.template.name} {dict(plan.choice)}"]
            lines += [f"{choices.choice(at)} {cost:.6g}" for at, cost in enumerate(costs)]
        lines += [f"{kernel.operands} {kernel.operators} {kernel.macs} {kernel.streamed}"]
        lines += [graph_text(call.kernel), text(kernel.program)]
        lines += [text(packing) for packing in kernel.packing.values()]
        lowered = lower(kernel.program, target.passes)
        llvm, storage = build_module(lowered, target.machine, kernel.streamed)
        yield call.name, "\n".join([*lines, text(lowered), str(storage), llvm])


def _recorded(networks: Mapping[str, Function]) -> dict[str, str]:
    """Each network on one processor after the other."""
    names, found = [*PROCESSORS], {}
    for at, (network, function) in enumerate(networks.items()):
        name = names[at % len(names)]
        for kernel, said in _kernels(function, cpu(PROCESSORS[name])):
            found[f"{network} {name} {kernel}"] = said
    return found


def test_real_networks(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    networks = {
        f"real {seed}": accelerated_network(np.random.default_rng([seed, 7]), upsampling=True)
        for seed in range(FLOATS)
    }
    recorded("recorded/cpu/real_kernels.txt", _recorded(networks))


def test_quantised_networks(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    networks = {f"integers {seed}": Offloading.of(seed).quantised for seed in range(INTEGERS)}
    recorded("recorded/cpu/quantised_kernels.txt", _recorded(networks))


def test_operators(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    """Kernels of single operators, some of which have empty operands."""
    networks = {}
    for at, (kind, draw) in enumerate(sorted(NODES.items())):
        node = draw(np.random.default_rng([at, 11]))
        networks[kind] = import_model(model_of(node), offered=feeds_of(node, model_of(node)))
    operators = {kind: each.function for kind, each in networks.items()}
    for name in ("relu", "softmax", "transpose"):
        operators[f"{name} of nothing"] = graph(_EMPTY.format(name=name))
    recorded("recorded/cpu/operators.txt", _recorded(operators))
