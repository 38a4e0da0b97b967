"""Chains as JSON, and back."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.discovery.chains import LayerChains
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainStep,
    Residual,
    ResidualSum,
    Values,
)
from tandem.hw.operations import AluOp
from tandem.workbench.discovery.kept_chains import chains_from_json, chains_to_json

NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)
VALUES = st.builds(Values, st.lists(NUMBERS, min_size=1, max_size=3).map(tuple))
RESIDUALS = st.builds(Residual, NUMBERS, st.integers(-128, 0), st.integers(1, 127))
OPERANDS = st.one_of(VALUES, RESIDUALS, st.builds(ResidualSum, VALUES, RESIDUALS))
STEPS = st.builds(
    ChainStep, st.sampled_from(AluOp), OPERANDS, st.booleans(), st.none() | st.integers(0, 31)
)
LAYERS = st.builds(
    LayerChains,
    st.text(),
    st.integers(1, 1 << 40),
    st.lists(st.lists(STEPS, max_size=4).map(tuple), max_size=3).map(tuple),
)


@given(st.lists(LAYERS, max_size=3).map(tuple))
def test_there_and_back(layers: tuple[LayerChains, ...]) -> None:
    text = json.dumps(chains_to_json(layers))
    assert chains_from_json(json.loads(text)) == layers
