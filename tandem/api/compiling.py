"""`tandem.compile`: models to artifacts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from tandem.api.artifact import Artifact
from tandem.api.calibration_warning import calibration_warning
from tandem.api.loading import Loadable, model_of
from tandem.api.machines import Machine, Memory, device_of, warn
from tandem.api.model import Model
from tandem.api.processor import Cpu
from tandem.api.progress import Progress, steps_of
from tandem.api.samples import Samples, calibration, calibration_file
from tandem.api.weights import weight_options
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.options import Mode
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightOptions
from tandem.runtime.inputs import PixelNormalisation
from tandem.workbench.arguments import choice, texts
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.models import Source, as_text, weights_recorded
from tandem.workbench.networks import Network

QUANTIZE = ("multiplier", "pow2", "none")
IO = ("float32", "int8")


def compile(
    model: Model | Loadable,
    machine: Machine = "pynq",
    *,
    quantize: str | None = "multiplier",
    calibrate: Samples | None = None,
    keep_float: Sequence[str] = (),
    records: str | os.PathLike[str] | None = None,
    hide_latency: bool = True,
    memory: Memory = "fast",
    pixels: str = "imagenet",
    processor: Cpu | None = None,
    io: str = "float32",
    weights: str = "int8",
    weights_of: Mapping[str, str] | None = None,
    weight_group: int | None = None,
    max_loss: float | None = None,
    smooth: bool = False,
    progress: Progress = None,
) -> Artifact:
    """A model compiled for a machine.

    >>> artifact = tandem.compile("digits", tandem.Accelerator("small8"))
    >>> run = tandem.Session(artifact).run(artifact.noise())
    >>> run["output"].shape
    (1, 10)

    Parameters
    ----------
    model
        A loaded model, or what `tandem.load` takes.
    machine
        An `Accelerator`, what it takes, or a `Cpu`.
    quantize
        `multiplier`: int8 with any scales; `pow2`: int8 with scales that are powers of two; None or
        `none`: float32. A model that states its own scales keeps them.
    calibrate
        Inputs that scales are measured with: a file (.npy, .npz), a folder of such files and
        pictures, an array of the only input, a mapping from names to arrays, or an iterable of
        these; arrays may hold several batches along their first axis. None for noise.
    keep_float
        Names of layers that stay in float32, on the CPU, as tables have them, or of nodes or
        operators of the model, such as `LRN`.
    records
        A file of `tandem.tune`, whose best schedules are taken; `default` for the records that come
        with Tandem.
    hide_latency
        False to compile the same tiles with one virtual thread instead of two.
    memory
        The accelerator's memory, for which tiles are chosen: `fast`, `ddr`, `edge`,
        `latency=64,interval=2,in_flight=16` in cycles and bursts, or a `MemoryModel`.
    pixels
        The values of pictures: normalised as for ImageNet (`imagenet`), or from 0 to 1 (`unit`).
    processor
        The processor beside an accelerator, for `Artifact.export`; None for this one.
    io
        `int8` for a network that takes and gives the integers of its first and last layers where
        these are quantised, as its header says with their scales; by default `float32`: what the
        model takes and gives.
    weights
        The format of weights: `int8`; `int4`, `mxfp4` or `nf4`, in groups that have a scale;
        `ternary`; `binary`; or `auto`: each layer as its error allows, where fewer bits make it
        faster on the machine. With `calibrate`, weights are rounded for the least error on these
        inputs.
    weights_of
        The formats of some layers' weights, by their names as tables have them, or by patterns with
        `*` and `?`: `{"layer4*": "int4", "output": "int4/64"}`, with the group behind the stroke.
        Of several patterns that match, the last counts.
    weight_group
        The input channels that have one scale: 16, 32 (the default), 64 or 128.
    max_loss
        The most decibels that the format may cost of the network's signal-to-noise ratio on the
        inputs of the calibration: `auto` keeps within it (the default is 6), another format is
        refused beyond it.
    smooth
        Whether the range of activations is moved into the weights behind them where that makes the
        error less.
    progress
        None, True for a bar, or a callback of (done, total, text).

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    InputError
        A file of samples that cannot be read.
    CompilerError
        Something in the model cannot be quantised or compiled.
    """
    loaded = model_of(model)
    mode = mode_of(quantize, calibrate)
    floats = texts("keep_float", keep_float)
    if mode is None and floats:
        raise ArgumentValueError("keep_float is for quantize='multiplier' and 'pow2', not for None")
    integers = choice("io", io, IO) == "int8"
    if mode is None and integers:
        raise ArgumentValueError("io='int8' is for quantize='multiplier' and 'pow2', not for None")
    formats = weight_options(
        *(weights, weights_of, weight_group, max_loss),
        smooth=smooth,
        calibrated=calibrate is not None,
        quantised=mode is not None,
    )
    kind = PixelNormalisation(choice("pixels", pixels, [each.value for each in PixelNormalisation]))
    device = device_of(machine, memory, hiding=hide_latency, records=records, processor=processor)
    with steps_of("compile", progress) as steps:
        source = source_of(
            loaded, mode, calibrate, kind, floats, integer_ports=integers, weights=formats
        )
        prepared = source.prepared(steps.say, device)
        device = device.not_slower(prepared, steps.say, warn)
        artifact = device.build(prepared, steps.say)
    warning = calibration_warning(artifact.manifest.provenance, loaded.name)
    if warning is not None:
        warn(warning)
    return Artifact(Network(artifact, prepared, device))


def mode_of(quantize: object, calibrate: object) -> Mode | None:
    """The mode of quantisation; None for float32, which needs no samples."""
    name = "none" if quantize is None else choice("quantize", quantize, QUANTIZE)
    if name != "none":
        return Mode(name)
    if calibrate is not None:
        raise ArgumentValueError("calibrate is for quantize='multiplier' and 'pow2', not for None")
    return None


def source_of(
    model: Model,
    mode: Mode | None,
    samples: object,
    pixels: PixelNormalisation,
    keep_float: tuple[str, ...] = (),
    *,
    integer_ports: bool = False,
    weights: WeightOptions = INT8_WEIGHTS,
) -> Source:
    """The model with the options of its quantisation."""
    found = None if samples is None else calibration(model.name, samples, pixels)
    recorded = {**model.source.provenance.options, "pixels": pixels.value}
    file = calibration_file(samples)
    if file is not None:
        recorded["calibrate"] = as_text(file)
    if keep_float:
        recorded["keep_float"] = ", ".join(keep_float)
    recorded |= weights_recorded(weights)
    return replace(
        model.source,
        provenance=structs.replace(model.source.provenance, options=recorded),
        options=compile_options(
            *(mode, found, model.options.seed, keep_float),
            integer_ports=integer_ports,
            weights=weights,
        ),
    )
