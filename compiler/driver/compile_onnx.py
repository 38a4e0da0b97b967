"""Compilation of an ONNX model to an artifact: import, quantisation and build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any

from msgspec import structs
from numpy.typing import NDArray
from onnx import ModelProto

from tandem.compiler.driver.build import Backends, build
from tandem.compiler.driver.weights_in_memory import in_memory
from tandem.compiler.errors import BuildError
from tandem.compiler.frontends.onnx import (
    Imported,
    StatedShape,
    import_model,
    input_names,
    input_types,
    stated_by_arrays,
)
from tandem.compiler.graph.evaluate import Runner, evaluate
from tandem.compiler.graph.indices import rows_of_tables
from tandem.compiler.graph.nodes import Function, Var
from tandem.compiler.graph.types import TensorType, symbols_of
from tandem.compiler.graph.verify import verify
from tandem.compiler.plan.target import Backend, Target
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights
from tandem.compiler.quantise.compressed_network import LayerCosts
from tandem.compiler.quantise.integer_ports import PortScale, integer_ports
from tandem.compiler.quantise.layer_errors import LayerError, layer_errors
from tandem.compiler.quantise.network import has_scales, quantise_network
from tandem.compiler.quantise.options import Mode, QuantiseOptions
from tandem.compiler.quantise.points import int8_values, return_values
from tandem.compiler.quantise.quantised import Quantised
from tandem.compiler.quantise.samples import synthetic
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightOptions
from tandem.runtime.artifact import (
    Artifact,
    AxisScale,
    Input,
    Provenance,
    Scale,
    StoredWeights,
    Tensor,
)

Samples = Callable[[tuple[Tensor, ...]], Iterable[Mapping[str, NDArray[Any]]]]
"""A function from a network's input tensors to calibration samples: values by input name."""
_TOOLS = ("tandem-workbench", "llvmlite", "numpy", "onnx")


class Calibration(Enum):
    """The inputs that the scales of a network's int8 values were measured with."""

    NOISE = "noise"
    """Random ones."""
    GIVEN = "given"
    """The user's."""


@dataclass(frozen=True, slots=True)
class RealNetwork:
    """The network in real numbers before quantisation, for comparison.

    Of a model that states its own scales (QDQ) these are the numbers that ONNX defines: the model
    in float32, rounded where the model says.

    Attributes
    ----------
    imported
        The model.
    runner
        The runner of the network's calibration, which has compiled most kernels.
    """

    quantised: Quantised
    imported: Imported
    runner: Runner

    @property
    def states_scales(self) -> bool:
        """Whether the model states its own scales, and its real numbers are rounded, too."""
        return has_scales(self.quantised.real)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The outputs of one run by name, for inputs by name."""
        function = self.quantised.real
        result = function.body.result
        if isinstance(result, Var):
            # With all calibrated values as results, kernels are the same as in calibration.
            own = {param.name for param in function.params}
            own |= {let.name for let in function.body.lets}
            names = [each for each in int8_values(function, verify(function)) if each in own]
            function = return_values(function, (*names, result.name))
        values = evaluate(function, self._in_order(inputs), self.runner)
        assert isinstance(values, tuple) or not isinstance(result, Var), "a tuple of all"
        return self.imported.by_name(values[-1] if isinstance(result, Var) else values)

    def layer_errors(self, samples: Iterable[Mapping[str, NDArray[Any]]]) -> tuple[LayerError, ...]:
        """The error of each layer of the quantised network, over samples of inputs by name."""
        return layer_errors(self.quantised, map(self._in_order, samples), self.runner)

    def _in_order(self, inputs: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        return [inputs[name] for name in self.imported.inputs]


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Options of compiling a network.

    Attributes
    ----------
    exact_on
        Targets that have to compute the quantised network exactly, even if built for others, so
        that all devices give the same results.
    make_runner
        Returns a runner of the computations of calibration, on the processor that compiles.
    quantise
        The multipliers of requantisation; None leaves the network in float32.
    samples
        Inputs for calibration; by default normal noise with the seed `seed`.
    keep_float
        What stays in real numbers, as `QuantiseOptions` has it.
    integer_ports
        Whether the network takes and gives integers where it quantises inputs first, or gives what
        was integers.
    weights
        The format of weights; for `quantise`.
    layer_costs
        What layers cost on the machine for which they choose formats of weights; None to choose by
        the sizes of weights.
    """

    exact_on: tuple[Target[Any], ...]
    make_runner: Callable[[], Runner]
    quantise: Mode | None = Mode.MULTIPLIER
    samples: Samples | None = None
    seed: int = 0
    keep_float: tuple[str, ...] = ()
    integer_ports: bool = False
    weights: WeightOptions = INT8_WEIGHTS
    layer_costs: LayerCosts | None = None


