"""What the import makes of ONNX's node tests with a damage, and how it refuses them, stays what it
was: the graph, and the loops of each of its operators.

Other tests compare results with ONNX's; here are the refusals, the defaults of what is left out,
and the operands that nobody gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

import numpy as np
from onnx import ModelProto
from onnx.backend.test.case.test_case import TestCase

from tandem.compiler.errors import CompilerError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.frontends.onnx.node import qualified_name
from tandem.compiler.graph import Atom, Call, Constant, Function, TensorType, Type
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import symbols_of
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.ir.printer import text as loops
from tandem.compiler.te import Tensor, placeholder
from tandem.compiler.te.build import program_of
from tests.support.compiler.frontends.attention_nodes import ATTENTION, GROUPED, MULTI_HEAD, ROTARY
from tests.support.compiler.frontends.damaged_models import (
    damaged_model,
    damaged_values,
    with_bounded_axis,
    with_symbols,
)
from tests.support.compiler.frontends.fused_nodes import DYNAMIC, FUSED, NORMALISATIONS
from tests.support.compiler.frontends.onnx_nodes import array_of, chosen_cases
from tests.support.compiler.frontends.random_nodes import NODES
from tests.support.compiler.frontends.runtime_nodes import QUANTISED
from tests.support.compiler.frontends.runtime_runs import feeds_of, model_of

CASES = 2
"""Node tests of an operator."""
FORMS = 4
"""Of each of them: as it is, damaged, with symbols, with a bounded axis."""
DRAWS = 3
"""Random nodes of an operator; four times as many of those with most choices."""
_MANY = {**ATTENTION, **MULTI_HEAD, **GROUPED, **ROTARY}
_NODES = {**NODES, **QUANTISED, **FUSED, **NORMALISATIONS, **DYNAMIC, **_MANY}


def _of_case(case: TestCase, seed: int) -> str:
    """The graph, or the refusal; inputs have values for every second operator alone."""
    assert case.model is not None
    assert case.data_sets is not None
    given, _ = case.data_sets[0]
    names = (each.name for each in case.model.graph.input)
    arrays = dict(zip(names, map(array_of, given), strict=True))
    known = {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}
    return _imported(case.name, case.model, known if len(case.name) % 2 else {}, seed)


def _imported(name: str, whole: ModelProto, offered: Mapping[str, Any], seed: int) -> str:
    """What becomes of a model: as it is, with a damage in it or in the values of its inputs, with
    extents that are symbols, and with one that a mask decides."""
    rng = Random(f"{name} {seed}")
    damage, model = "as it is", whole
    match seed:
        case 1 if offered and rng.random() < 0.3:
            damage, offered = damaged_values(rng, offered)
        case 1:
            damage, model = damaged_model(rng, whole)
        case 2:
            damage, model = with_symbols(rng, whole)
        case 3:
            damage, model = with_bounded_axis(rng, whole)
    try:
        imported = import_model(model, offered=offered)
    except CompilerError as error:
        # What ONNX itself says depends on its version.
        said = str(error).partition("the model is not legal: ")
        return f"{name}, {damage}: {type(error).__name__}: {said[0]}{said[1]}"
    function = imported.function
    lines = [f"{name}, {damage}", text(function), *map(text, function.definitions)]
    return "\n".join([*lines, *_programs(function)])


def _programs(function: Function) -> Iterator[str]:
    """The loops of each operator whose operands have static shapes."""
    types = infer(function)
    for let in all_lets(function.body):
        match let.value:
            case Call(callee=OpSpec() as spec, args=args, attributes=attributes):
                given = [_type(each, types) for each in args]
                if any(map(symbols_of, given)):
                    continue
                inputs = [_input(number, each) for number, each in enumerate(given)]
                yield loops(program_of(spec.compute(let.name, inputs, attributes), inputs))


def _type(atom: Atom, types: Mapping[str, Type]) -> Type:
    return atom.type if isinstance(atom, Constant) else types[atom.name]


def _input(number: int, type_: Type) -> Tensor:
    assert isinstance(type_, TensorType), "operators take tensors"
    return placeholder(type_.static_shape("x"), type_.dtype, f"x{number}")


def test_damaged_nodes(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    """A line for each operator."""
    found: dict[str, list[str]] = {}
    for case in chosen_cases(CASES):
        assert case.model is not None
        operator = qualified_name(case.model.graph.node[0])
        of_case = [_of_case(case, seed) for seed in range(FORMS)]
        found.setdefault(operator, []).extend(of_case)
    recorded(
        "recorded/frontends/damaged_nodes.txt",
        {operator: "\n".join(of_operator) for operator, of_operator in sorted(found.items())},
    )


def test_damaged_random_nodes(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    """Operators of ONNX and of ONNX Runtime, some of whose operands are initialisers."""
    found = {}
    for kind, draw in sorted(_NODES.items()):
        said = []
        for seed in range(DRAWS * (4 if kind in _MANY else 1)):
            random = np.random.default_rng([seed, len(kind)])
            node = draw(random)
            known = [at for at in range(len(node.operands)) if random.random() < 0.5]
            model = model_of(node, known)
            feeds = feeds_of(node, model)
            said += [_imported(f"{kind} {seed}", model, feeds, each) for each in range(FORMS)]
        found[kind] = "\n".join(said)
    recorded("recorded/frontends/damaged_random_nodes.txt", found)
