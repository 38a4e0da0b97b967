"""Convolutions of compressed weights equal those of the widened weights, in every bit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import Refusal
from tandem.compiler.graph.extents import Extent
from tandem.compiler.graph.nodes import Call, Function, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.passes.fuse import Fuse
from tandem.compiler.graph.passes.infer_types import InferTypes
from tandem.compiler.graph.passes.pipeline import transform
from tandem.compiler.graph.types import TensorType, TupleType
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.machines.cpu.templates.compressed_conv2d import most_pixels, takes_codes
from tandem.compiler.machines.cpu.templates.compressed_layers import CompressedConv2dOnCpu
from tandem.compiler.plan.planner import kernel_matcher
from tandem.compiler.plan.schedule_template import KernelMatch
from tandem.hw.weight_formats import BINARY, FORMATS, INT4, NF4, TERNARY, WeightFormat
from tandem.runtime.artifact import Artifact
from tests.support.compiler.machines.cpu.compressed import (
    Weights,
    compiled,
    compiled_with_codes,
    constant_types,
    run,
)
from tests.support.compiler.operators.operators import numbers, same
from tests.support.compiler.quantise.quantised_reference import reference
from tests.support.examples import examples

HOST = CpuTarget.host(1)
TARGETS = {
    "host": HOST,
    "avx2": HOST.without("avx512f"),
    "least": HOST.without("avx", "avx2", "avx512f", "fma"),
}
FREE = WeightFormat("free", 4, (7, -128, 3, 99, *range(-5, 7)), scaled=True)
REQUANTISED = "  y = requantise(d, int32[](3), int64[](7), shift=9, low=-128, high=127)\n"


def body(attributes: str, after: str = "  y = identity(d)\n", bias: str = "") -> str:
    operands = ", ".join(("x", "w", *([bias] if bias else [])))
    return f"  d = conv2d({operands}, {attributes})\n{after}  return y\n"


def check(
    weights: Weights,
    shape: tuple[int, ...],
    dtype: str,
    target: CpuTarget,
    text: str,
    *,
    packed: bool = True,
) -> Artifact:
    """Compare a convolution with NumPy's of the widened weights; the artifact."""
    bias = numbers(2, (weights.codes.shape[0],), "int32")
    params = f"x: {dtype}{list(shape)}, b: int32[{bias.size}]"
    artifact = compiled_with_codes(weights.graph(params, text), target)
    x = numbers(1, shape, dtype)
    found = run(artifact, {"x": x, "b": bias})["y"]
    values = f"w: int8{list(weights.values.shape)}"
    plain = parse_function(f"func @f({params}, {values}):\n{text}", OPERATORS)
    same(found, reference(plain, [x, bias, weights.values])["y"])
    assert ("int8" in constant_types(artifact)) == (not packed), "codes are packed into bytes"
    return artifact


PADDED = body("padding=[1, 0, 1, 2], strides=[2, 1]")


@pytest.mark.parametrize("form", [*FORMATS, FREE], ids=lambda form: form.name)
def test_every_format(form: WeightFormat) -> None:
    check(Weights.windows(form, (40, 80, 3, 2), 32), (1, 80, 7, 5), "int8", HOST, PADDED)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("form", [INT4, BINARY], ids=lambda form: form.name)
def test_other_instructions(form: WeightFormat, target: CpuTarget) -> None:
    check(Weights.windows(form, (40, 40, 3, 2), 8), (1, 40, 5, 4), "int8", target, PADDED)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_unsigned_data(target: CpuTarget) -> None:
    check(Weights.windows(INT4, (20, 24, 3, 3), 8), (2, 24, 5, 4), "uint8", target, PADDED)


@given(data=st.data())
@examples(10, 100)
def test_any_shape(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from([*FORMATS, FREE]))
    height, width, stride, dilation = (data.draw(st.integers(1, 3)) for _ in range(4))
    outputs, inputs = (data.draw(st.integers(2, 70)) for _ in range(2))
    rows, columns = (data.draw(st.integers(7, 15)) for _ in range(2))
    group = data.draw(st.sampled_from([8, 16, 32, 64, inputs]))
    padding = [data.draw(st.integers(0, 2)) for _ in range(4)]
    target = data.draw(st.sampled_from([*TARGETS.values()]))
    weights = Weights.windows(form, (outputs, inputs, height, width), group, rows)
    text = body(f"padding={padding}, strides=[{stride}, 1], dilation=[{dilation}, {dilation}]")
    depth = {1: 32, 2: 16, 4: 8}[form.bits]
    fits = inputs <= group or not form.scaled or group % depth == 0
    check(weights, (1, inputs, rows, columns), "int8", target, text, packed=fits)


