"""Programs as vectors of numbers, which a learned cost model reads."""

from __future__ import annotations

from math import log2, prod
from operator import mul
from typing import Final

import numpy as np

from tandem.compiler.ir.stmt import LoopKind, PrimFunc
from tandem.compiler.lower.program_features import AccessFeatures, NestFeatures, features
from tandem.compiler.plan.space import Floats

NESTS: Final = 3
"""The nests of most iterations that have numbers of their own."""
_DEPTHS: Final = 4
_ACCESSES: Final = 4
_WRITTEN = (LoopKind.UNROLLED, LoopKind.VECTORIZED)


def program_vector(program: PrimFunc, register_bits: int) -> Floats:
    """The numbers of a lowered program: totals, and those of the statements that run most often.

    All are logarithms of counts of instructions, elements and bytes, so that programs of several
    shapes are alike.
    """
    nests = features(program)
    dear = sorted(nests, key=lambda nest: -_instructions(nest, register_bits))[:NESTS]
    found = _totals(nests, register_bits)
    for nest in dear:
        found += _numbers(nest, register_bits)
    size = len(found) // (1 + len(dear)) if not dear else len(_numbers(dear[0], register_bits))
    found += [0.0] * (size * (NESTS - len(dear)))
    return np.array(found)


def written_out(program: PrimFunc, register_bits: int) -> int:
    """The statements of a lowered program after unrolling, in registers."""
    return sum(_statements(nest, register_bits) for nest in features(program))


def _totals(nests: tuple[NestFeatures, ...], register_bits: int) -> list[float]:
    instructions = [_instructions(nest, register_bits) for nest in nests]
    return [
        _log(len(nests)),
        _log(sum(instructions)),
        _log(max(instructions, default=0)),
        _log(sum(_statements(nest, register_bits) for nest in nests)),
        _log(sum(map(mul, [nest.conditions for nest in nests], instructions))),
        _log(sum(nest.iterations for nest in nests)),
    ]


def _numbers(nest: NestFeatures, register_bits: int) -> list[float]:
    serial = [count for _, kind, count in nest.loops if kind not in _WRITTEN]
    depths = ([*serial[-_DEPTHS:][::-1]] + [1] * _DEPTHS)[:_DEPTHS]
    accesses = sorted(nest.accesses, key=_weight)
    kept = accesses[:_ACCESSES]
    found = [
        _log(_instructions(nest, register_bits)),
        _log(_statements(nest, register_bits)),
        _log(nest.iterations_of(LoopKind.VECTORIZED)),
        _log(nest.iterations_of(LoopKind.UNROLLED)),
        _log(prod(serial)),
        float(nest.conditions),
        _log(sum(nest.operations.values()) / max(1, nest.iterations)),
        _log(nest.intensity),
        *(_log(count) for count in depths),
    ]
    for access in kept:
        found += _of_access(access)
    return found + [0.0] * (len(_of_access(kept[0])) * (_ACCESSES - len(kept)))


def _weight(access: AccessFeatures) -> tuple[int, int]:
    """Orders accesses: what is written first, then what touches most."""
    return -access.writes, -access.touched_bytes


def _of_access(access: AccessFeatures) -> list[float]:
    stride = -1.0 if access.stride is None else _log(abs(access.stride))
    return [float(access.writes), _log(access.touched_bytes), _log(access.reuse), stride]


def _instructions(nest: NestFeatures, register_bits: int) -> int:
    """The instructions of a statement in all iterations: a register of lanes is one."""
    lanes = nest.iterations_of(LoopKind.VECTORIZED)
    return nest.iterations // max(1, lanes) * _registers(nest, register_bits)


def _statements(nest: NestFeatures, register_bits: int) -> int:
    return nest.iterations_of(LoopKind.UNROLLED) * _registers(nest, register_bits)


def _registers(nest: NestFeatures, register_bits: int) -> int:
    """The registers that the lanes of a statement fill."""
    bits = max(8, *(each.buffer.dtype.bits for each in nest.accesses))
    return -(-nest.iterations_of(LoopKind.VECTORIZED) * bits // register_bits)


def _log(number: float) -> float:
    return log2(1 + number)
