"""Networks that state their own scales, as QDQ models do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tandem.compiler.graph import Atom, Body, Call, Constant, Function, Let, Tuple, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.quantised import Dequantise, Quantise
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import map_atoms
from tandem.compiler.ir import INT8, UINT8
from tandem.compiler.quantise.forms import Scale


def with_stated_scales(
    function: Function, scales: Mapping[str, Scale], rng: np.random.Generator
) -> Function:
    """The function with QDQ pairs of random zero points and about the given scales after values
    that have a scale, and for weights; the result may stay quantised.
    """
    lets: list[Let] = []
    renamed: dict[str, Atom] = {}
    unsigned = bool(rng.random() < 0.3)

    def add(name: str, operator: str, *args: Atom, to: Quantise | Dequantise) -> Var:
        lets.append(Let(name, Call(OPERATORS[operator], args, to)))
        return Var(name)

    def through(name: str) -> None:
        if name not in scales:
            return
        step = Constant(np.array(scales[name].step * rng.choice([1.0, 1.0, 0.7, 1.9]), np.float32))
        zero = int(rng.choice([0, 0, -3, 17, -128, 100])) + 128 * unsigned
        kind = UINT8 if unsigned else INT8
        numbers = step, Constant(np.array(zero, kind.numpy))
        small = add(f"{name}_q", "quantise", Var(name), *numbers, to=Quantise(to=kind))
        renamed[name] = add(f"{name}_dq", "dequantise", small, *numbers, to=Dequantise())

    def weights(name: str, given: Constant) -> Var:
        axes = tuple(range(1, given.array.ndim))
        largest = np.abs(given.array).max(axis=axes, keepdims=True)
        if rng.random() < 0.4:
            largest = np.full_like(largest, largest.max())
        step = (np.where(largest > 0, largest, 127) / 127).astype(np.float32)
        small = np.clip(np.rint(given.array / step), -128, 127).astype(np.int8)
        numbers = Constant(step.reshape(-1)), Constant(np.zeros(step.size, np.int8))
        return add(f"{name}_w", "dequantise", Constant(small), *numbers, to=Dequantise(0))

    def renaming(atom: Atom) -> Atom:
        return renamed.get(atom.name, atom) if isinstance(atom, Var) else atom

    for param in function.params:
        through(param.name)
    for let in function.body.lets:
        value = let.value if isinstance(let.value, Tuple) else map_atoms(let.value, renaming)
        match value:
            case Call(args=(data, Constant() as weight, *rest)) if weight.array.ndim in (2, 4):
                value = replace(value, args=(data, weights(let.name, weight), *rest))
            case _:
                pass
        lets.append(replace(let, value=value))
        through(let.name)
    result = function.body.result
    if isinstance(result, Var) and result.name in renamed and rng.random() < 0.4:
        result = Var(f"{result.name}_q")
    found = replace(function, body=Body(tuple(lets), result), result=None)
    verify(found)
    return found