@pytest.mark.parametrize("size", [1, 3])
def test_bias_and_what_comes_after_are_in_the_kernel(size: int) -> None:
    weights = Weights.windows(TERNARY, (40, 64, 1, 1), 64)
    text = body("strides=[1, 1]", REQUANTISED, "b")
    artifact = check(weights, (2, 64, size, size), "int8", HOST, text)
    (step,) = artifact.manifest.steps
    assert step.operators == ("widen", "conv2d", "requantise")


@pytest.mark.parametrize("target", [HOST, TARGETS["avx2"]], ids=["host", "avx2"])
@pytest.mark.parametrize("beyond", [0, 1])
def test_few_pixels_read_codes_and_more_do_not(beyond: int, target: CpuTarget) -> None:
    weights = Weights.windows(INT4, (40, 64, 1, 1), 32)
    columns = most_pixels(target) + beyond
    artifact = compiled(weights.graph(f"x: int8[1, 64, 1, {columns}]", PLAIN), target)
    assert ("int8" in constant_types(artifact)) == (beyond > 0)
    (step,) = artifact.manifest.steps
    assert step.operators == (("conv2d",) if beyond else ("widen", "conv2d"))


def test_most_pixels_by_the_processor() -> None:
    found = {name: most_pixels(processor) for name, processor in PROCESSORS.items()}
    assert {name for name, most in found.items() if most > 1} == {"cortex-a55", "neoverse-n1"}
    assert {*found.values()} == {1, 4}
    assert most_pixels(TARGETS["avx2"]) == 1


def test_where_codes_gain() -> None:
    def gains(*shape: Extent, groups: int = 1) -> bool:
        return takes_codes(Conv2d(groups=groups), TensorType(shape, INT32), 4)

    assert gains(1, 99, 1, 4)
    assert gains(4, 99, 1, 1)
    assert not gains(1, 99, 1, 5)
    assert not gains(3, 99, 1, 2)
    assert not gains(0, 99, 1, 1)
    assert not gains(1, 99, 1, 1, groups=3)
    (param,) = parse_function("func @f(x: int32[N, 9, 1, 1]):\n  return x\n", OPERATORS).params
    assert not takes_codes(Conv2d(), param.type, 4)
    assert not takes_codes(Conv2d(), TupleType(()), 4)


def refusal(weights: Weights, text: str, most: int) -> str:
    """Why the template refuses a layer."""
    function = weights.graph("x: int8[1, 64, 3, 3]", text)
    fused = transform(function, [Fuse(), InferTypes()])
    call = fused.body.lets[-1].value
    assert isinstance(call, Call)
    assert isinstance(call.callee, Function)
    template = CompressedConv2dOnCpu(lambda _: most)
    pattern = template.patterns[0 if weights.form.scaled else 2]
    result = call.callee.body.result
    assert isinstance(result, Var)
    found = KernelMatch(call, kernel_matcher(call).at(pattern, result.name))
    with pytest.raises(Refusal) as raised:
        template.bind(found, HOST)
    return str(raised.value)


PLAIN = "  d = conv2d(x, w)\n  return d\n"


def test_more_pixels_than_gain_are_refused() -> None:
    weights = Weights.windows(INT4, (40, 64, 1, 1), 32)
    wanted = "a result int32[1, 40, 3, 3]: codes are read for 8 pixels or fewer, and where"
    assert wanted in refusal(weights, PLAIN, 8)


def test_groups_of_channels_are_refused() -> None:
    weights = Weights.windows(BINARY, (40, 32, 1, 1), 32)
    wanted = "9 pixels or fewer, and where all channels are in one group"
    assert wanted in refusal(weights, PLAIN.replace("w)", "w, groups=2)"), 9)


def test_products_that_leave_int8_are_computed_from_widened_weights() -> None:
    weights = Weights.windows(NF4, (40, 64, 1, 1), 32)
    weights.scales[3, 1] = 15
    message = refusal(weights, PLAIN, 9)
    assert message == "output 3 has a product of an entry and a scale that is no int8"


def test_groups_that_end_within_registers_are_refused() -> None:
    weights = Weights.windows(INT4, (40, 64, 1, 1), 10)
    wanted = "groups of 10 weights, which are widened 8 at a time"
    assert wanted in refusal(weights, PLAIN, 9)
