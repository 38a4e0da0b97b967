"""Models: built in, or ONNX files; imported, quantised and compiled for a device."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onnx import ModelProto

from tandem.base.cache import content_key
from tandem.base.input_files import read_input
from tandem.compiler.driver.compile_onnx import (
    CompileOptions,
    PreparedNetwork,
    input_tensors,
    prepare_network,
)
from tandem.compiler.frontends.onnx import (
    Imported,
    StatedShape,
    external_files,
    input_names,
    read_model,
)
from tandem.compiler.frontends.onnx.reading import MODEL_BYTES
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.models import BUILT_IN, built_in
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.options import Mode
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightOptions
from tandem.compiler.requantisation import ANY_FACTORS
from tandem.runtime.artifact import Artifact, Input, Provenance, Tensor, is_artifact, streams_of
from tandem.runtime.inputs import PixelNormalisation, read_arrays, read_samples
from tandem.runtime.inputs.files import Arrays
from tandem.workbench.devices import TargetDevice
from tandem.workbench.errors import ModelError
from tandem.workbench.shapes import import_with_shapes, shapes_text


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How a model is read and quantised.

    Attributes
    ----------
    quantise
        The multipliers of requantisation; None leaves the network in float32.
    calibrate
        A file or folder of inputs to calibrate with; None for noise with the seed.
    shapes
        Of inputs whose extents the model leaves open.
    keep_float
        Names of what stays in float32: layers, and nodes or operators of the model.
    integer_ports
        Whether the network takes and gives the integers of its first and last layers.
    weights
        The format of weights.
    """

    quantise: Mode | None = Mode.MULTIPLIER
    calibrate: Path | None = None
    pixels: PixelNormalisation = PixelNormalisation.IMAGENET
    seed: int = 0
    shapes: tuple[StatedShape, ...] = ()
    keep_float: tuple[str, ...] = ()
    integer_ports: bool = False
    weights: WeightOptions = INT8_WEIGHTS


def compile_model(
    prepared: PreparedNetwork,
    device: TargetDevice,
    report: Callable[[str], None] | None,
) -> Artifact:
    """The artifact of a network for a device; with code for the processor alone, too."""
    return with_fallback(device.build(prepared, report), prepared, device, report)


def with_fallback(
    artifact: Artifact,
    prepared: PreparedNetwork,
    device: TargetDevice,
    report: Callable[[str], None] | None,
) -> Artifact:
    """The artifact of a network with code for the processor alone, too, if it needs another."""
    if artifact.fallback is not None or not streams_of(artifact):
        return artifact
    # `run` needs the fallback for --device cpu and --check: an artifact cannot be recompiled.
    fallback = prepared.build(device.targets(), report, fallback=True)
    return replace(artifact, fallback=fallback)


