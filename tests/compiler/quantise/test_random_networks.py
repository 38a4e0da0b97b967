"""Whatever the network: integers mean nearly what real numbers did, and exactly what NumPy says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.graph import Function, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import EliminateDead, Fuse, transform
from tandem.compiler.graph.verify import verify
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.options import Method, Mode, QuantiseOptions
from tandem.compiler.quantise.samples import synthetic
from tests.compiler.quantise.random_networks import networks
from tests.support.compiler.quantise.networks import called, sqnr
from tests.support.compiler.quantise.quantised_reference import REFERENCE, reference

RUN = NativeRunner()
EXACT_ON = compile_options().exact_on

OPTIONS = st.builds(
    QuantiseOptions,
    mode=st.sampled_from(Mode),
    method=st.sampled_from([Method.MAX, Method.MSE]),
    per_channel=st.booleans(),
)


def check(function: Function, options: QuantiseOptions) -> None:
    """Compare with real numbers and with NumPy's integers."""
    samples = list(synthetic(function, 2))
    found = quantise_network(function, samples, RUN, options, EXACT_ON).function
    types = verify(found)
    assert {let.origin for let in found.body.lets} - {None} <= set(verify(function))
    result = found.body.result
    assert isinstance(result, Var)
    assert isinstance(function.body.result, Var)
    assert types[result.name] == verify(function)[function.body.result.name]
    real = transform(function, (EliminateDead(), Fuse()))
    wanted, native = (
        evaluate(graph, samples[0], RUN) for graph in (real, transform(found, (Fuse(),)))
    )
    assert isinstance(wanted, np.ndarray)
    assert isinstance(native, np.ndarray)
    # A few bits are lost in each of ten layers, of 8 that there are. Of nothing there is no part.
    assert np.abs(wanted).max() < 1e-3 or sqnr(wanted, native) > 14
    if "quantise" in called(found) and set(called(found)) <= set(REFERENCE):
        # One operator at a time: a kernel rounds a product and a sum of real numbers only once.
        exact = evaluate(found, samples[0], RUN)
        np.testing.assert_array_equal(exact, reference(found, samples[0])[result.name])


@settings(max_examples=6)
@given(networks(), OPTIONS)
def test_sample(function: Function, options: QuantiseOptions) -> None:
    check(function, options)


@pytest.mark.exhaustive
@settings(max_examples=200)
@given(networks(16), OPTIONS)
def test_many(function: Function, options: QuantiseOptions) -> None:
    check(function, options)
