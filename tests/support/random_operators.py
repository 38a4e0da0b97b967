"""Random tests of an accelerator operator: few in quick runs, many in exhaustive runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hw.config import HardwareConfig
from tests.support.accelerator_operators import (
    CONFIGS,
    MORE_RTL_SEEDS,
    ON_RTL,
    RTL_SEEDS,
    THREADS,
    machine,
)

__all__ = ["random_tests"]


class Check(Protocol):
    """A function that draws an operator from a seed, runs it, and compares it with NumPy."""

    def __call__(
        self, seed: int, config: HardwareConfig, threads: int, engine: str = "functional"
    ) -> None: ...


def random_tests(
    check: Check, *, few: int, many: int = 100, configs: Sequence[str] = CONFIGS
) -> tuple[Callable[..., None], Callable[..., None], Callable[..., None], Callable[..., None]]:
    """Four test functions, which a test module assigns to names.

    Parameters
    ----------
    few, many
        Numbers of random seeds: in quick tests, and per configuration in exhaustive tests.

    Returns
    -------
    tuple
        Tests of few seeds, of many, of few on the RTL of `tiny`, of many on three RTLs.
    """

    @settings(max_examples=few)
    @given(
        seed=st.integers(0, 2**32 - 1),
        config=st.sampled_from([*configs]),
        threads=st.sampled_from(THREADS),
    )
    def test_few(seed: int, config: str, threads: int) -> None:
        check(seed, machine(config), threads)

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("config", configs)
    def test_many(config: str) -> None:
        for seed in range(many):
            check(seed, machine(config), THREADS[seed % len(THREADS)])

    @pytest.mark.parametrize("seed", RTL_SEEDS)
    def test_few_on_rtl(seed: int) -> None:
        check(seed, machine("tiny"), THREADS[seed], "rtl")

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("config", ON_RTL)
    def test_many_on_rtl(config: str) -> None:
        for seed in MORE_RTL_SEEDS:
            check(seed, machine(config), THREADS[seed % len(THREADS)], "rtl")

    return test_few, test_many, test_few_on_rtl, test_many_on_rtl
