"""Passes with some candidates: as many as the compiler takes."""

from __future__ import annotations

from itertools import combinations

from tandem.compiler.machines.accelerator.discovery.candidates import find_candidates
from tandem.compiler.machines.accelerator.discovery.passes import PassTable
from tandem.compiler.machines.accelerator.templates.custom_passes import chain_cost, cover
from tandem.hw.alu_terms import print_term
from tests.compiler.machines.accelerator.discovery.cases import LAYERS

FOUND = find_candidates(LAYERS)
TABLE = PassTable([LAYERS[:2], LAYERS[2:]], FOUND.candidates, ports=2)
AT = {
    (print_term(one.operation.result), one.parameter_bits): at
    for at, one in enumerate(FOUND.candidates)
}
CLIP = AT["min(max(int32(a + b) >> 15 >> shift, low), 127)", 12]
SHORT_CLIP = AT["min(max(int32(a + b) >> 15 >> shift, low), 127)", 11]
HIGH = AT["int32(a * uint16(b) >> 8)", 0]


def test_by_hand() -> None:
    """MUL, ADD, SHR, MAX, MIN are five passes, and seven with a residual, which is scaled first."""
    assert TABLE.cycles(()) == (7500, 700)
    # MUL, clip; MUL, ADD, scaling, clip.
    assert TABLE.cycles((CLIP,)) == (3000, 400)
    assert TABLE.cycles((HIGH,)) == (7500, 700)
    assert TABLE.cycles((CLIP, HIGH)) == (3000, 400)
    # Three bits reach from 15 to 22: the first layer needs its product cut.
    assert TABLE.cycles((SHORT_CLIP,)) == (6000, 400)
    assert TABLE.cycles((SHORT_CLIP, HIGH)) == (3000, 400)


def test_as_the_compiler() -> None:
    few = TABLE.distinct()[::4]
    assert len(few) > 5
    for chosen in combinations(few, 2):
        operations = [FOUND.candidates[one].operation for one in chosen]
        wanted = []
        for layers in (LAYERS[:2], LAYERS[2:]):
            passes = 0
            for layer in layers:
                covers = (cover(steps, operations) for steps in layer.chains)
                costs = [chain_cost(one) for one in covers if one is not None]
                passes += layer.vectors * min(costs)[0]
            wanted.append(passes)
        assert TABLE.cycles(chosen) == tuple(wanted), chosen


def test_one_port_reads_twice() -> None:
    """With one port a pass with an operand from ACC takes two cycles: MUL and ADD."""
    slow = PassTable([LAYERS[:1]], FOUND.candidates, ports=1)
    assert slow.cycles(()) == (7000,)
    assert slow.cycles((CLIP,)) == (4000,)


def test_distinct_candidates_cover_something() -> None:
    distinct = TABLE.distinct()
    assert CLIP in distinct
    covered = [TABLE.coverage(one) for one in distinct]
    assert all(covered)
    assert len({*covered}) == len(covered)
    assert TABLE.layers_of(CLIP) == 3
