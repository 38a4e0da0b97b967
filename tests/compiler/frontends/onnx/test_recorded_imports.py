"""What the import makes of ONNX's node tests with a damage, and how it refuses them, stays what it
was.

Other tests compare results with ONNX's; here are the refusals, the defaults of what is left out,
and the operands that nobody gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
from onnx.backend.test.case.test_case import TestCase

from tandem.compiler.errors import CompilerError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.frontends.onnx.node import qualified_name
from tandem.compiler.graph.printer import text
from tests.support.compiler.frontends.damaged_models import damaged_model
from tests.support.compiler.frontends.onnx_nodes import array_of, chosen_cases

CASES = 3
"""Node tests of an operator."""
DAMAGES = 5
"""Of each of them."""


def _imported(case: TestCase, seed: int) -> str:
    """The graph, or the refusal; of every second case inputs that need not be known are inputs."""
    rng = Random(f"{case.name} {seed}")
    assert case.model is not None
    assert case.data_sets is not None
    damage, model = damaged_model(rng, case.model) if seed else ("as it is", case.model)
    offered: dict[str, Any] = {}
    given, _ = case.data_sets[0]
    for name, each in zip(case.model.graph.input, given, strict=True):
        array = array_of(each)
        if isinstance(array, np.ndarray):
            offered[name.name] = array
    try:
        imported = import_model(model, offered=offered if seed % 2 == 0 else {})
    except CompilerError as error:
        return f"{case.name}, {damage}: {type(error).__name__}: {error}"
    return f"{case.name}, {damage}\n{text(imported.function)}"


def test_damaged_nodes(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    """A line for each operator."""
    found: dict[str, list[str]] = {}
    for case in chosen_cases(CASES):
        assert case.model is not None
        operator = qualified_name(case.model.graph.node[0])
        of_case = [_imported(case, seed) for seed in range(DAMAGES + 1)]
        found.setdefault(operator, []).extend(of_case)
    recorded(
        "recorded/frontends/damaged_nodes.txt",
        {operator: "\n".join(of_operator) for operator, of_operator in sorted(found.items())},
    )