@dataclass(frozen=True, slots=True)
class Source:
    """An imported model that is not compiled yet, with the options for compiling it."""

    imported: Imported
    provenance: Provenance
    options: CompileOptions
    names: tuple[str, ...] = ()
    """The names of all inputs of the model, with those that became constants, in its order."""

    @property
    def every_input(self) -> tuple[Tensor, ...]:
        """The input tensors, with those that became constants, in the model's order."""
        found = {each.name: each for each in self.inputs}
        for name, array in self.imported.bound.items():
            found[name] = Tensor(name, array.shape, array.dtype.name, Input())
        return tuple(found[name] for name in self.names)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The input tensors, by the model's names and in the model's order."""
        return input_tensors(self.imported)

    def prepared(
        self, report: Callable[[str], None] | None, device: TargetDevice | None = None
    ) -> PreparedNetwork:
        """The model, quantised if the options say so. Raises as `prepare_network`.

        Parameters
        ----------
        device
            The device that it is for, where layers choose formats of weights, or where it asks
            something of the integers of requantisations.
        """
        options = self.options
        if device is not None:
            options = replace(options, exact_on=(*options.exact_on, *asking(device)))
        if device is not None and options.weights.chooses:
            options = replace(options, layer_costs=device.layer_costs())
        return prepare_network(self.imported, self.provenance, options, report)


def asking(device: TargetDevice) -> tuple[Target[Any], ...]:
    """The targets of a device that ask something of the integers of requantisations."""
    return tuple(target for target in device.targets() if target.short_factors != ANY_FACTORS)


def import_model(
    model: str,
    options: ModelOptions,
    report: Callable[[str], None] | None,
    inputs: Sequence[Path] = (),
) -> Source:
    """Import a built-in model or an ONNX file.

    Inputs whose values have to be known become constants, from the files `inputs`, which hold the
    model's inputs in its order or by name. Open extents are those of the options' shapes, and of
    the arrays of `inputs` and of the calibration.

    Raises
    ------
    CompilerError
        As `import_with_shapes`, and if there is no such file.
    ModelError
        As `model_file`.
    InputError
        As `read_arrays`.
    """
    if report is not None:
        report("importing")
    read = read_named(model, options.seed)
    return source_of(read, options, read_arrays(inputs, input_names(read.proto)))


@dataclass(frozen=True, slots=True, eq=False)
class ReadModel:
    """An ONNX model, and its origin.

    Attributes
    ----------
    name
        The name of a built-in model, or of a file.
    digest
        SHA-256 of the file; None for a built-in model.
    seed
        Of random values, such as the weights of a built-in model.
    """

    proto: ModelProto
    name: str
    digest: str | None
    seed: int


def read_named(model: str, seed: int) -> ReadModel:
    """A built-in model by its name, or the model in an ONNX file.

    Raises
    ------
    FrontendError, OSError
        The file cannot be read, or holds no model.
    ModelError
        As `model_file`.
    """
    if model in BUILT_IN:
        return ReadModel(built_in(model, seed), model, None, seed)
    path = model_file(model)
    proto = read_model(path)
    digest = hashlib.sha256(read_input(path, MODEL_BYTES)).hexdigest()
    return ReadModel(proto, as_text(path.name), digest, seed)


def source_of(read: ReadModel, options: ModelOptions, offered: Arrays) -> Source:
    """Import a model that was read.

    Parameters
    ----------
    offered
        Arrays of inputs, by name; raises as `import_with_shapes`.
    """
    recorded: dict[str, str | int | float | bool | None] = {"pixels": options.pixels.value}
    if options.calibrate is not None:
        recorded["calibrate"] = as_text(options.calibrate)
    if options.shapes:
        recorded["shapes"] = shapes_text(options.shapes)
    if options.keep_float:
        recorded["keep_float"] = ", ".join(options.keep_float)
    how = compile_options(
        *(options.quantise, _samples(options), options.seed, options.keep_float),
        integer_ports=options.integer_ports,
        weights=options.weights,
    )
    recorded |= weights_recorded(options.weights)
    imported = import_with_shapes(read.proto, options.shapes, offered, options.calibrate)
    if imported.bound:
        recorded["constant_inputs"] = ", ".join(sorted(imported.bound))
    provenance = Provenance(read.name, read.digest, options=recorded, seed=read.seed)
    return Source(imported, provenance, how, input_names(read.proto))


def weights_recorded(weights: WeightOptions) -> dict[str, str | int | float | bool | None]:
    """The options of weights for an artifact's provenance; none for int8 as ever."""
    if weights == INT8_WEIGHTS:
        return {}
    found: dict[str, str | int | float | bool | None] = {"weights": weights.kind.value}
    if weights.rules:
        found["weights_of"] = ", ".join(map(str, weights.rules))
    if weights.asks:
        found |= {"weight_group": weights.group, "calibrated_rounding": weights.calibrated}
    if weights.max_loss is not None:
        found["max_loss"] = weights.max_loss
    if weights.smooth:
        found["smooth"] = True
    return found


def prepared_network(
    model: str, options: ModelOptions, device: TargetDevice | None = None
) -> PreparedNetwork:
    """A model, imported and quantised, ready to be built; `device` as of `Source.prepared`. Raises
    as `import_model`."""
    return import_model(model, options, None).prepared(None, device)


def model_file(model: str) -> Path:
    """The file of a model that is not built in.

    Raises
    ------
    ModelError
        There is no such file, and the text looks like the name of a built-in model.
    """
    path = Path(model)
    if not path.suffix and not path.exists():
        known = ", ".join(BUILT_IN)
        raise ModelError(f"{model!r} is neither a model that is built in ({known}) nor a file")
    return path


def model_inputs(model: str | None) -> Iterator[Path]:
    """The files that a model or an artifact is read from; none for a built-in model."""
    if model is not None and model not in BUILT_IN:
        yield Path(model)
        if not is_artifact(Path(model)):
            yield from external_files(Path(model))


def model_digest(model: str) -> str:
    """The name of a built-in model, or a digest of a model's file. Raises as `model_file`."""
    if model in BUILT_IN:
        return model
    return hashlib.sha256(read_input(model_file(model), MODEL_BYTES)).hexdigest()


def network_digest(model: str, options: ModelOptions) -> str:
    """What an imported and quantised model is known by: its file and those of its tensors, the
    options, and what it is calibrated with, by content. Raises as `model_file`."""
    own = model_digest(model)
    others = [] if model in BUILT_IN else [*external_files(Path(model))]
    samples = options.calibrate
    if samples is not None:
        others += sorted(samples.iterdir()) if samples.is_dir() else [samples]
    parts = [own, repr(replace(options, calibrate=None))]
    for path in others:
        # What is missing is told by whoever reads it.
        if path.is_file():
            with path.open("rb") as file:
                parts += [path.name, hashlib.file_digest(file, "sha256").hexdigest()]
    return content_key(*parts)


def as_text(path: Path | str) -> str:
    """A path as Unicode, with escapes for bytes that are no UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _samples(
    options: ModelOptions,
) -> Callable[[tuple[Tensor, ...]], Iterator[Arrays]] | None:
    path = options.calibrate
    if path is None:
        return None
    return lambda tensors: read_samples(path, tensors, options.pixels)
