"""Sketches against the compiler's own schedules, operator by operator, on one thread.

    python -m tandem.scripts.bench.sketches [--trials N] [--only NAME ...] [--records FILE]

A model of one operator with random weights, or a tensor expression that no library has
(`own_expressions`), is tuned by the explorer `sketches`; then its best sketch runs alternately with
the compiler's own schedule, by a template where there is one. The ratio is the median of the
rounds' ratios: 2 means that the sketch takes half the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tandem.api.tensor_tuning import tensor_task
from tandem.compiler.machines.cpu.templates.winograd import WinogradOnCpu
from tandem.compiler.plan.planner import Plan, Planner
from tandem.compiler.te import Tensor
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.run import Options
from tandem.compiler.tune.run import tune as run_tuner
from tandem.compiler.tune.tasks import Task
from tandem.scripts.bench.own_expressions import EXPRESSIONS
from tandem.scripts.tables import plain_console, plain_table, print_table
from tandem.workbench.devices import Cpu
from tandem.workbench.measurers.compared_on_cpu import compared_alone
from tandem.workbench.measurers.on_cpu import alternate
from tandem.workbench.measurers.sketches_on_cpu import SketchTask, layer_of, sketch_search
from tandem.workbench.models import ModelOptions, prepared_network
from tandem.workbench.pools.open_pool import open_pool
from tandem.workbench.tuning import NetworkTuning, starting_records

_WINOGRAD = WinogradOnCpu.name
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator to compare.

    Attributes
    ----------
    data
        The shapes of its inputs at run time.
    weights
        The shapes of its constants.
    """

    name: str
    kind: str
    data: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[int, ...], ...] = ()
    attributes: tuple[tuple[str, object], ...] = ()

    def save(self, path: Path) -> None:
        """Write the ONNX model."""
        random = np.random.default_rng(0)
        names = [f"x{number}" for number in range(len(self.data))]
        constants = []
        for number, shape in enumerate(self.weights):
            scale = np.sqrt(prod(shape[1:]) or 1)
            array = (random.standard_normal(shape) / scale).astype(np.float32)
            constants.append(numpy_helper.from_array(array, f"w{number}"))
        inputs = [*names, *(each.name for each in constants)]
        node = helper.make_node(self.kind, inputs, ["y"])
        node.attribute.extend(helper.make_attribute(*pair) for pair in self.attributes)
        graph = helper.make_graph(
            [node],
            "operator",
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, shape in zip(names, self.data, strict=True)
            ],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        onnx.save(model, path)


def _conv(
    name: str,
    data: tuple[int, ...],
    weight: tuple[int, ...],
    *,
    kind: str = "Conv",
    pad: int = 1,
    **more: object,
) -> Operator:
    rank = len(data) - 2
    attributes = {"pads": [pad] * (2 * rank), **more}
    return Operator(name, kind, (data,), (weight,), tuple(attributes.items()))


