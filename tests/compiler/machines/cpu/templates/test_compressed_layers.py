"""Dense layers of compressed weights equal those of the widened weights, in every bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import Refusal
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Call, Function, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.passes.fuse import Fuse
from tandem.compiler.graph.passes.infer_types import InferTypes
from tandem.compiler.graph.passes.pipeline import transform
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.templates.compressed_layers import CompressedDenseOnCpu
from tandem.compiler.plan.planner import kernel_matcher
from tandem.compiler.plan.schedule_template import KernelMatch
from tandem.hw.weight_formats import FORMATS, INT4, NF4, TERNARY, WeightFormat
from tests.support.compiler.machines.cpu.compressed import Weights, compiled, run
from tests.support.compiler.operators.operators import numbers, same
from tests.support.examples import examples

HOST = CpuTarget.host(1)
TARGETS = {
    "host": HOST,
    "avx2": HOST.without("avx512f"),
    "least": HOST.without("avx", "avx2", "avx512f", "fma"),
}
FREE = WeightFormat("free", 4, (7, -128, 3, 99, *range(-5, 7)), scaled=True)
DENSE = "  d = dense(x, w)\n  return d\n"


def check(weights: Weights, rows: int, dtype: str, target: CpuTarget, packed: bool = True) -> None:
    x = numbers(1, (rows, weights.codes.shape[1]), dtype)
    params = f"x: {dtype}[{rows}, {x.shape[1]}]"
    artifact = compiled(weights.graph(params, DENSE), target)
    found = run(artifact, {"x": x})["d"]
    same(found, x.astype(np.int32) @ weights.values.astype(np.int32).T)
    (step,) = artifact.manifest.steps
    assert step.operators == ("widen", "dense")
    held = {each.dtype for each in artifact.manifest.tensors if each.name.startswith("constant")}
    assert ("int8" in held) == (not packed), "codes are packed into bytes"


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("form", [*FORMATS, FREE], ids=lambda form: form.name)
def test_every_format(form: WeightFormat, dtype: str, target: CpuTarget) -> None:
    check(Weights.draw(form, (70, 147), 32), 3, dtype, target)


@given(data=st.data())
@examples(8, 80)
def test_any_shape(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from([*FORMATS, FREE]))
    extents = st.integers(2, 90)
    rows, outputs, inputs = (data.draw(extents) for _ in range(3))
    group = data.draw(st.sampled_from([8, 16, 32, 64, 128, inputs]))
    target = data.draw(st.sampled_from([*TARGETS.values()]))
    check(Weights.draw(form, (outputs, inputs), group, data.draw(extents)), rows, "int8", target)


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_what_comes_before_and_after_is_in_the_kernel(rows: int) -> None:
    weights = Weights.draw(INT4, (40, 64), 16)
    text = """  q = quantise(x, float32[](0.5), int8[](0))
  d = dense(q, w, b)
  y = requantise(d, int32[](3), int64[](7), shift=9, low=-128, high=127)
  return y
"""
    function = weights.graph(f"x: float32[{rows}, 64], b: int32[40]", text)
    x, b = numbers(1, (rows, 64)) * 20, numbers(2, (40,), "int32")
    found = run(compiled(function, HOST), {"x": x, "b": b})["y"]
    codes = np.clip(np.round(x / np.float32(0.5)), -128, 127).astype(np.int64)
    sums = codes @ weights.values.T.astype(np.int64) + b
    same(found, np.clip((sums * 3 + 7) >> 9, -128, 127).astype(np.int8))


def test_two_layers_share_weights() -> None:
    weights = Weights.draw(TERNARY, (40, 64), 64)
    body = "  d = dense(x, w)\n  e = dense(y, w)\n  o = (d, e)\n  return o\n"
    artifact = compiled(weights.graph("x: int8[1, 64], y: int8[1, 64]", body), HOST)
    arrays = {"x": numbers(1, (1, 64), "int8"), "y": numbers(2, (1, 64), "int8")}
    found = run(artifact, arrays)
    for name, result in zip("xy", "de", strict=True):
        same(found[result], arrays[name].astype(np.int32) @ weights.values.astype(np.int32).T)
    assert [step.operators for step in artifact.manifest.steps] == [("widen", "dense")] * 2
    assert artifact.manifest.steps[0].inputs[1:] == artifact.manifest.steps[1].inputs[1:]


def refusal(weights: Weights, body: str = DENSE) -> str:
    """Why the template refuses a layer."""
    function = weights.graph("x: int8[1, 64]", body)
    fused = transform(function, [Fuse(), InferTypes()])
    call = fused.body.lets[-1].value
    assert isinstance(call, Call)
    template = CompressedDenseOnCpu()
    pattern = template.patterns[0 if weights.form.scaled else 2]
    assert isinstance(call.callee, Function)
    result = call.callee.body.result
    assert isinstance(result, Var)
    found = KernelMatch(call, kernel_matcher(call).at(pattern, result.name))
    with pytest.raises(Refusal) as raised:
        template.bind(found, HOST)
    return str(raised.value)


def test_products_that_leave_int8_are_computed_from_widened_weights() -> None:
    weights = Weights.draw(NF4, (40, 64), 32, largest=15)
    assert "has a product of an entry and a scale that is no int8" in refusal(weights)
    check(weights, 3, "int8", HOST, packed=False)


def test_groups_that_end_within_registers_are_refused() -> None:
    weights = Weights.draw(INT4, (40, 64), 10)
    assert "groups of 10 weights, which are widened 8 at a time" in refusal(weights)
    check(weights, 3, "int8", HOST, packed=False)


def test_convolutions_are_packed_widened() -> None:
    weights = Weights.draw(INT4, (24, 9 * 16), 16)
    codes = weights.codes.reshape(24, 9, 16).transpose(0, 2, 1).reshape(24, 16, 3, 3)
    scales = weights.scales.reshape(24, 1, 3, 3)
    values = weights.values.reshape(24, 9, 16).transpose(0, 2, 1).reshape(24, 16, 3, 3)
    image = replace(weights, codes=codes.copy(), scales=scales.copy(), values=values)
    x = numbers(1, (1, 16, 9, 7), "int8")
    body = "  y = conv2d(x, w, padding=[1, 1, 1, 1])\n  return y\n"
    artifact = compiled(image.graph("x: int8[1, 16, 9, 7]", body), HOST)
    plain = parse_function(
        "func @f(x: int8[1, 16, 9, 7], w: int8[24, 16, 3, 3]):\n" + body, OPERATORS
    )
    same(run(artifact, {"x": x})["y"], np.asarray(evaluate(plain, [x, values])))
    assert {each.dtype for each in artifact.manifest.tensors} == {"int8", "int32"}


def test_weights_are_stored_in_few_bits() -> None:
    weights = Weights.draw(INT4, (1024, 1024), 32)
    artifact = compiled(weights.graph("x: int8[1, 1024]", DENSE), HOST)
    held = sum(array.nbytes for array in artifact.constants.values())
    excess = 4 * 1024
    assert held <= 1.1 * (weights.values.size * weights.form.bits_per_weight(32) / 8 + excess)
