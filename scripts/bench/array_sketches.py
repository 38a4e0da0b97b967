"""Sketches on the accelerator beside templates: cycles of the same expressions, by the engine
`cycle`.

::

    python -m tandem.scripts.bench.array_sketches --config pynq-x --memory edge --trials 48 C2 C7

Rows are ResNet-18's convolutions by name, its last layer as `dense`, and `einsum`: C7's product
without its strides, written for plain tensors whose channels come last, which no template
matches. Beside it stands the template's product of 1x1 of the same shape. A template's figure is
that of the choice that the compiler takes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.blocks import in_blocks
from tandem.compiler.machines.accelerator.sketches.search import (
    sketch_search,
    sketch_target,
    sketch_task,
)
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import (
    Conv2dWorkload,
    RowsWorkload,
)
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, EpiloguePass
from tandem.compiler.plan.planner import best_choice
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.plan.target import Target
from tandem.compiler.te import Schedule, Tensor, compute, placeholder, reduce_axis
from tandem.compiler.tune.run import Options, tune
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.tasks import Task
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.hw.operations import AluOp
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import MeasuredLayer, cycles_of
from tandem.workbench.pools.local_pool import LocalPool
from tandem.workbench.utilization.build import Convolution
from tandem.workbench.utilization.case import make_case
from tandem.workbench.utilization.conv_layers import RESNET18

DENSE, EINSUM = "dense", "einsum"
NAMES = (*(layer.name for layer in RESNET18), DENSE, EINSUM)
_TEMPLATE = Conv2dOnArray()
_SHIFT = 9


@dataclass(frozen=True, slots=True)
class Compared:
    """An expression with a template's cycles.

    Attributes
    ----------
    template
        The cycles of the choice that the compiler takes.
    """

    task: Task
    template: float


def compared(device: Accelerator, name: str) -> Compared:
    """A row of the table."""
    target = device.target()
    if name == EINSUM:
        passes = (
            AluPass(AluOp.SHR, "shift"),
            AluPass(AluOp.MAX, "low"),
            AluPass(AluOp.MIN, "high"),
        )
        workload = _products(target.machine, (1, 28, 28, 128, 256), passes)
        immediates = {"shift": _SHIFT, "low": 0, "high": 127}
        computation = in_blocks(_einsum(28, 28, 128, 256), target.machine).computation
        task = sketch_task(sketch_target(target), [name], computation)
        return Compared(task, _cycles(device, target, workload, Arguments({}, immediates)))
    if name == DENSE:
        config = target.machine.config
        case = Convolution.of(make_case(RESNET18[-1], 0), config, device.timing)
        block = config.batch, config.block_out, config.block_in
        outputs = -(-1000 // config.block_out)
        workload = RowsWorkload.of(1, 512 // config.block_in, outputs, block, case.workload.passes)
        numbers = Arguments(
            {key: value[:1].repeat(outputs, axis=0) for key, value in case.channels.items()},
            case.immediates,
        )
    else:
        (layer,) = (each for each in RESNET18 if each.name == name)
        case = Convolution.of(make_case(layer, 0), target.machine.config, device.timing)
        workload, numbers = case.workload, Arguments(case.channels, case.immediates)
    start = _TEMPLATE.start(workload, target.machine)
    return Compared(_task(target, name, start, numbers), _cycles(device, target, workload, numbers))


def _products(
    machine: AcceleratorTarget, sizes: Sequence[int], passes: tuple[EpiloguePass, ...]
) -> Conv2dWorkload:
    images, rows, columns, inputs, outputs = sizes
    config = machine.config
    ic, oc = -(-inputs // config.block_in), -(-outputs // config.block_out)
    return Conv2dWorkload(
        data=(images, ic, rows, columns, config.batch, config.block_in),
        weight=(oc, ic, 1, 1, config.block_out, config.block_in),
        strides=(1, 1),
        padding=(0, 0, 0, 0),
        dilation=(1, 1),
        groups=1,
        passes=passes,
    )


def _einsum(rows: int, columns: int, inputs: int, outputs: int) -> Tensor:
    x = placeholder((rows, columns, inputs), INT8, "x")
    w = placeholder((inputs, outputs), INT8, "w")
    c = reduce_axis(inputs, "c")
    shape = rows, columns, outputs
    sums = compute(
        shape,
        lambda i, j, o: te.sum(te.cast(x[i, j, c], INT32) * te.cast(w[c, o], INT32), axis=c),
        "sums",
    )
    return compute(
        shape,
        lambda i, j, o: te.cast(te.minimum(te.maximum(sums[i, j, o] >> _SHIFT, 0), 127), INT8),
        "y",
    )


def _task(
    target: Target[AcceleratorTarget], name: str, start: Schedule, numbers: Arguments
) -> Task:
    names = {each.name: f"a{at}" for at, each in enumerate(start.program.inputs)}
    arguments = Arguments(
        {names[key]: value for key, value in numbers.tensors.items()},
        {names[key]: value for key, value in numbers.immediates.items()},
    )
    computation = Computation.of(start.program)
    return sketch_task(sketch_target(target), [name], computation, arguments)


def _cycles(
    device: Accelerator,
    target: Target[AcceleratorTarget],
    workload: Conv2dWorkload,
    numbers: Arguments,
) -> float:
    choice = best_choice(target, _TEMPLATE, workload)
    layer = MeasuredLayer(
        device.config, device.memory, _TEMPLATE, workload, numbers.immediates, numbers.tensors
    )
    return cycles_of(layer, choice, float("inf")).cost


def tuned(device: Accelerator, task: Task, trials: int) -> TaskTuning:
    """A task after so many trials."""
    options = Options("sketches", trials, None, seed=0)
    with LocalPool(cycles_of, jobs=1) as pool:
        (done,) = tune([task], device, options, [], None, lambda running: None, pool, sketch_search)
    return done


def main() -> None:
    """Print a row for each name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default="pynq-x")
    parser.add_argument("--memory", default="fast")
    parser.add_argument("--trials", type=int, default=48)
    parser.add_argument("names", nargs="*", default=NAMES)
    given = parser.parse_args()
    device = Accelerator(load_config(given.config), parse_memory(given.memory))
    print(f"{given.config}, {given.memory}, {given.trials} trials: cycles")
    for name in given.names:
        if name not in NAMES:
            parser.error(f"{name}: {', '.join(NAMES)} are known")
        row = compared(device, name)
        done = tuned(device, row.task, given.trials)
        best = done.tuning.explorer.best
        parts = f"{row.template:11,.0f} {done.default.cost:11,.0f} {best:11,.0f}"
        print(f"{name:8} {parts} {row.template / best:6.3f}  {done.tuning.choice}", flush=True)


if __name__ == "__main__":
    main()
