"""Models and artifacts as the command line names them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onnx import ModelProto

from compiler.build.network import (
    CompileOptions,
    Prepared,
    import_network,
    input_tensors,
    prepare_network,
)
from compiler.codegen import CpuTarget
from compiler.frontends.onnx import Imported, read_model
from compiler.models import BUILT_IN, built_in
from compiler.targets.accelerator.target import accelerator
from compiler.targets.cpu.target import cpu
from compiler.targets.target import Target
from compiler.templates.accelerator.machine_cost import MemoryTiming
from hw.config import HardwareConfig
from hw.memory_model import MemoryModel
from runtime.artifact import Artifact, Provenance, Tensor
from runtime.inputs import Pixels, read_samples
from runtime.inputs.files import Arrays
from scripts.errors import CommandError
from scripts.model_options import Quantise

__all__ = [
    "Accelerator",
    "ModelOptions",
    "Source",
    "compile_source",
    "model_file",
    "open_source",
    "targets",
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

    def target(self) -> Target[Any]:
        """The machine, as the compiler sees it."""
        timing = MemoryTiming(self.memory.latency, self.memory.interval)
        return accelerator(self.config, timing, hiding=self.hiding)


def targets(machine: Accelerator | None) -> tuple[Target[Any], ...]:
    """This processor, and the accelerator in front of it if there is one."""
    host = cpu(CpuTarget.host())
    return (host,) if machine is None else (machine.target(), host)


def compile_source(
    model: str,
    options: ModelOptions,
    machine: Accelerator | None,
    report: Callable[[str], None] | None,
) -> Artifact:
    """The artifact of a model, for this processor, and an accelerator beside it.

    Raises as `open_source` and `Source.prepared`.
    """
    prepared = open_source(model, options, report).prepared(report)
    artifact = prepared.build(targets(machine), report)
    if not artifact.streams:
        return artifact
    # For --device cpu and --check, when there is no model any more.
    fallback = prepared.build(targets(machine), report, fallback=True)
    return replace(artifact, fallback=fallback)


@dataclass(frozen=True, slots=True)
class Source:
    """A model, imported: what it takes is known, and nothing that lasts has begun."""

    imported: Imported
    provenance: Provenance
    how: CompileOptions

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """By the model's names, in its order."""
        return input_tensors(self.imported)

    def prepared(self, report: Callable[[str], None] | None) -> Prepared:
        """Quantised, if that was asked for. Raises as `prepare_network`."""
        return prepare_network(self.imported, self.provenance, self.how, report)


def open_source(model: str, options: ModelOptions, report: Callable[[str], None] | None) -> Source:
    """A built-in model, or that of an ONNX file.

    Raises
    ------
    CompilerError
        As `import_network`; no such file.
    CommandError
        Calibration of a network that is not quantised; as `model_file`.
    """
    quantise = options.mode
    if quantise is Quantise.NONE and options.calibrate is not None:
        raise CommandError("--calibrate is for --quantize pow2 and multiplier: none needs no range")
    given: dict[str, str | int | float | bool | None] = {"pixels": options.pixels.value}
    if options.calibrate is not None:
        given["calibrate"] = str(options.calibrate)
    if report is not None:
        report("importing")
    proto, provenance = _read(model, options.seed, given)
    how = CompileOptions(quantise.mode, _samples(options), options.seed)
    return Source(import_network(proto), provenance, how)


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
