"""Convolutions of ResNet-18 beside ONNX Runtime: `python -m tandem.scripts.bench.conv2d`.

Both libraries run in this process, on one thread, on the same preallocated NCHW arrays, with
weights packed beforehand. The int8 baseline is ONNX Runtime's QLinearConv, which takes about a
tenth of ConvInteger's time; Tandem therefore requantizes its accumulators to eight bits too. Images
are quantized with zero point 0, as after a ReLU.

Times are CPU time, which excludes waiting for other programs: the median of several calls, and the
best of several rounds, in which the two libraries alternate.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tandem.compiler.graph import Call, Constant, Function, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.passes import InferTypes
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.kernels import cpu_kernel
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.plan.planner import Planner
from tandem.scripts.bench.measurements import Measurement, print_measurements

LEAST = 1.0
"""The minimum geometric mean of speeds relative to ONNX Runtime's."""
MOST_SECONDS = 1.0
"""The maximum CPU time, in seconds, of lowering and compiling a convolution."""
ROUNDS = 7
CALLS = 5
TOLERANCE = 2e-5
"""The greatest difference in float32 relative to the largest output: Winograd's algorithm rounds
more coarsely than the direct convolution."""
SCALE, ZERO_POINT = 2.0**-11, 3
"""Quantisation of the accumulators to eight bits."""

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution of a square kernel and a square image with SAME padding."""

    inputs: int
    outputs: int
    image: int
    kernel: int
    stride: int

    @property
    def padding(self) -> tuple[int, int, int, int]:
        """Padding at the top, the left, the bottom and the right."""
        border = self.kernel // 2
        return border, border, border, border

    @property
    def result(self) -> tuple[int, ...]:
        """The result's shape."""
        side = -(-self.image // self.stride)
        return 1, self.outputs, side, side

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * math.prod(self.result) * self.inputs * self.kernel**2

    def __str__(self) -> str:
        step = f"/{self.stride}" if self.stride > 1 else ""
        return f"{self.kernel}x{self.kernel}{step} {self.inputs}->{self.outputs} @{self.image}"


RESNET18 = (
    Convolution(3, 64, 224, 7, 2),
    Convolution(64, 64, 56, 3, 1),
    Convolution(64, 128, 56, 3, 2),
    Convolution(128, 128, 28, 3, 1),
    Convolution(128, 256, 28, 3, 2),
    Convolution(256, 256, 14, 3, 1),
    Convolution(256, 512, 14, 3, 2),
    Convolution(512, 512, 7, 3, 1),
    Convolution(64, 128, 56, 1, 2),
    Convolution(128, 256, 28, 1, 2),
    Convolution(256, 512, 14, 1, 2),
)
"""The distinct convolutions of ResNet-18 (He et al., CVPR'16, table 1)."""


def measure(target: CpuTarget) -> Iterator[Measurement]:
    """A measurement for each convolution, in float32 and in eight bits, and their means."""
    slowest = 0.0
    for name, quantized in (("float32", False), ("int8", True)):
        ratios = []
        for conv in RESNET18:
            image, weight = _arrays(conv, quantized)
            begun = process_time()
            others = [np.array([SCALE], np.float32), np.array([ZERO_POINT], np.float32)]
            function = compiled(
                _kernel(conv, quantized), weight, target, others if quantized else ()
            )
            slowest = max(slowest, process_time() - begun)
            ours, theirs = _race(conv, image, weight, function, quantized)
            ratios.append(theirs / ours)
            rate = conv.operations / ours / 1e9
            yield Measurement(
                f"{name} {conv}, {rate:.0f} G/s", ratios[-1], "of ONNX Runtime's speed"
            )
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        yield Measurement(f"{name}, geometric mean", mean, "of ONNX Runtime's speed", LEAST)
    yield Measurement("slowest to compile", slowest, "s", MOST_SECONDS, at_most=True)


def _arrays(conv: Convolution, quantized: bool) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    image = (1, conv.inputs, conv.image, conv.image)
    weight = (conv.outputs, conv.inputs, conv.kernel, conv.kernel)
    if quantized:
        # Weights of seven bits: where a processor has no dot product of bytes, ONNX Runtime adds
        # two products in 16 bits, which saturate.
        return rng.integers(0, 256, image, np.uint8), rng.integers(-64, 65, weight, np.int8)
    return rng.standard_normal(image, np.float32), rng.standard_normal(weight, np.float32)


def _kernel(conv: Convolution, quantized: bool) -> Function:
    """The convolution as the kernel of a network. Accumulators of eight bits are scaled, rounded,
    offset by the zero point and clipped to uint8."""
    image = f"1, {conv.inputs}, {conv.image}, {conv.image}"
    weight = f"{conv.outputs}, {conv.inputs}, {conv.kernel}, {conv.kernel}"
    attributes = f"strides=[{conv.stride}, {conv.stride}], padding={[*conv.padding]}"
    text = f"""
kernel @conv(x: float32[{image}], w: float32[{weight}]):
  c = conv2d(x, w, {attributes})
  return c
"""
    if quantized:
        text = f"""
kernel @conv(x: uint8[{image}], w: int8[{weight}], scale: float32[1], zero: float32[1]):
  c = conv2d(x, w, {attributes}, out_dtype=int32)
  f = cast(c, to=float32)
  m = multiply(f, scale)
  r = round_even(m)
  a = add(r, zero)
  k = clip(a, min=0.0, max=255.0)
  q = cast(k, to=uint8)
  return q
"""
    return InferTypes().apply(parse_function(text, OPERATORS))


def compiled(
    kernel: Function, weight: Array, target: CpuTarget, others: Sequence[Array] = ()
) -> Callable[[Array, Array], None]:
    """A kernel of (data, weight, *others), compiled as in a network and its weight packed: a
    function of the data and the result.

    Parameters
    ----------
    weight
        The weight, a constant of the network.
    """
    constants = [Constant(each) for each in (weight, *others)]
    machine = cpu(target)
    plan = Planner(machine).layer(Call(kernel, (Var("data"), *constants)))
    made = cpu_kernel(kernel, plan, machine)
    assert made.packing, "a template packs the weight"
    function = compile_function(made.program, target, streamed=made.streamed)
    inputs: dict[int, Array] = {}
    for at, number in enumerate(made.operands):
        if at in made.packing:
            (inputs[at],) = compile_function(made.packing[at], target)(weight)
        elif number:
            inputs[at] = others[number - 2]

    call = function.unchecked()

    def run(image: Array, result: Array) -> None:
        call([inputs.get(at, image) for at in range(len(made.operands))], [result])

    return run


def _race(
    conv: Convolution,
    image: Array,
    weight: Array,
    function: Callable[[Array, Array], None],
    quantized: bool,
) -> tuple[float, float]:
    """Seconds per call of Tandem and of ONNX Runtime, after comparing their results."""
    dtype = np.uint8 if quantized else np.float32
    ours, theirs = np.empty(conv.result, dtype), np.empty(conv.result, dtype)
    rival = _rival(conv, image, weight, theirs, quantized)

    def run() -> None:
        function(image, ours)

    run()
    rival()
    if quantized:
        np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE * np.abs(theirs).max())
    rounds = [(_seconds(run), _seconds(rival)) for _ in range(ROUNDS)]
    return min(seconds for seconds, _ in rounds), min(seconds for _, seconds in rounds)


