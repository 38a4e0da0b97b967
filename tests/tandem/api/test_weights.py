"""The arguments of compressed weights: what they become, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tandem.api.weights import weight_options
from tandem.compiler.quantise.weight_kinds import WeightKind
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError


def options(
    weights: object = "int8",
    weights_of: object = None,
    group: Any = None,
    max_loss: object = None,
    *,
    smooth: bool = False,
    calibrated: bool = False,
    quantised: bool = True,
) -> WeightOptions:
    return weight_options(
        *(weights, weights_of, group, max_loss),
        smooth=smooth,
        calibrated=calibrated,
        quantised=quantised,
    )


def test_plain_weights() -> None:
    assert options() is INT8_WEIGHTS
    assert options(calibrated=True, quantised=False) is INT8_WEIGHTS
    assert options(smooth=True) == WeightOptions(smooth=True)


def test_formats() -> None:
    int4, int8 = WeightKind.INT4, WeightKind.INT8
    assert options("int4") == WeightOptions(int4, 32)
    assert options("int4", group=np.int64(64), max_loss=2, calibrated=True) == WeightOptions(
        int4, 64, 2.0, True
    )
    assert options("int4", max_loss=0).max_loss == 0
    rules = (WeightRule("a*", int4, 16), WeightRule("b", int8))
    found = options(weights_of={"a*": "int4/16", "b": "int8"}, group=128, smooth=True)
    assert found == WeightOptions(int8, 128, None, False, True, rules)
    # A rule of int8 alone asks for int8, and is kept.
    assert options(weights_of={"b": "int8"}).rules == rules[1:]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": "int5"}, "no weights 'int5': there are int8, int4"),
        ({"group": 32}, "weight_group and max_loss are for other weights than 'int8'"),
        ({"max_loss": 1.0}, "weight_group and max_loss are for other weights than 'int8'"),
        (
            {"weights_of": {"a": "int8"}, "max_loss": 1.0},
            "weight_group and max_loss are for other weights than 'int8'",
        ),
        ({"weights": "int4", "group": 8}, "weight_group is 8: 16, 32, 64, 128 are allowed"),
        ({"weights": "int4", "max_loss": -1}, "max_loss is -1: decibels, 0 or more, are allowed"),
        ({"weights": "int4", "max_loss": "1"}, "max_loss is '1': decibels"),
        ({"weights": "int4", "max_loss": float("nan")}, "max_loss is nan: decibels"),
        (
            {"weights": "int4", "quantised": False},
            "weights and smooth are for quantize='multiplier' and 'pow2'",
        ),
        ({"smooth": True, "quantised": False}, "weights and smooth are for quantize='multiplier'"),
        ({"weights_of": {"a": "int5"}}, "weights_of: weights of a: 'int5' is no format"),
    ],
)
def test_values_that_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{re.escape(message)}"):
        options(**arguments)


@pytest.mark.parametrize(
    ("weights_of", "message"),
    [
        ("int4", "weights_of is str: a mapping from names of layers to formats is allowed"),
        ({"a": 4}, "weights_of has 'a': 4; strings are allowed"),
        ({4: "int4"}, "weights_of has 4: 'int4'; strings are allowed"),
    ],
)
def test_types_that_are_refused(weights_of: object, message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"^{re.escape(message)}$"):
        options(weights_of=weights_of)
