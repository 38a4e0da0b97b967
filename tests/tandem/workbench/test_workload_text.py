"""Workloads as texts: every template's can be told apart at a glance."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.compiler.graph.operators.reductions import MaxPool
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.dense import DenseWorkload
from tandem.compiler.machines.accelerator.templates.elementwise import ElementwiseWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import (
    AluPass,
    EpiloguePass,
    OperandKind,
)
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolWorkload
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.machines.accelerator.templates.products import Products
from tandem.compiler.machines.accelerator.templates.upsample import UpsampleWorkload
from tandem.compiler.tune.plain import to_plain
from tandem.hw.isa import AluOp
from tandem.workbench.workload_text import workload_text

PASSES: tuple[EpiloguePass, ...] = (
    AluPass(AluOp.ADD, "residual", OperandKind.ELEMENT),
    AluPass(AluOp.SHR, "shift"),
)


def convolution(
    strides: tuple[int, int] = (1, 1), groups: int = 1, passes: tuple[EpiloguePass, ...] = ()
) -> Conv2dWorkload:
    return Conv2dWorkload(
        (1, 16, 14, 14, 1, 16),
        (8, 16, 3, 3, 16, 16),
        strides,
        (1, 1, 1, 1),
        (1, 1),
        groups,
        passes,
    )


@pytest.mark.parametrize(
    ("workload", "text"),
    [
        (convolution(), "op 1x16x14x14 * 8x16x3x3"),
        (convolution((2, 2), passes=PASSES), "op 1x16x14x14 * 8x16x3x3 /2 ADD+residual SHR"),
        (convolution((2, 1), 4), "op 1x16x14x14 * 8x16x3x3 /2x1 groups 4"),
        (convolution(passes=(RequantisePass(),)), "op 1x16x14x14 * 8x16x3x3 REQUANTISE"),
        (
            DenseWorkload(Products(2, 63, 32, 1, 16, 16), (RequantisePass("residual"),)),
            "op 2x32 * 63x32 REQUANTISE+residual",
        ),
        (Products(2, 63, 32, 1, 16, 16), "op 2x32 * 63x32"),
        (
            MaxPoolWorkload((1, 4, 112, 112, 1, 16), MaxPool((3, 3), (2, 2))),
            "op 1x4x112x112 window 3x3 /2",
        ),
        (MaxPoolWorkload((1, 4, 8, 8, 1, 16), MaxPool((3, 3))), "op 1x4x8x8 window 3x3"),
        (UpsampleWorkload((1, 4, 8, 8, 1, 16), (2, 3)), "op 1x4x8x8 by 2x3"),
        (ElementwiseWorkload((1, 4, 8, 8, 1, 16), PASSES), "op 1x4x8x8 ADD+residual SHR"),
    ],
)
def test_texts(workload: Any, text: str) -> None:
    assert workload_text("op", to_plain(workload)) == text


@pytest.mark.parametrize("plain", [[1, 2], None, {"other": 3}, {"data": 7, "weight": {}}, "x"])
def test_what_another_version_wrote_is_json(plain: Any) -> None:
    assert workload_text("op", plain).startswith("op ")


def test_unknown_passes_are_json() -> None:
    text = workload_text("op", {"data": [1, 2], "passes": [{"is": "Other"}]})
    assert text == 'op 1x2 {"is":"Other"}'