OPERATORS = (
    _conv("conv2d 3x3/2", (1, 64, 28, 28), (128, 64, 3, 3), strides=[2, 2]),
    _conv("conv2d 1x1", (1, 128, 14, 14), (128, 128, 1, 1), pad=0),
    _conv("conv2d 3x3", (1, 64, 28, 28), (64, 64, 3, 3)),
    _conv("depthwise", (1, 96, 28, 28), (96, 1, 3, 3), group=96),
    _conv("dilated", (1, 32, 28, 28), (32, 32, 3, 3), pad=2, dilations=[2, 2]),
    _conv("grouped", (1, 64, 28, 28), (64, 16, 3, 3), group=4),
    _conv("transposed", (1, 32, 14, 14), (32, 32, 4, 4), kind="ConvTranspose", strides=[2, 2]),
    _conv("conv1d", (1, 64, 128), (64, 64, 3)),
    _conv("conv3d", (1, 16, 8, 14, 14), (16, 16, 3, 3, 3)),
    Operator("dense", "Gemm", ((16, 512),), ((512, 512), (512,)), (("transB", 1),)),
    Operator("batched product", "MatMul", ((8, 64, 64), (8, 64, 64))),
    Operator("softmax", "Softmax", ((64, 256),), (), (("axis", -1),)),
    Operator("layer norm", "LayerNormalization", ((64, 256),), ((256,), (256,))),
    Operator(
        "pooling",
        "MaxPool",
        ((1, 64, 56, 56),),
        (),
        (("kernel_shape", [3, 3]), ("strides", [2, 2]), ("pads", [1, 1, 1, 1])),
    ),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """An operator's kernel, tuned.

    Attributes
    ----------
    template
        The template of the compiler's own schedule, or `generic`.
    default, best
        Seconds, of rounds that alternate.
    ratio
        How many times as fast the sketch is.
    failed
        Trials that could not be measured.
    choice
        The decisions of the best sketch.
    direct
        Where the own schedule is Winograd's, which has other sums: seconds of the template with the
        expression's own sums, and the ratio to it.
    """

    name: str
    template: str
    trials: int
    failed: int
    default: float
    best: float
    ratio: float
    seconds: float
    choice: Choice
    direct: tuple[float, float] | None = None


def tasks_of(operator: Operator, device: Cpu) -> Sequence[Task]:
    """The kernels of an operator that reduce."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "operator.onnx"
        operator.save(path)
        options = ModelOptions(quantise=None)
        prepared = prepared_network(str(path), options, device)
        return NetworkTuning.of(prepared, device, sketches=True).tasks


def compared(
    name: str,
    tasks: Sequence[Task],
    device: Cpu,
    trials: int,
    records: Path | None,
    say: Callable[[str], None],
    seed: int = 0,
) -> list[Compared]:
    """Kernels, tuned with so many trials each."""
    known, found = starting_records(records, [], say), []
    for task in tasks:
        assert isinstance(task, SketchTask), "made for sketches"
        begun = monotonic()
        with open_pool(device.measurer(), 1, None) as pool:
            (done,) = run_tuner(
                [task],
                device,
                Options("sketches", trials, None, seed),
                known,
                records,
                lambda running: None,
                pool,
                sketch_search,
            )
        best = done.tuning.best
        if best is None:
            say(f"{name}: no sketch was measured")
            continue
        choice = done.tuning.candidates.choice(best.row)
        default, sketch = compared_alone(device.machine)(task, choice)
        direct = None
        if task.plan is not None and task.plan.template.name == _WINOGRAD:
            own, beside = compared_alone(device.machine)(_with_own_sums(task, task.plan), choice)
            direct = median(own), _ratio(own, beside)
        found.append(
            Compared(
                name,
                "generic" if task.plan is None else task.plan.template.name,
                len(done.tuning.trials),
                sum(not np.isfinite(trial.outcome.cost) for trial in done.tuning.trials),
                median(default),
                median(sketch),
                _ratio(default, sketch),
                monotonic() - begun,
                choice,
                direct,
            )
        )
    return found


def seconds_of(device: Cpu) -> Callable[[Task, Choice], float]:
    """Seconds of a kernel with decisions of a sketch, the median of some runs."""

    def seconds(task: Task, choice: Choice) -> float:
        layer = layer_of(device.machine, task)
        return float(np.median(alternate(layer, [choice], _ROUNDS)))

    return seconds


def _ratio(own: Sequence[float], sketch: Sequence[float]) -> float:
    return median(one / other for one, other in zip(own, sketch, strict=True))


def _with_own_sums(task: SketchTask, plan: Plan) -> SketchTask:
    """The task beside the first template that does not transform what it adds."""
    target = task.target
    templates = tuple(each for each in target.templates if each.name != _WINOGRAD)
    direct = Planner(replace(target, templates=templates)).layer(plan.found.call)
    return replace(task, plan=direct)


def _own_task(make: Callable[[], Tensor], device: Cpu) -> Sequence[Task]:
    return [tensor_task(device, make(), (), False)]


def main() -> None:
    """Tune, compare, and print a table."""
    device = Cpu(1)
    made: dict[str, Callable[[], Sequence[Task]]] = {
        operator.name: partial(tasks_of, operator, device) for operator in OPERATORS
    }
    made |= {name: partial(_own_task, make, device) for name, make in EXPRESSIONS.items()}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--only", nargs="*", choices=[*made], default=[*made])
    parser.add_argument("--records", type=Path)
    asked = parser.parse_args()
    table = plain_table(
        ("operator", "own schedule"), ("trials", "failed", "own", "sketch", "ratio")
    )
    ratios = []
    for name in asked.only:
        for one in compared(name, made[name](), device, asked.trials, asked.records, print):
            ratios.append(one.ratio)
            beside = [(one.template, one.default, one.ratio)]
            beside += [] if one.direct is None else [("its own sums", *one.direct)]
            for own, seconds, ratio in beside:
                row = (
                    *(one.name, own, str(one.trials), str(one.failed)),
                    *(f"{seconds * 1e6:,.1f} us", f"{one.best * 1e6:,.1f} us", f"{ratio:.2f}"),
                )
                print(*row, f"{one.seconds:.0f} s", sep="  ", flush=True)
                table.add_row(*row)
    print_table(plain_console(), table)
    if ratios:
        print(f"geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