@dataclass(frozen=True, slots=True)
class PreparedNetwork:
    """A network, quantised if the options say so, ready to be built for any targets.

    Attributes
    ----------
    imported
        The model, which names inputs and outputs.
    real
        The network before quantisation; None if it was not quantised.
    calibration
        What the scales were measured with; None if none were: the network was not quantised, or
        states its own scales, or has nothing to quantise.
    port_scales
        Scales of inputs and outputs that are integers instead of real numbers.
    weights
        The formats of layers' weights; empty where none was asked for.
    resident
        Inputs that callers keep from run to run; as of `build`.
    """

    function: Function
    imported: Imported
    scales: Mapping[str, Scale]
    provenance: Provenance
    real: RealNetwork | None = None
    calibration: Calibration | None = None
    port_scales: Mapping[str, PortScale] = field(default_factory=dict)
    weights: tuple[StoredWeights, ...] = ()
    resident: tuple[str, ...] = ()
    _backends: Backends = field(default_factory=Backends, repr=False, compare=False)

    def build(
        self,
        targets: Sequence[Target[Any]],
        report: Callable[[str], None] | None = None,
        *,
        fallback: bool = False,
    ) -> Artifact:
        """The artifact for `targets`; parameters and errors are those of `build`. Code that several
        artifacts share is compiled once."""
        artifact = build(
            self.function,
            targets,
            self.provenance,
            name=self.provenance.model,
            inputs=self.imported.inputs,
            outputs=self.imported.outputs,
            counts=self.imported.counts,
            scales=self.scales,
            resident=self.resident,
            fallback=fallback,
            backends=self._backends,
            report=report,
        )
        if self.weights:
            weights = in_memory(artifact, self.weights)
            manifest = structs.replace(artifact.manifest, weights=weights)
            artifact = replace(artifact, manifest=manifest)
        return _with_port_scales(artifact, self.port_scales)

    def backend(self, target: Target[Any]) -> Backend:
        """The back end that `build` compiles with for a target."""
        return self._backends.of(target)


def _with_port_scales(artifact: Artifact, scales: Mapping[str, PortScale]) -> Artifact:
    """The artifact whose inputs and outputs have these scales, by their names."""
    if not scales:
        return artifact
    manifest = artifact.manifest
    ports = (*manifest.inputs, *manifest.results)
    known = {port.tensor: scales[port.name] for port in ports if port.name in scales}
    tensors = []
    for tensor in manifest.tensors:
        match known.get(tensor.name):
            case Scale() as scale:
                tensor = structs.replace(tensor, scale=scale)
            case AxisScale() as scale:
                tensor = structs.replace(tensor, axis_scale=scale)
            case None:
                pass
        tensors.append(tensor)
    manifest = structs.replace(manifest, tensors=tuple(tensors))
    return replace(artifact, manifest=manifest)


def compile_network(
    model: ModelProto,
    provenance: Provenance,
    options: CompileOptions,
    targets: Sequence[Target[Any]],
    report: Callable[[str], None] | None = None,
) -> Artifact:
    """The artifact of a model: imported, quantised, built; `provenance` gets tools and options.

    A batch that the model leaves open is 1.

    Raises
    ------
    CompilerError
        Something in the model is not supported, or cannot be quantised or compiled.
    """
    return prepare_network(model, provenance, options, report).build(targets, report)


def import_network(
    model: ModelProto,
    offered: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    stated: Sequence[StatedShape] = (),
) -> Imported:
    """The model as a graph. A batch that the model leaves open, and nobody states, is 1.

    Parameters
    ----------
    offered
        Arrays for inputs that become constants if their values have to be known. Their extents,
        but the first, which may be of several batches, are those that the model leaves open.
    stated
        Shapes of inputs.

    Raises
    ------
    BuildError
        Extents other than a batch are open, and nobody states them.
    CompilerError
        Something in the model is not supported; shapes contradict the model or each other.
    """
    shapes = {name: array.shape for name, array in offered.items()}
    every = (*stated, *stated_by_arrays(model, shapes, "--input"))
    _check_stated(model, every)
    return import_model(model, stated=every, offered=offered, open_batch_is_one=True)


def _check_stated(model: ModelProto, stated: Sequence[StatedShape]) -> None:
    """Raise a `BuildError` if extents other than a batch are open, and nobody states them."""
    known = input_names(model)
    inputs = [each for each in model.graph.input if each.name in known]
    for name, type_ in input_types(inputs, stated, open_batch_is_one=True).items():
        left = ", ".join(sorted(symbols_of(type_)))
        if left:
            shape = ",".join(map(str, type_.shape))
            raise BuildError(
                f"input {name} is {type_}, and {left} could be any number: only the first extent, "
                f"a batch, may be left open, and is 1 then; state it with --shape {name}={shape} "
                f"(numbers for {left}) or --shape {left.split(', ')[0]}=N, or give an array with "
                "--input"
            )