def _seconds(call: Callable[[], None]) -> float:
    """The median CPU time of a call."""
    taken = []
    for _ in range(CALLS):
        begun = process_time()
        call()
        taken.append(process_time() - begun)
    return median(taken)


def _rival(
    conv: Convolution, image: Array, weight: Array, result: Array, quantized: bool
) -> Callable[[], None]:
    """A function that runs ONNX Runtime on one thread, on these arrays."""
    attributes: dict[str, Any] = {"strides": [conv.stride] * 2, "pads": conv.padding}
    constants: dict[str, Array] = {"weight": weight}
    if quantized:
        inputs = ["image", "one", "none", "weight", "one", "none8", "scale", "zero"]
        constants |= {
            "one": np.array(1, np.float32),
            "none": np.array(0, np.uint8),
            "none8": np.array(0, np.int8),
            "scale": np.array(1 / SCALE, np.float32),
            "zero": np.array(ZERO_POINT, np.uint8),
        }
        node = helper.make_node("QLinearConv", inputs, ["result"], **attributes)
        kind = TensorProto.UINT8
    else:
        node = helper.make_node("Conv", ["image", "weight"], ["result"], **attributes)
        kind = TensorProto.FLOAT
    graph = helper.make_graph(
        [node],
        "conv",
        [helper.make_tensor_value_info("image", kind, image.shape)],
        [helper.make_tensor_value_info("result", kind, conv.result)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    binding.bind_input("image", "cpu", 0, image.dtype, image.shape, image.ctypes.data)
    binding.bind_output("result", "cpu", 0, result.dtype, result.shape, result.ctypes.data)
    return lambda: session.run_with_iobinding(binding)


def main() -> int:
    """Print the report; 1 where a target is missed."""
    return print_measurements(measure(CpuTarget.host(1)))


if __name__ == "__main__":
    sys.exit(main())
