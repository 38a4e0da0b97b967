"""Parts of a search for operations: names, finalists, the best of them, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any, cast

import pytest

from tandem.compiler.errors import SearchError
from tandem.compiler.machines.accelerator.discovery.candidates import Candidate, Found, Step
from tandem.compiler.machines.accelerator.discovery.costs import SetCost, cost_of
from tandem.compiler.machines.accelerator.discovery.sets import RatedSet
from tandem.hw.alu_terms import Name, TermOp, parse_term
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.features import Feature
from tandem.hw.memory_model import parse_memory
from tandem.workbench.discovery.judging import Judges
from tandem.workbench.discovery.measure import Answer, Question
from tandem.workbench.discovery.options import Options
from tandem.workbench.discovery.run import (
    _base,
    _best,
    _check_machine,
    _compared,
    _extended,
    _Finalist,
    _finalists,
    _named,
)
from tandem.workbench.models import ModelOptions
from tandem.workbench.search.measure import Network

TINY = load_config("tiny")
QUESTION = Question(Network("digits", ModelOptions()), parse_memory("fast"))


def candidate(name: str, result: str = "a + b") -> Candidate:
    return Candidate(CustomOperation(name, parse_term(result)), (Step(TermOp.ADD, Name("b")),))


TERMS = ("a + b", "max(a, b)", "min(a, b)", "a * b")
CANDIDATES = [candidate(f"OP_{at}", term) for at, term in enumerate(TERMS)]
COSTS = [cost_of(TINY, [one.operation]) for one in CANDIDATES]


class Stated:
    """Judges with stated verdicts and cycles."""

    def __init__(self, refuted: Sequence[int] = (), answers: Sequence[Answer] = ()) -> None:
        self._refuted = [CANDIDATES[at].operation.result for at in refuted]
        self._answers = [*answers]
        self.machines: list[HardwareConfig] = []

    def proof(self, one: Candidate) -> str:
        return "refuted" if one.operation.result in self._refuted else "proved"

    def cycles(self, question: Question, configs: Sequence[HardwareConfig]) -> list[Answer]:
        self.machines += configs
        return [self._answers.pop(0) for _ in configs]


def judges(refuted: Sequence[int] = (), answers: Sequence[Answer] = ()) -> Judges:
    return cast(Judges, Stated(refuted, answers))


def options(share: float = 10.0, dsp: int = 99, finalists: int = 9) -> Options:
    return Options(
        networks=(),
        held_out=(),
        baseline=TINY,
        memory=parse_memory("fast"),
        share=share,
        dsp=dsp,
        finalists=finalists,
        synthesise=False,
        judged=None,
        jobs=1,
    )


def rated(*chosen: int, cycles: int | None = None) -> RatedSet:
    cost = sum((COSTS[at] for at in chosen), SetCost(0, 0, 0.0))
    return RatedSet(chosen, (cycles or sum(10**at for at in chosen),), 0.5, cost)


def finalists(
    sets: Sequence[RatedSet], given: Options | None = None, refuted: Sequence[int] = ()
) -> list[tuple[int, ...]]:
    found = Found(tuple(CANDIDATES), cast(Any, ()))
    return [
        one.rated.chosen for one in _finalists(given or options(), found, sets, judges(refuted))
    ]


def test_finalists_are_the_first_sets() -> None:
    sets = [rated(), rated(0), rated(1, 2), rated(0, 1)]
    assert finalists(sets) == [(0,), (1, 2), (0, 1)]
    assert finalists(sets, options(finalists=2)) == [(0,), (1, 2)]
    # Of equal cycles, the first is taken.
    assert finalists([rated(0, cycles=7), rated(1, cycles=7), rated(2)]) == [(0,), (2,)]
    # One that is not proved does not take the place of an equal one.
    sets = [rated(0, 1, cycles=7), rated(2, cycles=7)]
    assert finalists(sets, refuted=[1]) == [(2,)]


def test_finalists_are_within_the_budget() -> None:
    assert COSTS[3].dsp > COSTS[0].dsp == 0
    assert finalists([rated(3), rated(0)], options(dsp=COSTS[3].dsp)) == [(3,), (0,)]
    assert finalists([rated(3), rated(0)], options(dsp=COSTS[3].dsp - 1)) == [(0,)]
    share = COSTS[1].share
    assert finalists([rated(1)], options(share=share)) == [(1,)]
    with pytest.raises(
        SearchError, match=r"^no operations within 0\.0% of the look-up tables and "
    ):
        finalists([rated(1)], options(share=0.0))


def test_names_do_not_count_what_was_not_chosen() -> None:
    chosen = [candidate("SUM_7"), candidate("MUCH", TERMS[1]), candidate("SUM_3"), candidate("SUM")]
    named = _named(chosen)
    assert [one.operation.name for one in named] == ["SUM", "MUCH", "SUM_2", "SUM_3"]
    assert [one.operation.result for one in named] == [one.operation.result for one in chosen]


def finalist(lut: int) -> _Finalist:
    return _Finalist(rated(0), (CANDIDATES[0],), TINY, SetCost(lut, 0, 0.1))


def test_ratios_of_exact_cycles() -> None:
    before = [Answer(100, 0), Answer(200, 0)]
    one = finalist(5)
    assert one.ratio(before, [Answer(50, 0), Answer(200, 0)]) == 0.75
    # No network may be slower, or not run.
    assert one.ratio(before, [Answer(50, 0), Answer(201, 0)]) == inf
    assert one.ratio(before, [Answer(50, 0), Answer.refused("no")]) == inf


def test_the_best_finalist() -> None:
    before = [Answer(100, 0)]
    three = [finalist(9), finalist(7), finalist(8)]
    chosen, area = _best(
        options(), three, before, [[Answer(90, 0)], [Answer(80, 0)], [Answer(80, 0)]]
    )
    assert chosen is three[1]
    assert (area.cost, area.source) == (three[1].cost, "model")
    # Of equal cycles, the one with the fewest gates.
    chosen, area = _best(replace(options(), synthesise=True), three, before, [[Answer(99, 0)]] * 3)
    assert (chosen, area.source) == (three[1], "synthesis")
    for cycles in (100, 0, 101):
        with pytest.raises(
            SearchError, match=r"^3 sets of operations were compiled: none makes all"
        ):
            _best(options(), three, before, [[Answer(cycles, 0)]] * 3)


def test_machines_that_can_have_no_operations() -> None:
    _check_machine(TINY)
    own = TINY.replace(alu_operations=(CANDIDATES[0].operation, CANDIDATES[1].operation))
    message = "tiny has operations of its own (OP_0, OP_1): what is found is beside those"
    with pytest.raises(SearchError, match=f"^{re.escape(message)}"):
        _check_machine(own)


def test_networks_that_do_not_run_on_the_machine() -> None:
    answer = Answer(5, 1)
    assert _base(judges(answers=[answer]), QUESTION, TINY) is answer
    with pytest.raises(SearchError, match=r"^digits on tiny: it does not fit$"):
        _base(judges(answers=[Answer.refused("it does not fit")]), QUESTION, TINY)
    with pytest.raises(SearchError, match=r"^digits on tiny: the accelerator has nothing to do$"):
        _base(judges(answers=[Answer(0, 0)]), QUESTION, TINY)


def test_the_machine_with_the_extension_that_a_person_made() -> None:
    both = {Feature.REQUANTISE, Feature.INPUT_OPERANDS}
    pynq = load_config("pynq")
    found = _extended(pynq)
    assert found is not None
    assert found.features == pynq.features | both
    assert _extended(found) is None
    half = _extended(pynq.replace(features=pynq.features | {Feature.REQUANTISE}))
    assert half == found


def test_cycles_before_and_after() -> None:
    given, pynq = options(), load_config("pynq")
    before, after = Answer(100, 10), Answer(80, 8)
    one = judges(answers=[Answer(70, 7)])
    found = _compared(one, QUESTION, replace(given, baseline=pynq), before, after, held_out=True)
    assert [getattr(found, name) for name in found.__dataclass_fields__] == [
        *("digits", 100, 80, 10, 8, True, 70)
    ]
    assert cast(Stated, one).machines == [_extended(pynq)]
    refused = judges(answers=[Answer.refused("no")])
    found = _compared(
        refused, QUESTION, replace(given, baseline=pynq), before, after, held_out=False
    )
    assert (found.held_out, found.extended) == (False, None)
    # A machine that has the extension is not compared with itself.
    whole = _extended(pynq)
    assert whole is not None
    none = judges()
    found = _compared(none, QUESTION, replace(given, baseline=whole), before, after, held_out=False)
    assert found.extended is None
    assert cast(Stated, none).machines == []
