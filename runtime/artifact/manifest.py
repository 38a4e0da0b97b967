"""The manifest of an artifact: everything but code and weights.

    manifest   = name, provenance, tensors, inputs, results, steps, arena_bytes, [functions],
                 [counts]
    tensor     = name, shape, dtype, place, [scale], [rows], [padded], [axis_scale],
                 [windows]
    scale      = step, zero
    axis_scale = axis, steps, zeros
    padded     = (extent, outer, inner)...
    windows    = kernel, strides, pads, dilations
    place      = input | output | in_place(input) | constant | arena(offset) | kept(device)
    port       = name, tensor                                   of an input or a result
    count      = result, axis, tensor
    step       = name, device, code, inputs, outputs, operators, macs, [reason]
    provenance = model, digest, tools, options, seed

Places are a tagged union. A step names its device and its code, whose kind that device executes
(`runtime.artifact.code`). The code of functions is described in `runtime.artifact.instructions`.
"""

from __future__ import annotations

from math import prod
from typing import Final, TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from tandem.runtime.artifact.instructions import Form, FunctionCode
from tandem.runtime.artifact.padding import PaddedAxis
from tandem.runtime.artifact.windows import Windows
from tandem.runtime.element_types import dtype_of

HOST: Final = "cpu"
"""The device of the processor that runs the network, and all that no other device runs."""


class Input(Struct, frozen=True, tag="input", forbid_unknown_fields=True):
    """The place of an input: an array that the caller passes."""


class Output(Struct, frozen=True, tag="output", forbid_unknown_fields=True):
    """The place of an output: a new array in each run, returned to the caller."""


class InPlace(Struct, frozen=True, tag="in_place", forbid_unknown_fields=True):
    """The place of an output in the memory of an input, of the same type, that the caller gives up.

    Attributes
    ----------
    input
        The name of the input's tensor.
    """

    input: str


class ConstantPlace(Struct, frozen=True, tag="constant", forbid_unknown_fields=True):
    """The place of a constant, whose value is part of the artifact."""


class Arena(Struct, frozen=True, tag="arena", forbid_unknown_fields=True):
    """A place in the arena, memory that tensors share, at `offset` bytes."""

    offset: int


class Kept(Struct, frozen=True, tag="kept", forbid_unknown_fields=True):
    """The place of a tensor that stays in a device's own memory between steps of that device."""

    device: str


class Reference(Struct, frozen=True, tag="reference", forbid_unknown_fields=True):
    """The place of what stands for a value of a data type: it refers to a cell of the heap
    (`runtime.artifact.instructions`). To others it looks like a number, an int64 scalar."""


Place: TypeAlias = Input | Output | InPlace | ConstantPlace | Arena | Kept | Reference
"""The storage of a tensor."""


class Scale(Struct, frozen=True, forbid_unknown_fields=True):
    """The scale of a quantised tensor: the real number is (integer - zero) * step."""

    step: float
    zero: int = 0


class AxisScale(Struct, frozen=True, forbid_unknown_fields=True):
    """The scales of a quantised tensor, one for each index of an axis."""

    axis: int
    steps: tuple[float, ...]
    zeros: tuple[int, ...]


