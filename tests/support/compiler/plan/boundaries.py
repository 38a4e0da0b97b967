"""Networks on the accelerator and on the CPU, compared at all boundaries between devices, also with
anything in the padding of what devices hand to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Call, Function, FunctionKind, Let, Param, Var
from tandem.compiler.graph.passes.pipeline import GraphPass
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import Type
from tandem.compiler.graph.visit import atoms, functions, map_functions, rewrite_bodies
from tandem.compiler.machines.accelerator.backend import StreamBackend
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.plan.offload import FormStreams
from tandem.compiler.plan.placement import placement_of
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import Artifact, Step, Tensor
from tandem.runtime.devices import AcceleratorDevice, CpuDevice, Device, StepFunction
from tandem.runtime.executor import Executor, Run
from tandem.runtime.measurement import Measurement
from tandem.sim.engines import make_engine
from tandem.workbench.device_comparison import boundaries, compare
from tests.support.compiler.plan.offloaded import HOST

Arrays = Sequence[NDArray[Any]]


class Poisoned(Device):
    """A device that leaves random bytes in the padding of all that it writes."""

    def __init__(self, device: Device, rng: np.random.Generator) -> None:
        self.name, self.device, self.rng = device.name, device, rng

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        tensors = {each.name: each for each in artifact.manifest.tensors}
        return [
            self._poisoned(execute, [tensors[name] for name in step.outputs])
            for step, execute in zip(steps, self.device.prepare(artifact, steps), strict=True)
        ]

    def _poisoned(self, execute: StepFunction, written: Sequence[Tensor]) -> StepFunction:
        def run(inputs: Arrays, outputs: Arrays) -> Measurement | None:
            found = execute(inputs, outputs)
            for array, tensor in zip(outputs, written, strict=True):
                noise = np.frombuffer(self.rng.bytes(array.nbytes), array.dtype)
                np.copyto(array, noise.reshape(array.shape), where=~tensor.defined)
            return found

        return run


def check_boundaries(
    build: Callable[..., Artifact],
    config: HardwareConfig,
    data: Mapping[str, NDArray[Any]],
    *,
    engine: str = "functional",
    threads: int = 2,
    poison: int | None = None,
    alone: bool = False,
) -> Run:
    """Assert that the accelerator and the CPU give the same at every boundary, where it is defined,
    and return the accelerator's run.

    Parameters
    ----------
    build
        Compiles the network for targets, as `PreparedNetwork.build`.
    poison
        The seed of what devices leave in the padding; by default each leaves its own.
    alone
        Whether each layer is a launch of its own, so that all tensors are at boundaries.
    """
    target = accelerator(config, hiding=threads > 1)
    targets = (replace(target, make_backend=LayersAlone) if alone else target, HOST)
    artifact = build(targets)
    machine = make_engine(engine, config, parse_memory("fast"))
    devices: list[Device] = [AcceleratorDevice(machine), CpuDevice(1)]
    if poison is not None:
        rng = np.random.default_rng(poison)
        devices = [Poisoned(device, rng) for device in devices]
    names = boundaries(artifact)
    try:
        run = Executor(artifact, devices).run(data, watch=names)
    finally:
        machine.close()
    reference = Executor(build(targets, fallback=True), [CpuDevice(1)]).run(data, watch=names)
    compared = compare(run, reference, artifact)
    assert compared.equal, compared.first
    return run


class LayersAlone(StreamBackend):
    """The accelerator's back end, with a stream for each layer."""

    def passes(self) -> tuple[GraphPass, ...]:
        own = StreamOfEach(self.target.name)
        return tuple(own if isinstance(each, FormStreams) else each for each in super().passes())


@dataclass(frozen=True, slots=True)
class StreamOfEach:
    """Puts each kernel of a target into a stream of its own; the host runs those that only place
    tensors within others."""

    target: str
    name: str = "stream-of-each"

    def apply(self, function: Function) -> Function:
        """The function with streams."""
        taken = {each.name for each in functions(function)}

        def changed(one: Function) -> Function:
            types = infer(one)
            body = rewrite_bodies(
                one.body,
                lambda body: Body(
                    tuple(self._let(let, types, taken) for let in body.lets), body.result
                ),
            )
            return replace(one, body=body)

        return map_functions(function, changed)

    def _let(self, let: Let, types: Mapping[str, Type], taken: set[str]) -> Let:
        match let.value:
            case Call(callee=Function() as kernel) as call if kernel.target == self.target:
                if placement_of(kernel) is not None:
                    return replace(let, value=replace(call, callee=replace(kernel, target="")))
            case _:
                return let
        names = dict.fromkeys(each.name for each in atoms(call) if isinstance(each, Var))
        stream = Function(
            unique_name("stream", taken),
            tuple(Param(name, types[name]) for name in names),
            Body((let,), Var(let.name)),
            kind=FunctionKind.STREAM,
            target=self.target,
        )
        return Let(let.name, Call(stream, tuple(map(Var, names))))
