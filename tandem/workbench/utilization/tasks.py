"""Convolutions, by their numbers, as tasks to tune."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.tune.tasks import Task
from tandem.workbench.devices import Accelerator
from tandem.workbench.utilization.build import Convolution
from tandem.workbench.utilization.case import make_case
from tandem.workbench.utilization.conv_layers import ConvLayer


def tasks_of_layers(
    layers: Sequence[ConvLayer], accelerator: Accelerator, seed: int
) -> tuple[Task, ...]:
    """The tasks of convolutions, each with one epilogue, as `tandem utilization` measures them."""
    found = []
    for layer in layers:
        case = make_case(layer, seed)
        convolution = Convolution.of(case, accelerator.config, accelerator.timing)
        found.append(
            Task(
                layers=(layer.name,) * layer.count,
                target=convolution.target,
                template=convolution.template,
                workload=convolution.workload,
                arguments=Arguments(convolution.channels, convolution.immediates),
                default=convolution.choice,
            )
        )
    return tuple(found)
