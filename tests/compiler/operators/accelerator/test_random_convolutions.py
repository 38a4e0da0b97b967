"""Convolutions of random shapes and tiles, on 1, 2 and 4 virtual threads, are exact."""

from __future__ import annotations

import pytest

from hw.config_files import load_config
from tests.support.random_convolutions import RandomConvolution
from tests.support.streams import run_stream, stream_of

CONFIGS = ("tiny", "small8", "block4", "batch2", "pynq")
FEW = 40
MANY = 1000
ON_RTL = ("tiny", "small8", "batch2")


def check(seed: int, config: str, engine: str = "functional") -> None:
    drawn = RandomConvolution.of(seed, load_config(config))
    outputs, _ = run_stream(stream_of(drawn.schedule(), drawn.config), drawn.values, engine)
    drawn.check(outputs)


@pytest.mark.parametrize("seed", range(FEW))
def test_few(seed: int) -> None:
    check(seed, CONFIGS[seed % len(CONFIGS)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", CONFIGS)
def test_many(config: str) -> None:
    for seed in range(MANY, MANY + MANY // len(CONFIGS) + 1):
        try:
            check(seed, config)
        except BaseException as error:
            error.add_note(f"seed {seed}, configuration {config}")
            raise


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", ON_RTL)
def test_on_rtl(config: str) -> None:
    for seed in range(17):
        check(seed, config, "rtl")
