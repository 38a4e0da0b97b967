"""What layers that state their scales become stays what it was: the integer graph, and the reasons
of what is left in real numbers.

Other tests say that values are right; these say which form of a layer is taken, and which is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tandem.compiler.driver.compile_onnx import PreparedNetwork, prepare_network
from tandem.compiler.errors import CompilerError
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import all_lets, functions
from tandem.compiler.machines.defaults import compile_options
from tandem.runtime.artifact import Provenance
from tests.support.compiler.quantise.random_stated_layers import FORMS, Numbers, stated_layer
from tests.support.compiler.rounded_text import rounded_text

DRAWS = 5
"""Layers of each kind and form."""


def _numbers(random: np.random.Generator) -> Numbers:
    """Types and zero points: in the middle or off it, one or several."""
    data, weight = random.choice(["uint8", "int8"], 2)
    middles = {"uint8": 128, "int8": 0}

    def zero(kind: str) -> int:
        return middles[kind] + int(random.choice((0, 0, 1, -7, 100)))

    zeros = [zero(weight) for _ in range(int(random.choice((1, 1, 3))))]
    return Numbers(str(data), zero(data), str(weight), tuple(zeros))


def _said(network: PreparedNetwork) -> str:
    lines = [text(network.function), *map(text, network.function.definitions)]
    for one in functions(network.function):
        for let in all_lets(one.body):
            lines += [f"{let.name} {let.source}: {reason}" for reason in let.reasons]
    lines += [f"{name} {scale}" for name, scale in network.scales.items()]
    return "\n".join(lines)


def _layers(kind: str, form: str) -> str:
    found = []
    for seed in range(DRAWS):
        random = np.random.default_rng([seed, len(kind), len(form)])
        numbers, relu = _numbers(random), bool(random.integers(2))
        layer = stated_layer(kind, form, numbers, relu, seed)
        found.append(f"{numbers} {relu}")
        try:
            found.append(
                _said(prepare_network(layer.model, Provenance("layer"), compile_options()))
            )
        except CompilerError as error:
            found.append(f"{type(error).__name__}: {error}")
    # Multipliers have four digits.
    return rounded_text("\n".join(found), long=4)


def test_stated_layers(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    recorded(
        "recorded/quantise/stated_layers.txt",
        {
            f"{kind} as {form}": _layers(kind, form)
            for kind, forms in FORMS.items()
            for form in forms
        },
    )
