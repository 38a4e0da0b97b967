"""The cases of `tests.support.digests`: digests of compiled layers and networks, by name."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import onnx
from numpy.typing import NDArray

from tandem.compiler.errors import CompilerError
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import Artifact, streams_of
from tandem.runtime.executor import Run
from tandem.runtime.inputs import random_inputs
from tandem.runtime.inputs.network import inputs_of
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tandem.workbench.devices import Accelerator
from tandem.workbench.models import ModelOptions
from tandem.workbench.networks import Network
from tandem.workbench.opened import open_model
from tandem.workbench.platform import Platform
from tandem.workbench.utilization.build import HIDING, Convolution
from tandem.workbench.utilization.case import make_case
from tandem.workbench.utilization.conv_layers import FIRST, RESNET18, ConvLayer
from tests.support.compiler.frontends.onnx_models import light_model
from tests.support.compiler.plan.offloaded import both
from tests.support.compiler.plan.random_offloads import Offloading

Digests: TypeAlias = Mapping[str, str]
"""Digests by the name of the digested part, such as `program`."""

LIGHT_MODELS = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet"),
    *("squeezenet", "vgg19", "zfnet512"),
)
"""Networks of the onnx package that come without weights."""
RANDOM_NETWORKS = 200
MACHINES = ("pynq", "ultra96", "small8")
_HIDING = {"hiding": HIDING, "plain": 1}
_MEMORY = "fast"
_DIGITS_OF_SHA256 = 16
_FUNCTIONAL = Platform("functional", parse_memory(_MEMORY), threads=1)


@dataclass(frozen=True, slots=True)
class Case:
    """A program to compile and run. The first part of its name is its group."""

    name: str
    digests: Callable[[], Digests]


def all_cases() -> Iterator[Case]:
    """The cases of all groups; the quick groups come first."""
    yield from _layer_cases()
    yield from _network_cases()
    yield from _cpu_cases()
    for name in LIGHT_MODELS:
        yield Case(f"light/{name}", partial(_light, name))
    for seed in range(RANDOM_NETWORKS):
        yield Case(f"random/{seed}", partial(_random, seed))


def _layer_cases() -> Iterator[Case]:
    for config in MACHINES:
        for layer in (FIRST, *RESNET18):
            for way, threads in _HIDING.items():
                name = f"layers/{config}/{layer.name}/{way}"
                yield Case(name, partial(_layer, config, layer, threads))


def _network_cases() -> Iterator[Case]:
    for model in ("digits", "resnet18", "resnet34", "resnet50"):
        yield Case(f"networks/{model}", partial(_network, model))
    yield Case("networks/digits/plain", partial(_network, "digits", hiding=False))
    yield Case("networks/digits/small8", partial(_network, "digits", config="small8"))
    yield Case("networks/digits/edge", partial(_network, "digits", memory="edge"))
    for model in ("digits", "resnet18"):
        yield Case(f"networks/{model}/pow2", partial(_network, model, quantise=Mode.POW2))


def _cpu_cases() -> Iterator[Case]:
    for model in ("digits", "resnet18"):
        yield Case(f"cpu/{model}/float32", partial(_cpu, model, None))
        yield Case(f"cpu/{model}/fallback", partial(_cpu, model, Mode.MULTIPLIER))


def _layer(config: str, layer: ConvLayer, threads: int) -> Digests:
    """The digests of a single convolution, or the error's type if compiling it fails."""
    hardware, memory = load_config(config), parse_memory(_MEMORY)
    timing = MemoryTiming(memory.latency, memory.interval)
    try:
        built = Convolution.of(make_case(layer, 0), hardware, timing).build(threads)
    except CompilerError as error:
        return {"refused": type(error).__name__}
    program, image = built.stream.program, built.image()
    contents, address = place_program(image, program)
    engine = make_engine("functional", hardware, memory)
    try:
        engine.launch(program, contents, Launch(address=address))
    finally:
        engine.close()
    return {
        "program": _digest(program.data),
        "image": _digest(image),
        "output": _digest(built.result(contents)),
    }


def _network(
    model: str,
    config: str = "pynq",
    memory: str = _MEMORY,
    quantise: Mode | None = Mode.MULTIPLIER,
    hiding: bool = True,
) -> Digests:
    return of_artifact(_compiled(model, config, memory, quantise, hiding).artifact)


def _light(name: str) -> Digests:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.onnx"
        onnx.save(light_model(name), path)
        return _network(str(path))


def _random(seed: int) -> Digests:
    offloading = Offloading.of(seed)
    cpu, accelerated = both(offloading.quantised, offloading.config, offloading.threads)
    return {**of_artifact(accelerated), "output on the CPU": _outputs(_run(cpu, _FUNCTIONAL))}


def _cpu(model: str, quantise: Mode | None) -> Digests:
    """The digests of a network on the CPU alone; for a quantised network of its kernels in place of
    the accelerator's."""
    if quantise is None:
        options = ModelOptions(quantise)
        artifact = open_model(model, options, None).network(None, None).artifact
    else:
        artifact = _compiled(model, "pynq", _MEMORY, quantise, hiding=True).on_cpu(None)
    return with_machine_code(artifact)


def _compiled(model: str, config: str, memory: str, quantise: Mode | None, hiding: bool) -> Network:
    options = ModelOptions(quantise)
    accelerator = Accelerator(load_config(config), parse_memory(memory), hiding)
    return open_model(model, options, None).network(accelerator, None)


def with_machine_code(artifact: Artifact) -> Digests:
    """The digests of an artifact and of its kernels' machine code."""
    kernels = sorted(code.to_bytes() for code in artifact.code.values())
    return {"machine code": _digest(*kernels), **of_artifact(artifact)}


def of_artifact(artifact: Artifact, machine: Platform = _FUNCTIONAL) -> Digests:
    """The digests of an artifact's steps and streams, and of its outputs for seeded random inputs;
    with the number of cycles if the machine has time."""
    steps = [
        ("cpu" if step.on_host else "accelerator", step.operators, step.macs)
        for step in artifact.manifest.steps
    ]
    streams = [code for _, code in sorted(streams_of(artifact).items())]
    layers = [[*code.layers, *code.inputs, *code.outputs] for code in streams]
    run = _run(artifact, machine)
    found = {"steps": _digest(msgspec.json.encode(steps)), "output": _outputs(run)}
    if streams:
        found |= {
            "program": _digest(*(code.program for code in streams)),
            "image": _digest(*(code.image for code in streams)),
            "layer of each instruction": _digest(*(code.layer_of for code in streams)),
            "layers": _digest(msgspec.json.encode(layers)),
        }
    if run.profile.cycles is not None:
        found["cycles"] = str(run.profile.cycles)
    return found


def _run(artifact: Artifact, machine: Platform) -> Run:
    """A run with seeded random inputs."""
    (run,) = machine.run(artifact, [random_inputs(inputs_of(artifact), seed=1)])
    return run


def _outputs(run: Run) -> str:
    return _digest(*(array for _, array in sorted(run.outputs.items())))


def _digest(*parts: bytes | NDArray[Any]) -> str:
    """The first digits of SHA-256 of all parts, each with its size, or its shape and type."""
    whole = sha256()
    for part in parts:
        if isinstance(part, bytes):
            whole.update(f"bytes {len(part)}\n".encode())
            whole.update(part)
        else:
            whole.update(f"{part.dtype} {_shape(part.shape)}\n".encode())
            whole.update(np.ascontiguousarray(part).tobytes())
    return whole.hexdigest()[:_DIGITS_OF_SHA256]


def _shape(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))
