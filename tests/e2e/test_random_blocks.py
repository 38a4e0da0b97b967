"""Random transformer blocks and recurrent cells, quantised: the accelerator and the CPU agree in
every bit, and the streams observe VTA's rules."""

from __future__ import annotations

from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.quantise.options import Mode, QuantiseOptions
from tandem.hw.config_files import load_config
from tests.e2e.recurrent_networks import GATES, RecurrentNetwork
from tests.support.compiler.models.transformers import Transformer
from tests.support.compiler.plan.random_offloads import Offloading

Sizes: TypeAlias = Transformer | RecurrentNetwork
LONG = 70
"""Steps of a sequence that is not unrolled."""


@st.composite
def transformers(draw: st.DrawFn) -> Transformer:
    """Any widths and lengths, also such as are no multiple of a block."""
    heads, length = draw(st.integers(1, 3)), draw(st.integers(1, 20))
    return Transformer(
        vocabulary=draw(st.integers(2, 40)),
        length=length,
        features=heads * draw(st.integers(1, 14)),
        heads=heads,
        hidden=draw(st.integers(1, 60)),
        layers=draw(st.integers(1, 2)),
        causal=draw(st.booleans()),
        activation=draw(st.sampled_from(["Gelu", "Relu", "Sigmoid"])),
        padding=draw(st.integers(0, length - 1)),
        scales_operands=draw(st.booleans()),
    )


@st.composite
def cells(draw: st.DrawFn) -> RecurrentNetwork:
    """Any widths, and sequences that are unrolled or, the long ones, loops."""
    return RecurrentNetwork(
        operator=draw(st.sampled_from([*GATES])),
        vocabulary=draw(st.integers(2, 40)),
        steps=draw(st.sampled_from([*range(1, 7), LONG])),
        batch=draw(st.integers(1, 3)),
        features=draw(st.integers(1, 20)),
        units=draw(st.integers(1, 20)),
        layers=draw(st.integers(1, 2)),
        directions=draw(st.integers(1, 2)),
    )


KINDS: dict[str, st.SearchStrategy[Sizes]] = {"transformer": transformers(), "cell": cells()}
MACHINES = ("tiny", "small8", "pynq", "tiny-x", "pynq-x")
"""The first three are base presets, whose streams observe VTA's rules (`Offloading`)."""
OPTIONS = st.builds(QuantiseOptions, st.sampled_from(Mode))
SEEDS = st.integers(0, 999)
SHARDS = 5
"""Tests that each kind and machine is divided into: ten networks take a minute or so."""


def check(
    sizes: Sizes, options: QuantiseOptions, machine: str, number: int, engine: str = "functional"
) -> None:
    real = import_model(sizes.model(number)).function
    config = load_config(machine)
    run = Offloading(number, real, config, 1 + number % 2, options, stated=False, engine=engine)
    assert run.check_with_fallback().offloaded


def test_a_cell_of_uneven_widths() -> None:
    check(RecurrentNetwork("GRU", steps=2, features=7, units=10), QuantiseOptions(), "small8", 3)


@pytest.mark.exhaustive
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", KINDS)
def test_many(kind: str, machine: str, shard: int) -> None:
    """500 of them in all, the same in every run, others in each test."""

    @seed(MACHINES.index(machine) * SHARDS + shard)
    @settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
    @given(sizes=KINDS[kind], options=OPTIONS, number=SEEDS)
    def check_ten(sizes: Sizes, options: QuantiseOptions, number: int) -> None:
        check(sizes, options, machine, number)

    check_ten()


@pytest.mark.exhaustive
@pytest.mark.parametrize("machine", ["tiny", "small8-x"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), options=OPTIONS, number=SEEDS)
def test_some_on_the_rtl(
    kind: str, machine: str, data: st.DataObject, options: QuantiseOptions, number: int
) -> None:
    check(data.draw(KINDS[kind]), options, machine, number, "rtl")
