"""Small networks, each with an operator that stays on the CPU for another reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.driver import build
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.samples import synthetic
from tandem.runtime.artifact import Provenance
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import HOST
from tests.support.compiler.quantise.networks import network

_RUN = NativeRunner()
_EXACT_ON = compile_options().exact_on


@dataclass(frozen=True, eq=False)
class ReasonCase:
    """A network of parameters x.. and random constants, and a machine that does not do all of it.

    Attributes
    ----------
    title
        What the network is.
    operator
        The operator on the CPU.
    head, lines
        Parameters and body of the function, in the graph's text form; the result is `y`.
    quantised
        Whether the network is in integers already, or stays in real numbers.
    """

    title: str
    operator: str
    head: str
    lines: str
    config: str = "tiny"
    quantised: bool = False
    given: dict[str, NDArray[Any]] = field(default_factory=dict)

    def reason(self) -> str:
        """The reason of the step that computes the operator."""
        body = "".join(f"  {line.strip()}\n" for line in self.lines.split(";"))
        function = network(f"func @main({self.head}):\n{body}  return y", **self.given)
        if not self.quantised:
            samples = list(synthetic(function, 2))
            function = quantise_network(function, samples, _RUN, targets=_EXACT_ON).function
        targets: list[Target[Any]] = [accelerator(machine(self.config)), HOST]
        steps = build(function, targets, Provenance("reasons")).manifest.steps
        parts = [
            part
            for step in steps
            if step.on_host and self.operator in step.operators
            for part in step.reason.split("; ")
            if self.operator in part.split(": ")[0].split(", ")
        ]
        return "; ".join(dict.fromkeys(parts))


_IMAGE, _POINTS = "x: float32[1, 8, 4, 4]", "w: float32[8, 8, 1, 1]"
_CONV = "c = conv2d(x, w)"
_SCALES = "float32[8](1, 2, 3, 4, 5, 6, 7, 8), int8[8](0, 0, 0, 0, 0, 0, 0, 0)"


def _stated(name: str, of: str, step: str = "0.1", zero: int = 0) -> str:
    """A value rounded to a stated scale."""
    scale = f"float32[]({step}), int8[]({zero})"
    return f"{name}_q = quantise({of}, {scale}); {name} = dequantise({name}_q, {scale})"


CASES = (
    # What the accelerator does not have.
    ReasonCase(
        "real numbers between layers", "sigmoid", f"{_IMAGE}, {_POINTS}", f"{_CONV}; y = sigmoid(c)"
    ),
    ReasonCase(
        "the results of a network", "dequantise", f"{_IMAGE}, {_POINTS}", f"{_CONV}; y = relu(c)"
    ),
    ReasonCase(
        "a reshape that divides channels, between layers",
        "reshape",
        f"{_IMAGE}, {_POINTS}, v: float32[8, 4, 1, 1]",
        f"{_CONV}; r = reshape(c, shape=[1, 4, 8, 4]); y = conv2d(r, v)",
    ),
    ReasonCase("an embedding", "gather", "x: int64[1, 4], t: float32[9, 8]", "y = gather(t, x)"),
    ReasonCase(
        "a resize by 3/2", "gather", _IMAGE, "y = gather(x, int64[6](0, 0, 1, 2, 2, 3), axis=3)"
    ),
    ReasonCase(
        "an operator of integers without a template",
        "clip",
        "x: int8[1, 8, 4, 4]",
        "y = clip(x, min=0.0, max=9.0)",
        quantised=True,
    ),
    ReasonCase(
        "a network that is not quantised",
        "conv2d",
        f"{_IMAGE}, {_POINTS}",
        "y = conv2d(x, w)",
        quantised=True,
    ),
    ReasonCase(
        "a normalisation between real numbers",
        "batch_norm",
        f"{_IMAGE}, w: float32[8], b: float32[8], m: float32[8], variance: float32[8]",
        "e = exp(x); r = batch_norm(e, w, b, m, variance); y = exp(r)",
    ),
    # What quantisation refuses.
    ReasonCase(
        "weights that are an input",
        "conv2d",
        f"{_IMAGE}, xw: float32[8, 8, 1, 1]",
        "y = conv2d(x, xw)",
    ),
    ReasonCase(
        "a bias that is an input",
        "conv2d",
        f"{_IMAGE}, {_POINTS}, xb: float32[8]",
        "y = conv2d(x, w, xb)",
    ),
    ReasonCase(
        "a bias for each row",
        "gemm",
        "x: float32[2, 8], w: float32[8, 8], c: float32[2, 1]",
        "y = gemm(x, w, c)",
    ),
    ReasonCase(
        "a scaled product",
        "gemm",
        "x: float32[1, 8], w: float32[8, 8]",
        "y = gemm(x, w, alpha=2.0)",
    ),
    ReasonCase(
        "a layer in float64",
        "conv2d",
        "x: float64[1, 8, 4, 4], w: float64[8, 8, 1, 1]",
        "y = conv2d(x, w)",
    ),
    ReasonCase(
        "140,000 weights of 1",
        "dense",
        "x: float32[1, 140000], w: float32[1, 140000]",
        "y = dense(x, w)",
        given={"w": np.ones((1, 140000), np.float32)},
    ),
    ReasonCase(
        "a product of 140,000 terms",
        "matmul",
        "x: float32[1, 1, 140000], x2: float32[1, 140000, 1]",
        "y = matmul(x, x2)",
    ),
    ReasonCase(
        "operands that are broadcast",
        "add",
        f"{_IMAGE}, {_POINTS}, x2: float32[1, 8, 1, 1]",
        f"{_CONV}; d = conv2d(x2, w); a = add(c, d); y = conv2d(a, w)",
    ),
    ReasonCase(
        "a constant on what is no layer",
        "add",
        f"{_IMAGE}, b: float32[8, 1, 1], {_POINTS}",
        "a = add(x, b); y = conv2d(a, w)",
    ),
    ReasonCase(
        "a clipped sum with a bias",
        "add",
        f"{_IMAGE}, {_POINTS}, b: float32[8, 1, 1]",
        f"{_CONV}; r = relu(c); a = add(r, b); y = conv2d(a, w)",
    ),
    ReasonCase(
        "windows with padding that does not count",
        "average_pool",
        f"{_IMAGE}, {_POINTS}",
        f"{_CONV}; y = average_pool(c, kernel=[2, 2], strides=[2, 2], padding=[1, 1, 1, 1])",
    ),
    ReasonCase("a relu of real numbers", "relu", f"{_IMAGE}", "s = sigmoid(x); y = relu(s)"),
    # What a QDQ model states.
    ReasonCase(
        "a layer without scales", "conv2d", f"{_IMAGE}, {_POINTS}", f"{_CONV}; {_stated('y', 'c')}"
    ),
    ReasonCase(
        "a scale of 1e-10 after one of 100",
        "conv2d",
        f"{_IMAGE}, {_POINTS}",
        f"{_stated('d', 'x', '100.0')}; c = conv2d(d, w); {_stated('y', 'c', '1e-10')}",
    ),
    ReasonCase(
        "a scale of 1e-12 and a bias",
        "conv2d",
        f"{_IMAGE}, q: int8[8, 8, 1, 1], b: float32[8]",
        f"{_stated('d', 'x', '1e-12')}; v = dequantise(q, float32[](0.1), int8[](0)); "
        f"c = conv2d(d, v, b); {_stated('y', 'c')}",
    ),
    ReasonCase(
        "a scale for each channel of the data",
        "quantise",
        f"{_IMAGE}",
        f"s = relu(x); y_q = quantise(s, {_SCALES}, axis=1); "
        f"y = dequantise(y_q, {_SCALES}, axis=1)",
    ),
    # Limits of templates and of machines.
    ReasonCase(
        "sums that are read as they are",
        "conv2d",
        "x: int8[1, 8, 4, 4], w: int8[8, 8, 1, 1]",
        "y = conv2d(x, w, out_dtype=int32)",
        quantised=True,
    ),
    ReasonCase(
        "a weight of 16 bits",
        "conv2d",
        "x: int8[1, 8, 4, 4], w: int16[8, 8, 1, 1]",
        "c = conv2d(x, w, out_dtype=int32); "
        "y = requantise(c, int32[1](1), int64[1](0), shift=4, low=-128, high=127)",
        quantised=True,
    ),
    ReasonCase(
        "a pool of three dimensions",
        "max_pool",
        "x: int8[1, 8, 4]",
        "y = max_pool(x, kernel=[2])",
        quantised=True,
    ),
    ReasonCase(
        "a cast to int16", "cast", "x: int8[1, 8, 4, 4]", "y = cast(x, to=int16)", quantised=True
    ),
    ReasonCase(
        "a multiplier of 31 bits",
        "conv2d",
        "x: int8[1, 8, 4, 4], w: int8[8, 8, 1, 1]",
        "c = conv2d(x, w, out_dtype=int32); "
        "y = requantise(c, int32[1](2147483647), int64[1](0), shift=31, low=-128, high=127)",
        quantised=True,
    ),
    ReasonCase(
        "a stack that is broadcast",
        "matmul",
        "x: float32[2, 3, 4, 8], x2: float32[3, 8, 4]",
        "y = matmul(x, x2)",
    ),
    ReasonCase(
        "activations on a machine of batch 2",
        "matmul",
        "x: float32[2, 4, 8], x2: float32[2, 8, 4]",
        "y = matmul(x, x2)",
        config="batch2",
    ),
    ReasonCase(
        "a resize by 13 x 5",
        "upsample",
        "x: int8[1, 8, 4, 4]",
        "y = upsample(x, factors=[13, 5])",
        quantised=True,
    ),
    ReasonCase(
        "windows of 19 x 19 on a tiny machine",
        "max_pool",
        "x: int8[1, 8, 20, 20]",
        "y = max_pool(x, kernel=[19, 19])",
        quantised=True,
    ),
    ReasonCase(
        "parts that are no whole blocks",
        "concat",
        f"{_IMAGE}, w: float32[5, 8, 1, 1], u: float32[5, 8, 1, 1], v: float32[8, 10, 1, 1]",
        "a = conv2d(x, w); b = conv2d(x, u); c = concat(a, b, axis=1); y = conv2d(c, v)",
    ),
)
"""A network for each limit."""
