"""Models and artifacts as the command line names them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from onnx import ModelProto

from compiler.build.accelerator.operator import Lowering
from compiler.build.network import CompileOptions, Prepared, prepare_network
from compiler.codegen import CpuTarget
from compiler.frontends.onnx import read_model
from compiler.models import BUILT_IN, built_in
from compiler.operators.accelerator.machine_cost import MachineCost, MemoryTiming
from compiler.quantise.options import Mode
from compiler.target import AcceleratorTarget
from hw.config import HardwareConfig
from runtime.artifact import Artifact, Provenance, Tensor
from runtime.inputs import Pixels, read_samples
from runtime.inputs.files import Arrays
from scripts.errors import CommandError
from sim.timing import MemoryModel

__all__ = [
    "Accelerator",
    "CalibrateOption",
    "DeviceName",
    "DeviceOption",
    "HidingOption",
    "ModelOptions",
    "PixelsOption",
    "Quantise",
    "QuantiseOption",
    "ThreadsOption",
    "compile_source",
    "model_file",
    "prepare_source",
]


class Quantise(Enum):
    """`--quantize`, as it is written."""

    NONE = "none"
    POW2 = "pow2"
    MULTIPLIER = "multiplier"

    @property
    def mode(self) -> Mode | None:
        """As the compiler calls it."""
        return None if self is Quantise.NONE else Mode(self.value)


QuantiseOption = Annotated[
    Quantise | None,
    typer.Option(
        "--quantize",
        help="int8 with scales that are any numbers, or powers of two; none: float32 "
        "(default: multiplier).",
    ),
]
CalibrateOption = Annotated[
    Path | None,
    typer.Option(
        "--calibrate",
        metavar="PATH",
        readable=False,
        help="Inputs to measure ranges with: .npy, .npz, or a folder of these and of pictures "
        "(default: seeded noise).",
    ),
]
PixelsOption = Annotated[
    Pixels,
    typer.Option("--pixels", help="Pictures as ImageNet's statistics make them, or as 0 to 1."),
]


class DeviceName(Enum):
    """`--device`, as it is written."""

    ACCELERATOR = "accelerator"
    CPU = "cpu"


DeviceOption = Annotated[
    DeviceName,
    typer.Option("--device", help="The simulated accelerator, with the CPU's help; or the CPU."),
]
HidingOption = Annotated[
    bool,
    typer.Option(
        " /--no-latency-hiding",
        help="The same tiles with one virtual thread instead of two.",
        show_default=False,
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="Threads of the CPU (default: all cores)."),
]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How a model is compiled."""

    quantise: Quantise | None
    calibrate: Path | None
    pixels: Pixels
    seed: int

    @property
    def mode(self) -> Quantise:
        """What was asked for, or the default."""
        return self.quantise or Quantise.MULTIPLIER


@dataclass(frozen=True, slots=True)
class Accelerator:
    """The machine that a model is compiled for.

    Attributes
    ----------
    hiding
        Latency is hidden: two virtual threads, and not one.
    """

    config: HardwareConfig
    memory: MemoryModel
    hiding: bool

    def lowering(self) -> Lowering:
        """How kernels are lowered for it."""
        timing = MemoryTiming(self.memory.latency, self.memory.interval)
        cost = MachineCost(self.config, timing)
        return Lowering(AcceleratorTarget.of(self.config), cost, 2 if self.hiding else 1)


def compile_source(
    model: str,
    options: ModelOptions,
    accelerator: Accelerator | None,
    report: Callable[[str], None] | None,
) -> Artifact:
    """The artifact of a model, for this processor, and an accelerator beside it.

    Raises as `prepare_source`.
    """
    prepared = prepare_source(model, options, report)
    if accelerator is None:
        return prepared.build(CpuTarget.host(), None, report)
    lowering = accelerator.lowering()
    artifact = prepared.build(CpuTarget.host(), lowering, report)
    if not artifact.streams:
        return artifact
    # For --device cpu and --check, when there is no model any more.
    fallback = prepared.build(CpuTarget.host(), lowering, report, fallback=True)
    return replace(artifact, fallback=fallback)


def prepare_source(
    model: str, options: ModelOptions, report: Callable[[str], None] | None
) -> Prepared:
    """A built-in model, or that of an ONNX file, imported and quantised.

    Raises
    ------
    CompilerError
        As `prepare_network`; no such file.
    CommandError
        Calibration of a network that is not quantised; as `model_file`.
    """
    quantise = options.mode
    if quantise is Quantise.NONE and options.calibrate is not None:
        raise CommandError("--calibrate is for --quantize pow2 and multiplier: none needs no range")
    given: dict[str, str | int | float | bool | None] = {"pixels": options.pixels.value}
    if options.calibrate is not None:
        given["calibrate"] = str(options.calibrate)
    proto, provenance = _read(model, options.seed, given)
    how = CompileOptions(quantise.mode, _samples(options), options.seed)
    return prepare_network(proto, provenance, how, report)


def model_file(model: str) -> Path:
    """The file of a model that is not built in.

    Raises
    ------
    CommandError
        There is none, and what was written looks like a name.
    """
    path = Path(model)
    if not path.suffix and not path.exists():
        known = ", ".join(BUILT_IN)
        raise CommandError(f"{model!r} is neither a model that is built in ({known}) nor a file")
    return path


def _read(
    model: str, seed: int, given: dict[str, str | int | float | bool | None]
) -> tuple[ModelProto, Provenance]:
    if model in BUILT_IN:
        return built_in(model, seed), Provenance(model, options=given, seed=seed)
    path = model_file(model)
    proto = read_model(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return proto, Provenance(path.name, digest, options=given, seed=seed)


def _samples(
    options: ModelOptions,
) -> Callable[[tuple[Tensor, ...]], Iterator[Arrays]] | None:
    path = options.calibrate
    if path is None:
        return None
    return lambda tensors: read_samples(path, tensors, options.pixels)
