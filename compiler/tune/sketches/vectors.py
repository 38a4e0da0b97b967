"""Programs as numbers: a vector, which a learned cost model reads, and a rough cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, prod
from operator import mul
from typing import Final

import numpy as np

from tandem.compiler.ir.stmt import LoopKind, PrimFunc
from tandem.compiler.lower.program_features import (
    WRITTEN_OUT,
    AccessFeatures,
    NestFeatures,
    features,
)
from tandem.compiler.plan.space import Floats

NESTS: Final = 3
"""The nests of most iterations that have numbers of their own."""
_DEPTHS: Final = 4
_ACCESSES: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class ProgramNumbers:
    """What is known of a lowered program before it is measured.

    Attributes
    ----------
    vector
        Totals, and numbers of the statements that run most often. All are logarithms of counts of
        instructions, elements and bytes, so that programs of several shapes are alike.
    steps
        A rough cost, positive: for each statement the registers that it computes or those that it
        loads, whichever are more, summed. Registers hold what unrolled iterations share, and a
        vector is as many registers as it fills.
    """

    vector: Floats
    steps: float


def program_numbers(program: PrimFunc, register_bits: int) -> ProgramNumbers:
    """The numbers of a lowered program, on a machine with vectors of so many bits."""
    nests = features(program)
    return ProgramNumbers(_vector(nests, register_bits), _steps(nests, register_bits))


def _vector(nests: tuple[NestFeatures, ...], register_bits: int) -> Floats:
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
    serial = [count for _, kind, count in nest.loops if kind not in WRITTEN_OUT]
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
    loaded = _loaded(nest, register_bits)
    lanes = _loaded(nest, register_bits, in_lanes=True)
    found += [
        _log(loaded * _rounds(nest)),
        _log(loaded),
        _log(lanes),
        _log(loaded - lanes),
        log2(max(1, _statements(nest, register_bits)) / max(1, loaded)),
        _log(sum(_filled(each, nest, register_bits) for each in nest.accesses if each.writes)),
    ]
    return found + [0.0] * (len(_of_access(kept[0])) * (_ACCESSES - len(kept)))


def _steps(nests: tuple[NestFeatures, ...], register_bits: int) -> float:
    """See `ProgramNumbers`."""
    found = sum(
        _rounds(nest) * max(_statements(nest, register_bits), _loaded(nest, register_bits))
        for nest in nests
    )
    return max(1.0, float(found))


def _rounds(nest: NestFeatures) -> int:
    """How often the written-out iterations of a statement run."""
    return prod(count for _, kind, count in nest.loops if kind not in WRITTEN_OUT)


def _loaded(nest: NestFeatures, register_bits: int, *, in_lanes: bool = False) -> int:
    """The registers that the written-out iterations of a statement load; those that are loaded as
    vectors alone, if that is asked."""
    return sum(
        _filled(access, nest, register_bits)
        for access in nest.accesses
        if not access.writes and (access.in_lanes or not in_lanes)
    )


def _filled(access: AccessFeatures, nest: NestFeatures, register_bits: int) -> int:
    """The registers that the written-out iterations of an access fill."""
    if not access.in_lanes:
        return access.at_once
    lanes = nest.iterations_of(LoopKind.VECTORIZED)
    return -(-access.at_once // lanes) * -(-lanes * access.buffer.dtype.bits // register_bits)


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
