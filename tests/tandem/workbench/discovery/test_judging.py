"""Only what another try would say again is kept of judgements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tandem.compiler.machines.accelerator.discovery.candidates import Candidate, Step
from tandem.compiler.machines.accelerator.discovery.chains import LayerChains
from tandem.compiler.machines.accelerator.discovery.pass_counts import PassCounts
from tandem.compiler.machines.accelerator.templates.custom_passes import ChainStep, Values
from tandem.hw import alu_formulas
from tandem.hw.alu_formulas import Verdict
from tandem.hw.alu_terms import Name, TermOp, parse_term
from tandem.hw.config_files import load_config
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.memory_model import parse_memory
from tandem.hw.operations import AluOp
from tandem.workbench.discovery import judging
from tandem.workbench.discovery.judged import open_judged
from tandem.workbench.discovery.judging import Judges
from tandem.workbench.discovery.measure import Answer, Question
from tandem.workbench.models import ModelOptions
from tandem.workbench.search.measure import Network

QUESTION = Question(Network("digits", ModelOptions()), parse_memory("fast"))
CONFIG = load_config("tiny")
SUM = Candidate(CustomOperation("SUM", parse_term("a + b")), (Step(TermOp.ADD, Name("b")),))


class StatedAnswers:
    """A pool with stated answers, one for each time it is asked."""

    def __init__(self, *answers: Answer) -> None:
        self._left = [*answers]

    def measure(
        self, layer: Any, choices: Sequence[Any], limit: float
    ) -> Iterator[tuple[int, Answer]]:
        for at, _ in enumerate(choices):
            yield at, self._left.pop(0)


def test_an_answer_is_kept_and_a_death_is_not(tmp_path: Path) -> None:
    died, ran = Answer.failed("the process died"), Answer(5, 3)
    with open_judged(tmp_path / "judged.db") as judged:
        judges = Judges(judged, StatedAnswers(died, ran), lambda _: None)
        assert judges.cycles(QUESTION, [CONFIG]) == [died]
        assert judges.cycles(QUESTION, [CONFIG]) == [ran]
        # The pool has no third answer.
        assert judges.cycles(QUESTION, [CONFIG]) == [ran]


def test_a_refusal_is_kept(tmp_path: Path) -> None:
    refused = Answer.refused("CompilerError: too small")
    with open_judged(tmp_path / "judged.db") as judged:
        judges = Judges(judged, StatedAnswers(refused), lambda _: None)
        for _ in range(2):
            assert judges.cycles(QUESTION, [CONFIG]) == [refused]


def test_a_proof_that_was_given_up_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = [Verdict(False, {}), Verdict(True, {})]
    monkeypatch.setattr(alu_formulas, "prove_equal", lambda *_: verdicts.pop(0))
    with open_judged(tmp_path / "judged.db") as judged:
        judges = Judges(judged, StatedAnswers(), lambda _: None)
        assert [judges.proof(SUM) for _ in range(3)] == ["not decided", "proved", "proved"]


def test_chains_are_gathered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = ChainStep(AluOp.ADD, Values((3, 7)))
    gathered = [(LayerChains("layer", 5, ((step,), (step, step))),)]
    monkeypatch.setattr(judging, "chains", lambda *_: gathered.pop(0))
    with open_judged(tmp_path / "judged.db") as judged:
        judges = Judges(judged, StatedAnswers(), lambda _: None)
        found = [judges.chains(QUESTION, CONFIG) for _ in range(2)]
    assert found == 2 * [(LayerChains("layer", 5, ((step,), (step, step))),)]


def test_counts_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [PassCounts(numbers=7, terms=3)]
    monkeypatch.setattr(judging, "passes", lambda *_: counts.pop())
    with open_judged(tmp_path / "judged.db") as judged:
        judges = Judges(judged, StatedAnswers(), lambda _: None)
        for _ in range(2):
            assert judges.passes(QUESTION, CONFIG) == PassCounts(numbers=7, terms=3)
