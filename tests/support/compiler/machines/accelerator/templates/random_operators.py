"""Random tests of an accelerator operator: few in quick test runs, many in exhaustive ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import (
    CONFIGS,
    EXTENDED,
    MORE_RTL_SEEDS,
    ON_RTL,
    RTL_SEEDS,
    THREADS,
    machine,
)


class Check(Protocol):
    """A function that draws an operator from a seed, runs it and compares its result with NumPy."""

    def __call__(
        self, seed: int, config: HardwareConfig, threads: int, engine: str = "functional"
    ) -> None: ...


def random_tests(
    check: Check, *, few: int, many: int = 100, configs: Sequence[str] = (*CONFIGS, *EXTENDED)
) -> tuple[Callable[..., None], Callable[..., None], Callable[..., None], Callable[..., None]]:
    """Four random tests, which the calling test module assigns to names.

    Parameters
    ----------
    few, many
        The number of seeds of the quick test, and of the exhaustive test on each configuration.

    Returns
    -------
    tuple
        Quick and exhaustive tests on the simulator, then quick ones on the RTL of `tiny` and
        exhaustive ones on the RTL of the configurations `ON_RTL`.
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