class Tensor(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A dense, row-major array.

    Attributes
    ----------
    dtype
        NumPy's name, as `float32`.
    scale
        The scale of a quantised tensor; None if unknown. Steps have the scale in their constants:
        it is for callers, who may give an input of integers.
    rows
        Of an input whose numbers are indices, as tokens are: how many rows all tables have that it
        indexes. For information only: other numbers pick the nearest row.
    padded
        Of a tensor in blocks: the axes with undefined padding.
    axis_scale
        The scales of an input or output that differ along an axis, instead of `scale`.
    windows
        Of a tensor that the host has packed windows of an image in: which. For information only.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    place: Place
    scale: Scale | None = None
    rows: int | None = None
    padded: tuple[PaddedAxis, ...] = ()
    axis_scale: AxisScale | None = None
    windows: Windows | None = None

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"

    @property
    def bytes(self) -> int:
        """The size of the tensor in bytes."""
        return prod(self.shape) * dtype_of(self.dtype).itemsize

    @property
    def defined(self) -> NDArray[np.bool_]:
        """Which elements are defined: a mask that broadcasts to `shape`."""
        found = np.ones((), np.bool_)
        for axis in self.padded:
            found = found & axis.defined(self.shape)
        return found


class Step(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A run of code on a device.

    Attributes
    ----------
    name
        The graph's name of the step's result.
    device
        Name of the device.
    code
        Name of the code in the artifact.
    inputs, outputs
        Names of tensors, in the order of the code's inputs and outputs.
    operators
        Operators of the graph that the code computes.
    macs
        Useful multiply-accumulates: of the operators, without padding to whole tiles.
    reason
        Why the step is on the host; empty if it is not, or if there was no other device.
    """

    name: str
    device: str
    code: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operators: tuple[str, ...]
    macs: int
    reason: str = ""

    @property
    def on_host(self) -> bool:
        """Whether the step is on the host."""
        return self.device == HOST


class Port(Struct, frozen=True, forbid_unknown_fields=True):
    """An input or result of the network: the model's name for it, and the name of its tensor."""

    name: str
    tensor: str


class Count(Struct, frozen=True, forbid_unknown_fields=True):
    """An extent of a result that is known only after a run.

    Attributes
    ----------
    result
        The model's name for the result, whose tensor has the greatest possible extent.
    axis
        The axis, counted from 0.
    tensor
        The name of a tensor that holds the extent, a scalar of int64.
    """

    result: str
    axis: int
    tensor: str


class Provenance(Struct, frozen=True, forbid_unknown_fields=True):
    """The provenance of an artifact: the model, tools and options of its compilation.

    Attributes
    ----------
    model
        Name of the model: a file or a built-in model.
    digest
        SHA-256 of the model's file; None for a built-in model.
    tools
        Names and versions of the compiler's tools.
    options
        Options of the compilation; `scales` is `given` where the model itself quantises.
    seed
        Seed of random values, such as the weights of a built-in model; None without any.
    """

    model: str
    digest: str | None = None
    tools: dict[str, str] = field(default_factory=dict)
    options: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    seed: int | None = None

    @property
    def scales_are_given(self) -> bool:
        """Whether the model itself quantises, with scales of its own."""
        return self.options.get("scales") == "given"

    @property
    def calibration(self) -> str | None:
        """What scales were measured with: `noise` or `given`; None if nothing was calibrated."""
        found = self.options.get("calibration")
        return None if found is None else str(found)

    @property
    def calibrated_with_noise(self) -> bool:
        """Whether the scales of a user's model were measured with noise; built-in networks have
        noise for inputs."""
        return self.calibration == "noise" and self.digest is not None

    @property
    def zero_inputs(self) -> str | None:
        """The names of inputs of which every sample of calibration was zero; None without any."""
        found = self.options.get("zero_inputs")
        return None if found is None else str(found)


class StoredWeights(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The format of the weights of a layer of a network that was compiled with one.

    Attributes
    ----------
    layer
        The name of the product.
    format
        `int8`, or the name of a format of fewer bits.
    elements
        The number of weights.
    bytes
        Of all weights with the scales of groups, packed.
    group
        The input channels that have one scale; None without scales of groups.
    reason
        Why the weights are int8 although another format was wanted, or why the layer has chosen
        its format; else empty.
    results
        The names of the values that are computed with it: its own, and those of the bias, the sum
        or the activation behind it.
    memory
        How they lie in memory where `format` is not int8: as codes, or as int8 and why.
    """

    layer: str
    format: str
    elements: int
    bytes: int
    group: int | None = None
    reason: str = ""
    results: tuple[str, ...] = ()
    memory: str = ""

    def __str__(self) -> str:
        return self.format if self.group is None else f"{self.format}/{self.group}"

    @property
    def as_stored(self) -> str:
        """The format, and whether memory has int8 in its place."""
        return f"{self}, int8 in memory" if self.memory.startswith("int8") else str(self)


class Manifest(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A compiled network.

    Attributes
    ----------
    inputs, results
        In the model's order. A tensor may be several results.
    steps
        Without functions, in the order in which they run.
    arena_bytes
        Size of the arena; of the network's own frame, if there are functions.
    functions
        The code that runs the steps, if the network has control flow: the network's own function
        first, then those that it calls.
    counts
        The extents of results that are known only after a run.
    forms
        The constructors of data types whose values are cells of a heap.
    weights
        The formats of layers' weights; empty where all are int8 or float32, as they are unless
        somebody asks for another format.
    """

    name: str
    provenance: Provenance
    tensors: tuple[Tensor, ...]
    inputs: tuple[Port, ...]
    results: tuple[Port, ...]
    steps: tuple[Step, ...]
    arena_bytes: int
    functions: tuple[FunctionCode, ...] = ()
    counts: tuple[Count, ...] = ()
    forms: tuple[Form, ...] = ()
    weights: tuple[StoredWeights, ...] = ()

    @property
    def weight_bytes(self) -> int:
        """The bytes of the weights of all layers in `weights`, packed."""
        return sum(each.bytes for each in self.weights)

    def weights_of(self, row: str, macs: int) -> StoredWeights | None:
        """The weights with which a layer or a step of this name and so many multiply-accumulates
        computes; None where no format was asked for, or it multiplies nothing."""
        if not macs:
            return None
        return next((each for each in self.weights if row in each.results), None)

    @property
    def returned(self) -> tuple[str, ...]:
        """The names of the tensors that are read after a run."""
        return (*(each.tensor for each in self.results), *(each.tensor for each in self.counts))
