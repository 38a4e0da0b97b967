"""The account of a campaign, and the list of survivors that were judged."""

from __future__ import annotations

import pytest

from tests.mutation.killing import Verdict, VerdictKind
from tests.mutation.mutants import Mutant
from tests.mutation.report import Outcome, Report
from tests.mutation.survivors import JUDGED, Judgement, Worth, read_judgements

ROW = "| `tiny` | `m.v:1.2-3.4 Y[0] inv (a[0])` | equivalent | Bit 0 is always 0. |"


def outcome(bit: int, kind: VerdictKind, *, proven: bool = False) -> Outcome:
    mutant = Mutant("m", "c", "Y", bit, "inv", None, "", "m.v:1.2-3.4")
    return Outcome("tiny", mutant, Verdict(kind, "", 1.0), proven)


def test_a_row() -> None:
    assert read_judgements(f"# Title\n\n| a | b | c | d |\n|---|---|---|---|\n{ROW}\n") == {
        ("tiny", "m.v:1.2-3.4 Y[0] inv (a[0])"): Judgement(Worth.EQUIVALENT, "Bit 0 is always 0.")
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("| `tiny` | `m` | gap |", "a row has a configuration, a mutant, its worth and a reason: "),
        ("| `tiny` | `m` | gap |  |", "a row has a configuration"),
        ("| `tiny` | `m` | harmless | Because. |", "'harmless' is not a valid Worth"),
        (f"{ROW}\n{ROW}", "listed twice"),
    ],
)
def test_rows_that_say_too_little(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_judgements(text)


def test_the_list_can_be_read() -> None:
    read_judgements(JUDGED.read_text())


def test_equivalent_mutants_do_not_count() -> None:
    killed = [
        outcome(0, VerdictKind.FAILED),
        outcome(1, VerdictKind.HUNG),
        outcome(2, VerdictKind.CRASHED),
    ]
    survived = [
        outcome(3, VerdictKind.SURVIVED, proven=True),
        outcome(4, VerdictKind.SURVIVED),
        outcome(5, VerdictKind.SURVIVED),
        outcome(6, VerdictKind.SURVIVED),
    ]
    judgements = {
        ("tiny", survived[1].mutant.name): Judgement(Worth.EQUIVALENT, "Unused."),
        ("tiny", survived[2].mutant.name): Judgement(Worth.GAP, "Takes 2**49 cycles."),
    }
    report = Report((*killed, *survived), judgements)
    assert [report.worth(one) for one in survived] == [
        "equivalent",
        "equivalent",
        "gap",
        "not judged",
    ]
    assert report.score == 3 / 5
    data = report.as_data()
    assert (data["mutants"], data["killed"], data["equivalent"]) == (7, 3, 2)
    assert [one["worth"] for one in data["outcomes"][3:]] == [
        "equivalent",
        "equivalent",
        "gap",
        "not judged",
    ]


def test_no_mutants_no_survivors() -> None:
    assert Report((), {}).score == 1.0
