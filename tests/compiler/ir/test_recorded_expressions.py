"""What the analyses of indices find in random expressions stays what it was.

Other tests say that what they find is right; these say that it has not become less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from random import Random

from tandem.compiler.errors import IRError
from tandem.compiler.ir import BinaryOp, DType, Expr, UnaryOp
from tandem.compiler.ir.boxes import box, union
from tandem.compiler.ir.divisions import DivisionSimplifier, steps
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INDEX, INT8, INT32, UINT8, dtype_of
from tandem.compiler.ir.expr import binary, unary
from tandem.compiler.ir.interval import interval
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.linear import Linear, linear
from tandem.compiler.ir.linear_ops import negated
from tandem.compiler.ir.ops import cast, const
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.prove import contradictory, prove
from tandem.compiler.ir.simplify import simplify
from tests.support.compiler.ir.random_indices import (
    random_condition,
    random_index,
    random_ranges,
)

CASES = 960
_INNER, _OUTER = "ij", "op"


def _bounds(found: Interval) -> str:
    return f"[{found.low}, {found.high}]"


def _sum(value: Linear) -> str:
    terms = " + ".join(f"{factor} * ({text(atom)})" for atom, factor in value.terms)
    return f"{terms} + {value.constant}"


def _or_refused(result: Callable[[], object]) -> str:
    try:
        return str(result())
    except IRError as error:
        return f"{type(error).__name__}: {error}"


def _of_index(seed: int) -> str:
    rng = Random(f"index {seed}")
    names = _INNER + _OUTER
    expr = random_index(rng, names, rng.randint(2, 5), odd=seed % 2 == 0)
    ranges = random_ranges(rng, names)
    sums = DivisionSimplifier(ranges)
    value, divisor = linear(simplify(expr, ranges)), rng.randint(2, 12)
    quotient, remainder = sums.quotient(value, divisor), sums.remainder(value, divisor)
    parts = quotient.times(divisor) + remainder
    inner = {name: ranges.get(name, Interval(0, 3)) for name in _INNER}
    outer = {name: ranges[name] for name in _OUTER if name in ranges}
    other = random_index(rng, names, 2, odd=False)
    within = [rng.choice((5, 40, 1000))]
    boxes = [box([each], inner, outer, within) for each in (expr, other)]
    return "\n".join(
        [
            f"{text(expr)} in {', '.join(f'{n}: {_bounds(r)}' for n, r in ranges.items())}",
            f"simplified {text(simplify(expr, ranges))}",
            f"interval {_bounds(interval(expr, ranges))}",
            f"linear {_sum(linear(expr))}, divisor {value.divisor}, steps {steps(value, 8)}",
            f"// {divisor}: {_sum(quotient)}",
            f"% {divisor}: {_sum(remainder)}",
            f"merged {_sum(sums.merge_remainders(parts))}, exact {sums.exact(value)}",
            *(f"box {[text(e) for e in b.lower]} {b.shape}" for b in boxes),
            _or_refused(lambda: union(boxes, within, outer)),
        ]
    )


def test_indices(recorded: Callable[[str, Sequence[str]], None]) -> None:
    recorded("recorded/ir/indices.txt", [_of_index(seed) for seed in range(CASES)])


def _of_condition(seed: int) -> str:
    rng = Random(f"condition {seed}")
    ranges = random_ranges(rng, "ijkn")
    odd = seed % 3 == 0
    condition = random_condition(rng, "ijkn", rng.randint(1, 3), odd=odd)
    assuming = [random_condition(rng, "ijkn", 2, odd=odd) for _ in range(rng.randint(0, 3))]
    opposite = negated(condition)
    lines = [
        f"{text(condition)} given {[text(each) for each in assuming]}",
        f"in {', '.join(f'{n}: {_bounds(r)}' for n, r in ranges.items())}",
        f"simplified {text(simplify(condition, ranges))}",
        f"opposite {None if opposite is None else text(opposite)}",
        f"proved {prove(condition, ranges, assuming)} {prove(~condition, ranges, assuming)}",
        f"alone {prove(condition, ranges)} {prove(~condition, ranges)}",
    ]
    # Likely facts: of the form that schedules need.
    for _ in range(4):
        goal, *facts = (_inequality(rng) for _ in range(3))
        lines.append(
            f"{text(goal)} given {[text(each) for each in facts]}: {prove(goal, ranges, facts)}"
        )
    sums = [linear(random_index(rng, "ijk", 2, odd=False)) for _ in range(3)]
    lines.append(f"{[_sum(each) for each in sums]} contradictory {contradictory(sums)}")
    return "\n".join(lines)


def _inequality(rng: Random) -> Expr:
    low = random_index(rng, "ijk", 1, odd=False)
    return low * rng.randint(1, 4) < random_index(rng, "jkn", 1, odd=False) * 4 + rng.randint(0, 9)


def test_conditions(recorded: Callable[[str, Sequence[str]], None]) -> None:
    recorded("recorded/ir/conditions.txt", [_of_condition(seed) for seed in range(CASES)])


_TYPES = (BOOL, INT8, UINT8, INT32, INDEX, FLOAT32, *map(dtype_of, ("uint16", "float64")))


def _values(dtype: DType) -> Sequence[float]:
    if dtype == BOOL:
        return (False, True)
    if dtype.is_float:
        return (0.0, 1.0, -2.5, 0.5, 1.5, -7.0, 100.0, 2.75)
    ends = (dtype.low, dtype.high, dtype.low + 1, dtype.high - 1)
    return (*ends, 0, 1, 2, 3, 5, 7, *((-1, -3, -7) if dtype.low else (8, 31, 63)))


def _folded(make: Callable[..., Expr], *operands: object) -> str:
    return text(simplify(make(*operands)))


def _of_operations(dtype: DType) -> str:
    """Every operation on constants of a type: as it is folded, and what is refused."""
    lines = []
    for op in BinaryOp:
        if op is BinaryOp.POW:
            continue
        found = []
        for left, right in product(_values(dtype), repeat=2):
            a, b = const(left, dtype), const(right, dtype)
            found.append(_or_refused(partial(_folded, binary, op, a, b)))
        lines.append(f"{op.name} {' '.join(dict.fromkeys(found)) if len({*found}) == 1 else found}")
    exact = (UnaryOp.NEG, UnaryOp.NOT, UnaryOp.ABS)
    for operation in exact:
        values = [const(value, dtype) for value in _values(dtype)]
        found = [_or_refused(partial(_folded, unary, operation, value)) for value in values]
        lines.append(f"{operation.name} {found}")
    for target in _TYPES:
        values = [const(value, dtype) for value in _values(dtype)]
        found = [_or_refused(partial(_folded, cast, value, target)) for value in values]
        lines.append(f"cast {target} {found}")
    return "\n".join(lines)


def test_operations(recorded: Callable[[str, dict[str, str]], None]) -> None:
    recorded("recorded/ir/operations.txt", {str(each): _of_operations(each) for each in _TYPES})
