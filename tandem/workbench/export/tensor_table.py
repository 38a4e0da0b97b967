"""The tensors of a library as structures in C: shapes, strides, scales, and what the axes mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from tandem.hw.config import HardwareConfig
from tandem.runtime.artifact import AxisScale, Manifest, PlacedTensor, Scale, Tensor
from tandem.runtime.element_types import dtype_of
from tandem.workbench.export.names import c_string
from tandem.workbench.export.stream_file import StreamFile

PORT: Final = "row-major"
"""The layout of what the caller passes."""
_PLANES: Final = 4
"""Bytes of an integer of 32 bits."""
STRUCTURE: Final = """\
/* A tensor: its element [i, j, ...] lies i * strides[0] + j * strides[1] + ... elements behind its
 * begin. A real number is (integer - zero) * step. */
#ifndef TANDEM_TENSOR
#define TANDEM_TENSOR
struct tandem_tensor {
    const char *name;
    const char *type;
    const char *layout; /* what the axes mean */
    uint32_t rank;
    const uint32_t *dimensions;
    const uint32_t *strides;
    uint32_t bytes;
    int32_t stream;      /* in whose memory it lies; -1: where the caller says */
    uint32_t offset;     /* in that memory */
    uint32_t scales;     /* 0: real numbers, or integers without a scale */
    int32_t axis;        /* of which each index has a scale; -1: one for all */
    const float *steps;
    const int32_t *zeros;
};
#endif
"""


@dataclass(frozen=True, slots=True)
class TensorRow:
    """A tensor of the table.

    Attributes
    ----------
    spelled
        The end of its name in C.
    layout
        What the axes mean.
    stream, offset
        In whose memory it lies, by number, and where; -1 of what the caller passes.
    """

    name: str
    spelled: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    layout: str = PORT
    stream: int = -1
    offset: int = 0
    scale: Scale | AxisScale | None = None

    @classmethod
    def of_port(cls, name: str, spelled: str, tensor: Tensor) -> TensorRow:
        """An input or output."""
        scale = tensor.axis_scale or tensor.scale
        kind = tensor.dtype
        return cls(name, spelled, tuple(tensor.shape), kind, tensor.bytes, scale=scale)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between two along each axis."""
        return tuple(prod(self.shape[at + 1 :]) for at in range(len(self.shape)))

    @property
    def numbers(self) -> tuple[int, tuple[float, ...], tuple[int, ...]]:
        """The axis of scales, -1 for one scale; the steps and zeros."""
        match self.scale:
            case Scale(step=step, zero=zero):
                return -1, (step,), (zero,)
            case AxisScale(axis=axis, steps=steps, zeros=zeros):
                return axis, tuple(steps), tuple(zeros)
            case None:
                return -1, (), ()


def scale_words(tensor: Tensor) -> str:
    """How real numbers follow from a port's integers; empty of a port without a scale."""
    if tensor.axis_scale is not None:
        return f"real = (integer - zero) * step, of each index of axis {tensor.axis_scale.axis}"
    if tensor.scale is None:
        return ""
    return f"real = (integer - {tensor.scale.zero}) * {c_float(tensor.scale.step)}"


def stream_rows(
    manifest: Manifest, streams: Sequence[StreamFile], config: HardwareConfig
) -> Iterator[TensorRow]:
    """The inputs and outputs of streams."""
    windows = {tensor.name for tensor in manifest.tensors if tensor.windows is not None}
    for number, stream in enumerate(streams):
        steps = [step for step in manifest.steps if step.code == stream.name]
        for kind, tensors in (("input", stream.inputs), ("output", stream.outputs)):
            for at, tensor in enumerate(tensors):
                names = {(step.inputs if kind == "input" else step.outputs)[at] for step in steps}
                yield TensorRow(
                    tensor.name,
                    f"stream_{number}_{kind}_{at}",
                    tuple(tensor.shape),
                    tensor.dtype,
                    _bytes(tensor),
                    layout_words(tensor, config, of_windows=bool(names & windows)),
                    number,
                    tensor.address,
                )


def layout_words(tensor: PlacedTensor, config: HardwareConfig, *, of_windows: bool) -> str:
    """What the axes of a tensor in blocks mean: the last one are lanes of the array's vectors."""
    shape, words = tuple(tensor.shape), []
    if len(shape) % 2 and shape[0] == _PLANES:
        words.append("byte of an int32, the least significant first")
        shape = shape[1:]
    if shape[-2:-1] != (config.batch,) or len(shape) not in (4, 6):
        return ", ".join([*words, "axes as the stream has them"])
    lanes = shape[-1]
    what = "tap" if of_windows else "channel"
    words += [f"batch / {config.batch}", f"{what} / {lanes}"]
    words += ["row", "column"] * (len(shape) == 6)
    words += [f"batch % {config.batch}", f"{what} % {lanes}"]
    taps = "; taps count channels, then rows and columns of a window" * of_windows
    return f"{', '.join(words)}{taps}"


def table_source(name: str, rows: Sequence[TensorRow]) -> Iterator[str]:
    """The definition of the table."""
    for at, row in enumerate(rows):
        _, steps, zeros = row.numbers
        yield from _numbers("uint32_t", f"dimensions_{at}", row.shape)
        yield from _numbers("uint32_t", f"strides_{at}", row.strides)
        yield from _numbers("float", f"steps_{at}", [c_float(step) for step in steps])
        yield from _numbers("int32_t", f"zeros_{at}", zeros)
    yield f"const struct tandem_tensor {name}_tensors[{name.upper()}_TENSORS] = {{"
    for at, row in enumerate(rows):
        axis, steps, _ = row.numbers
        shapes = f"dimensions_{at}, strides_{at}" if row.shape else "NULL, NULL"
        scales = f"steps_{at}, zeros_{at}" if steps else "NULL, NULL"
        yield f"    {{{c_string(row.name)}, {c_string(row.dtype)},"
        yield f"     {c_string(row.layout)},"
        yield f"     {len(row.shape)}, {shapes}, {row.bytes},"
        yield f"     {row.stream}, {row.offset}, {len(steps)}, {axis}, {scales}}},"
    yield "};"
    yield ""


def _numbers(kind: str, name: str, numbers: Sequence[object]) -> Iterator[str]:
    if numbers:
        yield f"static const {kind} {name}[{len(numbers)}] = {{{', '.join(map(str, numbers))}}};"


def c_float(number: float) -> str:
    """A literal of float32, exact."""
    text = f"{number:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def _bytes(tensor: PlacedTensor) -> int:
    return prod(tensor.shape) * dtype_of(tensor.dtype).itemsize
