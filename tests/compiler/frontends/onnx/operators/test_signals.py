"""Fourier transforms of every kind against NumPy's, and filter banks of the mel scale by hand."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tests.support.compiler.frontends.onnx_models import Array, model

RANDOM = np.random.default_rng(45)
LENGTHS = (1, 2, 5, 6, 8)
"""Elements of a signal, or of a transform: odd, even, and so few that some frequencies are one."""


def signal(parts: int, extent: int, axis: int) -> Array:
    """A signal along an axis of three, of real or of complex elements."""
    shape = [2, 3]
    shape.insert(axis, extent)
    return RANDOM.standard_normal((*shape, parts)).astype(np.float32)


def result_of(operator: str, data: Array, opset: int, weights: dict[str, Array], **how: Any) -> Any:
    """What the node makes of the data, with operands `weights` in their order behind it."""
    node = helper.make_node(operator, ["x", *weights], ["y"], **how)
    given = {name: array for name, array in weights.items() if name}
    made = model([node], {"x": data.shape}, ["y"], given, opset=opset)
    imported = import_model(made)
    return imported.by_name(evaluate(imported.function, [data]))["y"]


def parts_of(values: Any) -> Array:
    """Real and imaginary parts along a last axis."""
    return np.stack([values.real, values.imag], -1)


def wanted(data: Array, axis: int, length: int | None, inverse: bool, onesided: bool) -> Array:
    """NumPy's transform."""
    whole = data[..., 0] + (1j * data[..., 1] if data.shape[-1] == 2 else 0)
    match inverse, onesided:
        case False, False:
            return parts_of(np.fft.fft(whole, length, axis))
        case False, True:
            return parts_of(np.fft.rfft(data[..., 0], length, axis))
        case True, False:
            return parts_of(np.fft.ifft(whole, length, axis))
        case _:
            return np.fft.irfft(whole, length, axis)[..., None]


CASES = [
    (parts, axis, extent, length, inverse, onesided)
    for parts, axis, extent, length, inverse, onesided in product(
        (1, 2), (0, 1, 2), LENGTHS, (None, *LENGTHS), (False, True), (False, True)
    )
    # Only a real signal has half of its frequencies; one frequency alone is of no signal.
    if not (onesided and parts != (2 if inverse else 1))
    and not (onesided and inverse and extent == 1 and length is None)
]


def test_transforms() -> None:
    """All kinds, of signals that are cut, padded, or as long as asked."""
    for number, case in enumerate(CASES):
        if number % 3:
            continue
        parts, axis, extent, length, inverse, onesided = case
        data = signal(parts, extent, axis)
        operands = {"" if length is None else "n": np.array(length or 0), "a": np.array(axis)}
        how = {"inverse": int(inverse), "onesided": int(onesided)}
        found = result_of("DFT", data, 20, operands, **how)
        expected = wanted(data, axis, length, inverse, onesided)
        assert found.shape == expected.shape, case
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=str(case))


@pytest.mark.parametrize("axis", [None, 1, -2])
@pytest.mark.parametrize("opset", [17, 20])
def test_the_axis_where_it_is_left_out(opset: int, axis: int | None) -> None:
    """Before opset 20 it is an attribute, and 1 by default; then an operand, and -2."""
    data = signal(1, 5, 1)
    as_attribute = {"axis": axis} if opset == 17 and axis is not None else {}
    as_operand = {"": np.array(0), "a": np.array(axis)} if opset == 20 and axis is not None else {}
    found = result_of("DFT", data, opset, as_operand, **as_attribute)
    along = axis if axis is not None else (1 if opset == 17 else -2)
    # NumPy's arrays have no axis of parts.
    expected = wanted(data, along + 1 if along < 0 else along, None, False, False)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "axis", "length", "message"),
    [
        ((2, 5, 1), 2, 5, "axis attribute value 2"),
        ((2, 5, 3), 1, 5, "5 elements along axis 1"),
        ((2, 5, 1), 1, 0, "0 elements"),
    ],
)
def test_refusals(shape: tuple[int, ...], axis: int, length: int, message: str) -> None:
    data = np.zeros(shape, np.float32)
    with pytest.raises(FrontendError, match=message):
        result_of("DFT", data, 20, {"n": np.array(length), "a": np.array(axis)})


def test_complex_signals_have_all_frequencies() -> None:
    data = np.zeros((2, 5, 2), np.float32)
    with pytest.raises(FrontendError, match="requires real input"):
        result_of("DFT", data, 20, {"n": np.array(5), "a": np.array(1)}, onesided=1)


@pytest.mark.parametrize("onesided", [False, True])
@pytest.mark.parametrize(
    ("step", "length", "has_window"), [(2, 6, True), (3, 5, False), (1, 9, True)]
)
def test_frames(onesided: bool, step: int, length: int, has_window: bool) -> None:
    """Transforms of frames, of which the last ends within the signal."""
    data = RANDOM.standard_normal((2, 17, 1)).astype(np.float32)
    window = RANDOM.uniform(0, 1, length).astype(np.float32)
    operands = {"s": np.array(step), "w" if has_window else "": window, "l": np.array(length)}
    found = result_of("STFT", data, 17, operands, onesided=int(onesided))
    starts = range(0, 17 - length + 1, step)
    frames = np.stack([data[:, at : at + length, 0] for at in starts], 1)
    frames = frames * window if has_window else frames
    transform = np.fft.rfft if onesided else np.fft.fft
    np.testing.assert_allclose(found, parts_of(transform(frames)), rtol=1e-5, atol=1e-5)


def mel_model(bins: int, length: int, rate: int, low: float, high: float) -> ModelProto:
    """A spectrum times the filters."""
    operands = {
        **{name: np.array(each) for name, each in (("b", bins), ("n", length), ("r", rate))},
        **{name: np.array(each, np.float32) for name, each in (("l", low), ("h", high))},
    }
    nodes = [
        helper.make_node("MelWeightMatrix", [*operands], ["m"]),
        helper.make_node("MatMul", ["x", "m"], ["y"]),
    ]
    return model(nodes, {"x": (2, length // 2 + 1)}, ["y"], operands, opset=17)


@pytest.mark.parametrize(
    ("bins", "length", "rate", "low", "high"),
    [
        (8, 16, 8192, 0, 4096),
        (5, 33, 16000, 20, 7600),
        (1, 8, 8000, 100, 3000),
        (40, 64, 8000, 0, 4000),
    ],
)
def test_filters_of_the_mel_scale(
    bins: int, length: int, rate: int, low: float, high: float
) -> None:
    """As in the reference of ONNX; the last has filters of one frequency."""
    made = mel_model(bins, length, rate, low, high)
    spectrum = RANDOM.uniform(0, 1, (2, length // 2 + 1)).astype(np.float32)
    imported = import_model(made)
    found = imported.by_name(evaluate(imported.function, [spectrum]))["y"]
    expected = np.asarray(*ReferenceEvaluator(made).run(None, {"x": spectrum}))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("bins", "length", "rate", "low", "high", "message"),
    [
        (0, 16, 8192, 0, 4096, "0 bins of 16 elements at 8192 Hz"),
        (1 << 20, 1 << 20, 8192, 0, 4096, "bins of 1048576 elements"),
        (8, 16, 8192, 0, 9000, "edges of 0.0 to 9000.0 Hz for 16 elements"),
    ],
)
def test_refused_filters(
    bins: int, length: int, rate: int, low: float, high: float, message: str
) -> None:
    with pytest.raises(FrontendError, match=message):
        import_model(mel_model(bins, length, rate, low, high))
