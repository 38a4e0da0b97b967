"""Matches of kernels: what they say of operands, and what templates do by default."""

from __future__ import annotations

from typing import Any

import numpy as np

from tandem.compiler.graph import (
    Atom,
    Body,
    Call,
    Constant,
    Function,
    FunctionKind,
    Let,
    Param,
    TensorType,
    Var,
)
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.layouts.layout import image_blocks
from tandem.compiler.plan.pattern import Match
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.plan.space import Space
from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.compiler.te.knobs import Choice
from tests.support.compiler.tune.tuning import EvenNumbers

BLOCKS = image_blocks(1, 4)
DATA = TensorType((2, 8, 3, 3), INT8, BLOCKS)
SKIP = TensorType((2, 4), INT32)
WEIGHT = Constant(np.zeros((5, 7), np.int8))
RESULT = TensorType((2, 5), INT32)


def found() -> KernelMatch:
    last = Let("y", Call(OPERATORS["relu"], (Var("p0"),)), RESULT)
    kernel = Function(
        "k",
        (Param("p0", DATA), Param("p1", WEIGHT.type), Param("p2", SKIP)),
        Body((last,), Var("y")),
        RESULT,
        FunctionKind.KERNEL,
    )
    operands: dict[str, Atom] = {"data": Var("p0"), "weight": WEIGHT, "skip": Var("p2")}
    return KernelMatch(Call(kernel, (Var("x"), WEIGHT, Var("z"))), Match((last,), operands))


def test_types_are_as_stored() -> None:
    match = found()
    assert match.kernel.name == "k"
    assert match.type_of("skip") == SKIP
    assert match.type_of("weight") == TensorType((5, 7), INT8)
    # Two blocks of 4 channels of 2 images.
    assert match.shape("data") == (2, 2, 3, 3, 1, 4)
    assert match.shape("weight") == (5, 7)
    assert match.result_shape == (2, 5)
    assert match.tensors == {"data": "x", "skip": "z"}


class Repeated(TunedChoices):
    """The workload as a choice."""

    def choice(self, template: Any, workload: Any) -> Choice | None:
        return {"template": template.name, "workload": workload}


def test_defaults() -> None:
    template: EvenNumbers = EvenNumbers()
    assert (template.joins, template.is_fallback, template.only_recorded) == (False,) * 3
    match: Any = None
    assert template.wide_space("w", None) is None
    assert template.wide_choice("w", {}, None) is None
    assert template.stored("w", None) == {}
    assert template.layout(match, "data", lambda name: (), None) is None
    assert template.repacked(match, lambda name: (), None) == ()
    choices = Space({"x": (1, 2)}).choices()
    assert template.shortlist("w", choices, None) is choices
    assert template.no_fit_reason("w", choices, None) == "no choice for even_numbers fits"
    chosen = template.recorded_choice("w", None, Repeated())
    assert chosen == {"template": "even_numbers", "workload": "w"}
    assert Arguments() == Arguments({}, {}, {}, "")
