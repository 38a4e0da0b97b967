"""Who decides: at random, as a trace says, or as a varied one."""

from __future__ import annotations

from random import Random

import pytest

from tandem.compiler.errors import ReplayError
from tandem.compiler.te.knobs import Setting
from tandem.compiler.tune.sketches.choosers import Replayed, Sampled, Varied
from tandem.compiler.tune.sketches.trace import SketchTrace

OPTIONS = (1, 2, 3)


def test_at_random() -> None:
    chooser = Sampled(Random(0))
    drawn = [chooser.choose("x", OPTIONS) for _ in range(300)]
    assert {each: drawn.count(each) > 60 for each in OPTIONS} == dict.fromkeys(OPTIONS, True)
    assert Sampled(Random(0)).choose("x", (7,)) == 7
    again = Sampled(Random(0))
    assert [again.choose("x", OPTIONS) for _ in range(300)] == drawn


def test_at_random_and_near() -> None:
    """The root is no place but where there is no other."""
    chooser = Sampled(Random(0), near=True)

    def drawn(name: str, options: tuple[Setting, ...]) -> set[Setting]:
        return {chooser.choose(name, options) for _ in range(100)}

    assert drawn("s0.at", ("root", 0, 1)) == {0, 1}
    assert drawn("s0.at", ("root",)) == {"root"}
    assert drawn("s0.mode", ("root", 0)) == {"root", 0}
    far = Sampled(Random(0))
    assert {far.choose("s0.at", ("root", 0)) for _ in range(100)} == {"root", 0}


def test_as_a_trace_says() -> None:
    chooser = Replayed.of(SketchTrace.parse("x=2 y=root"))
    assert chooser.choose("x", OPTIONS) == 2
    assert chooser.choose("y", ("root", 0)) == "root"
    with pytest.raises(ReplayError, match=r"^the trace does not decide z: 1, 2, 3 are allowed$"):
        chooser.choose("z", OPTIONS)
    with pytest.raises(ReplayError, match=r"^x is 2: 1, 3 are allowed$"):
        chooser.choose("x", (1, 3))


def test_varied() -> None:
    chooser = Varied({"x": 2, "y": 2, "z": 9, "n": 0}, frozenset({"y", "w"}), Random(0))

    def drawn(name: str, options: tuple[int, ...] = OPTIONS) -> set[object]:
        return {chooser.choose(name, options) for _ in range(100)}

    assert drawn("x") == {2}
    assert drawn("n", (0, 1)) == {0}
    # Another one than before, unless it is the only one.
    assert drawn("y") == {1, 3}
    assert drawn("y", (2,)) == {2}
    assert drawn("w") == {1, 2, 3}
    # What is no option any more, and what was not decided.
    assert drawn("z") == {1, 2, 3}
    assert drawn("v") == {1, 2, 3}
