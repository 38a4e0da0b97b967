"""Whatever the network and the machine: the accelerator gives what the CPU gives."""

from __future__ import annotations

import pytest

from tests.support.compiler.plan.random_offloads import Offloading


def check(seeds: range, engine: str = "functional", *, upsampling: bool = False) -> None:
    """All of them, of which a good part multiplies on the accelerator. A failing test shows the
    seed: the last line that it printed."""
    shares = []
    for seed in seeds:
        print(f"Offloading.of({seed}, {engine!r}, upsampling={upsampling}).check()")
        shares.append(Offloading.of(seed, engine, upsampling=upsampling).check())
    multiplying = [each for each in shares if each.macs]
    assert sum(each.offloaded > 0 for each in multiplying) > len(multiplying) / 3


def test_few() -> None:
    """The digests are of the first four."""
    check(range(6, 8))


def test_few_on_rtl() -> None:
    check(range(2), "rtl")


def test_few_that_enlarge_images() -> None:
    check(range(3000, 3002), upsampling=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(3000, 3100, 20))
def test_many_that_enlarge_images(first: int) -> None:
    check(range(first, first + 20), upsampling=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(1000, 1320, 20))
def test_many(first: int) -> None:
    check(range(first, first + 20))


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(2000, 2060, 15))
def test_many_on_rtl(first: int) -> None:
    check(range(first, first + 15), "rtl")
