"""Built-in decoders: one network, however many tokens it takes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tandem.compiler.models.decoders import DECODERS, gpt2_decoder
from tandem.compiler.models.transformer import Sizes

SMALL = [name for name in DECODERS if name.endswith("tiny")]


@pytest.mark.parametrize("name", SMALL)
def test_models_are_legal_and_have_the_same_weights(name: str) -> None:
    models = [DECODERS[name].model(tokens, 7) for tokens in (1, 4)]
    for model in models:
        onnx.checker.check_model(model, full_check=True)
    one, four = (
        {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
        for model in models
    )
    # Integers are shapes, and masks are of the tokens.
    learned = [name for name, array in one.items() if array.dtype == np.float32]
    assert len(learned) > 10
    for weight in learned:
        np.testing.assert_array_equal(one[weight], four[weight])


def test_trained_weights_take_the_place_of_random_ones() -> None:
    sizes = Sizes(8, 2, 16, 1, tokens=1, vocabulary=5)
    table = np.arange(40, dtype=np.float32).reshape(5, 8)
    model = gpt2_decoder("trained", sizes, 6, {"words": table}).model(1, 5)
    weights = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    np.testing.assert_array_equal(weights["words"], table)
    with pytest.raises(ValueError, match=r"words is \[5, 8\], and trained \[8, 5\]"):
        gpt2_decoder("trained", sizes, 6, {"words": table.T}).model(1, 5)
