"""The trained network, on images that it has not seen: int8 is right as often as float32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import tandem.compiler.models
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph import Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.models import built_in
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.options import Mode, QuantiseOptions
from tests.support.compiler.quantise.quantised_reference import reference

RUN = NativeRunner()
IMAGES = np.load(Path(tandem.compiler.models.__file__).parent / "digits.npz")
HELD_OUT, LABELS, CALIBRATION = (
    IMAGES["images"].astype("float32") / 16,
    IMAGES["labels"],
    IMAGES["calibration"].astype("float32") / 16,
)


@pytest.mark.parametrize("mode", list(Mode))
def test_as_often_right_as_in_real_numbers(mode: Mode) -> None:
    model = built_in("digits")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (real,) = session.run(None, {"input": HELD_OUT})
    imported = import_model(model)
    options, targets = QuantiseOptions(mode), compile_options().exact_on
    found = quantise_network(imported.function, [[CALIBRATION]], RUN, options, targets)
    logits = evaluate(transform(found.function, (Fuse(),)), [HELD_OUT], RUN)
    assert isinstance(logits, np.ndarray)
    result = found.function.body.result
    assert isinstance(result, Var)
    np.testing.assert_array_equal(logits, reference(found.function, [HELD_OUT])[result.name])
    float_right, int_right = (
        float((scores.argmax(1) == LABELS).mean()) for scores in (np.asarray(real), logits)
    )
    print(f"\ndigits, {mode.value}: float32 {float_right:.2%}, int8 {int_right:.2%} right")
    assert float_right > 0.98
    assert abs(float_right - int_right) <= 0.01
    # Logits, too, are nearly the same.
    assert np.abs(logits - real).mean() < 0.05 * np.abs(real).mean()


def test_nothing_was_seen_in_training() -> None:
    seen = {each.tobytes() for each in IMAGES["calibration"]}
    assert len(HELD_OUT) == 360
    assert not seen & {each.tobytes() for each in IMAGES["images"]}
