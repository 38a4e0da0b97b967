"""Two threads beside one."""

from __future__ import annotations

import pytest

bench = pytest.importorskip("tandem.scripts.bench.thread_counts")


@pytest.mark.parametrize("int8", [False, True])
def test_both_give_the_same_and_are_timed(int8: bool) -> None:
    one, two, ratio = bench.measure(["autoencoder"], int8, rounds=1)
    assert (one.name, two.name) == ("autoencoder, one thread", "autoencoder, two threads")
    assert one.value > 0
    assert ratio.value == pytest.approx(two.value / one.value)
    assert (ratio.target, ratio.at_most) == (bench.TARGET, True)