def input_tensors(imported: Imported) -> tuple[Tensor, ...]:
    """The network's inputs as tensors by the model's names, in its order."""
    rows = rows_of_tables(imported.function)
    tensors = []
    for name, param in zip(imported.inputs, imported.function.params, strict=True):
        assert isinstance(param.type, TensorType), "imported as such"
        shape, dtype = param.type.static_shape(name), param.type.dtype.numpy.name
        tensors.append(Tensor(name, shape, dtype, Input(), rows=rows.get(param.name)))
    return tuple(tensors)


def prepare_network(
    model: ModelProto | Imported,
    provenance: Provenance,
    options: CompileOptions,
    report: Callable[[str], None] | None = None,
) -> PreparedNetwork:
    """The imported and quantised network, ready to build. Raises as `compile_network` does."""
    progress = report or (lambda _: None)
    if isinstance(model, ModelProto):
        progress("importing")
        model = import_network(model)
    imported = model
    function, real, calibration = imported.function, None, None
    weights: tuple[StoredWeights, ...] = ()
    scales: dict[str, Scale] = {}
    if options.quantise is not None:
        progress("calibrating")
        runner = options.make_runner()
        quantised = _quantised(imported, options, options.quantise, runner)
        real = RealNetwork(quantised, imported, runner)
        if quantised.scales and not real.states_scales:
            calibration = Calibration.NOISE if options.samples is None else Calibration.GIVEN
        function = quantised.function
        weights = tuple(map(_stored, quantised.weights))
        scales = {name: Scale(of.step, of.zero) for name, (_, of) in quantised.scales.items()}
    mode = "none" if options.quantise is None else options.quantise.value
    provenance = _with_tools(provenance, mode, calibration)
    if real is not None and calibration is not None:
        provenance = _with_zeros(provenance, real.quantised, imported)
    if has_scales(imported.function):
        given = {**provenance.options, "scales": "given"}
        provenance = structs.replace(provenance, options=given)
    if not options.integer_ports:
        return PreparedNetwork(
            function, imported, scales, provenance, real, calibration, weights=weights
        )
    ports = integer_ports(function)
    named = (*zip(imported.inputs, ports.inputs, strict=True),)
    named += (*zip(imported.outputs, ports.results, strict=False),)
    port_scales = {name: scale for name, scale in named if scale is not None}
    provenance = structs.replace(provenance, options={**provenance.options, "io": "int8"})
    # Without the network in real numbers, whose inputs and outputs are others.
    return PreparedNetwork(
        *(ports.function, imported, scales, provenance, None, calibration, port_scales),
        weights=weights,
    )


def _stored(weights: LayerWeights) -> StoredWeights:
    return StoredWeights(
        *(weights.layer, weights.format, weights.elements, weights.bytes, weights.group),
        *(weights.reason, weights.results),
    )


def _with_tools(provenance: Provenance, mode: str, calibration: Calibration | None) -> Provenance:
    """The provenance with versions of the tools and the options of quantisation."""
    tools = {}
    for name in _TOOLS:
        try:
            tools[name] = version(name)
        except PackageNotFoundError:
            continue  # a working copy that was never installed
    options = {**provenance.options, "quantise": mode}
    if calibration is not None:
        options["calibration"] = calibration.value
    return structs.replace(provenance, tools=tools, options=options)


def _with_zeros(provenance: Provenance, quantised: Quantised, imported: Imported) -> Provenance:
    """The provenance with the inputs that calibration had nothing but zeros for."""
    zeros = {of for of, scale in quantised.scales.values() if scale.of_zeros}
    params = (param.name for param in imported.function.params)
    names = [name for name, of in zip(imported.inputs, params, strict=True) if of in zeros]
    if not names:
        return provenance
    options = {**provenance.options, "zero_inputs": ", ".join(names)}
    return structs.replace(provenance, options=options)


def _quantised(
    imported: Imported, options: CompileOptions, mode: Mode, runner: Runner
) -> Quantised:
    function = imported.function
    if options.samples is None:
        samples: Iterable[Any] = synthetic(function, seed=options.seed)
    else:
        samples = (
            [sample[name] for name in imported.inputs]
            for sample in options.samples(input_tensors(imported))
        )
    quantisation = QuantiseOptions(
        mode=mode, keep_float=options.keep_float, weights=options.weights
    )
    return quantise_network(
        *(function, samples, runner, quantisation, options.exact_on), options.layer_costs
    )
