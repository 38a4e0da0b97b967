"""Layers on the processor: their functions stand for operators, and are called as these are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

import pytest

from tandem.compiler.machines.cpu.templates.computed_conv2d import ComputedConv2dOnCpu
from tandem.compiler.machines.cpu.templates.conv2d import Conv2dOnCpu
from tandem.compiler.machines.cpu.templates.dense import DenseOnCpu
from tandem.compiler.machines.cpu.templates.depthwise import DepthwiseOnCpu
from tandem.compiler.machines.cpu.templates.depthwise_dots import DottedDepthwiseOnCpu
from tandem.compiler.machines.cpu.templates.layer import LayerOnCpu
from tandem.compiler.machines.cpu.templates.matmul import ComputedMatmulOnCpu, MatmulOnCpu
from tandem.compiler.machines.cpu.templates.winograd import WinogradOnCpu
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.operators.matmul import dense, matmul

OPERATORS: Mapping[type[LayerOnCpu], Callable[..., Any]] = {
    Conv2dOnCpu: conv2d,
    ComputedConv2dOnCpu: conv2d,
    DepthwiseOnCpu: conv2d,
    DottedDepthwiseOnCpu: conv2d,
    WinogradOnCpu: conv2d,
    DenseOnCpu: dense,
    MatmulOnCpu: matmul,
    ComputedMatmulOnCpu: matmul,
}


def defaults(function: Callable[..., Any]) -> Mapping[str, Any]:
    found = signature(function).parameters.values()
    return {each.name: each.default for each in found if each.default is not Parameter.empty}


@pytest.mark.parametrize("template", OPERATORS, ids=lambda template: template.name)
def test_what_is_left_out_is_as_the_operator_has_it(template: type[LayerOnCpu]) -> None:
    wanted, found = defaults(OPERATORS[template]), defaults(template.packed)
    shared = wanted.keys() & found.keys()
    assert shared
    assert {name: found[name] for name in shared} == {name: wanted[name] for name in shared}
