"""The instruction streams of a network alone, to time it on many machines.

An artifact also has the host's code and the weights in the machine's layout, of which time does not
depend. What does not depend on the machine is done once, by `accelerated_part`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.evaluate import Runner
from tandem.compiler.graph.nodes import Call, Function, FunctionKind
from tandem.compiler.graph.passes import simplifying_passes, transform
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.machines.accelerator.backend import StreamBackend
from tandem.compiler.machines.accelerator.lower import Stream
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.planned_calls import PlannedCall, PlannedStream
from tandem.compiler.plan.target import Target
from tandem.hw.config import HardwareConfig

TIME_FIELDS = (
    "longest_burst",
    "reads_in_flight",
    "writes_in_flight",
    "axi_cache",
    "axi_prot",
    "instruction_queue",
    "fetch_buffer",
    "load_buffer",
    "compute_buffer",
)
"""Fields of the configuration that programs do not depend on, only their time."""
WEIGHT = "weight"
"""The argument that only sums are computed from: time never depends on it."""


@dataclass(frozen=True, slots=True, eq=False)
class TimedStream:
    """An instruction stream of a network, with what its time depends on.

    Attributes
    ----------
    planned
        Its calls of kernels, and what the host writes before and reads after them.
    """

    stream: Stream
    planned: PlannedStream

    @property
    def calls(self) -> tuple[PlannedCall, ...]:
        """The calls of kernels in their order."""
        return self.planned.calls

    @property
    def layers(self) -> frozenset[str]:
        """The names of the layers that the stream computes."""
        return frozenset(call.source for call in self.calls)

    def image(self, *, weights: bool = False) -> NDArray[np.uint8]:
        """Memory before a run, without the network's inputs; without weights unless asked for."""
        values = {
            call.named[tensor]: value
            for call in self.calls
            for tensor, value in call.plan.arguments.tensors.items()
            if weights or tensor != WEIGHT
        }
        return self.stream.image(values)


def code_of(config: HardwareConfig) -> HardwareConfig:
    """The configuration with the fields that programs do not depend on at their defaults: machines
    for which it is equal have the same programs."""
    default = HardwareConfig()
    same = {field: getattr(default, field) for field in TIME_FIELDS}
    return config.replace(**same, name=default.name)


def simplified(function: Function, runner: Runner) -> Function:
    """A prepared network's function as `build` has it before the passes of any target; it can be
    pickled."""
    return transform(function, simplifying_passes(runner))


def timed_streams(function: Function, target: Target[AcceleratorTarget]) -> tuple[TimedStream, ...]:
    """The streams that `build` makes of a simplified network for an accelerator, in their order.

    Raises
    ------
    CompilerError
        As `build`.
    """
    backend = StreamBackend(target)
    function = transform(function, backend.passes())
    streams = []
    lets = (let for one in (function, *function.definitions) for let in all_lets(one.body))
    for let in lets:
        match let.value:
            case Call(callee=Function(kind=FunctionKind.STREAM) as stream):
                planned = backend.planned_stream(stream)
                streams.append(TimedStream(backend.linked(planned), planned))
    return tuple(streams)
