"""Files and bytes that are ONNX models, and those that are none."""

from __future__ import annotations

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx import import_model, read_model
from tandem.compiler.graph import Constant
from tests.support.compiler.frontends.onnx_models import model, residual


def scaled() -> onnx.ModelProto:
    """A product with weights that are worth a file of their own."""
    weights = {"w": np.arange(8192, dtype=np.float32)}
    return model([helper.make_node("Mul", ["x", "w"], ["y"])], {"x": [8192]}, ["y"], weights)


def test_files_bytes_and_models(tmp_path: Path) -> None:
    given = residual()
    path = tmp_path / "model.onnx"
    path.write_bytes(given.SerializeToString())
    assert read_model(given) is given
    assert read_model(path) == read_model(str(path)) == read_model(path.read_bytes()) == given


def test_weights_in_another_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save_model(scaled(), str(path), save_as_external_data=True, location="weights.bin")
    function = import_model(read_model(path)).function
    (let,) = function.body.lets
    (constant,) = (each for each in let.value.args if isinstance(each, Constant))  # type: ignore[union-attr]
    np.testing.assert_array_equal(constant.array, np.arange(8192, dtype=np.float32))
    with pytest.raises(FrontendError, match="initialiser w lies in another file"):
        import_model(read_model(path.read_bytes()))
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(
        FrontendError, match=r"model\.onnx: what lies in other files cannot be read"
    ):
        read_model(path)


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname"])
def test_no_file_elsewhere_is_read(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(32768))
    path = folder / "model.onnx"
    given = scaled()
    (tensor,) = given.graph.initializer
    onnx.external_data_helper.set_external_data(tensor, location)
    tensor.ClearField("raw_data")
    path.write_bytes(given.SerializeToString())
    with pytest.raises(FrontendError, match="what lies in other files cannot be read"):
        read_model(path)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("device", "not a regular file"),
        ("pipe", "not a regular file"),
        ("sparse", "the file has 1,099,511,627,776 bytes; at most 17,179,869,184 are read"),
        ("often", "the tensors in it have more than 17,179,869,184 bytes in all"),
    ],
)
def test_other_files_are_regular_and_not_too_large(tmp_path: Path, kind: str, message: str) -> None:
    path, other = tmp_path / "model.onnx", tmp_path / "weights.bin"
    given = scaled()
    (tensor,) = given.graph.initializer
    onnx.external_data_helper.set_external_data(tensor, other.name)
    tensor.ClearField("raw_data")
    match kind:
        case "device":
            other.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(other)
        case "sparse":
            other.touch()
            os.truncate(other, 1 << 40)
        case _:
            other.touch()
            os.truncate(other, 1 << 33)
            for _ in range(2):
                given.graph.initializer.add().CopyFrom(tensor)
    path.write_bytes(given.SerializeToString())
    with pytest.raises(FrontendError, match=message):
        read_model(path)


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(FrontendError, match=r"missing\.onnx: No such file"):
        read_model(tmp_path / "missing.onnx")
    with pytest.raises(FrontendError, match="Is a directory"):
        read_model(tmp_path)
    for content in (b"", b"import numpy\n", bytes(1000), b"\x7fELF"):
        with pytest.raises(FrontendError, match="the model is no ONNX model"):
            read_model(content)


def test_weights_that_do_not_fit_their_shape() -> None:
    given = scaled()
    given.graph.initializer[0].raw_data = bytes(12)
    with pytest.raises(FrontendError, match=r"initialiser w is of the shape \[8192\], and has 12"):
        import_model(given)
    given = scaled()
    given.graph.initializer[0].CopyFrom(
        helper.make_tensor("w", onnx.TensorProto.FLOAT, [8192], [0.0] * 8192)
    )
    del given.graph.initializer[0].float_data[7:]
    with pytest.raises(FrontendError, match=r"initialiser w is of the shape \[8192\]"):
        import_model(given)
    negative = scaled()
    negative.graph.initializer[0].dims[:] = [-8192]
    with pytest.raises(FrontendError):
        import_model(negative)


def test_names_are_shown_in_one_line() -> None:
    given = scaled()
    given.graph.node[0].op_type = "Evil\n\x1b[31mred"
    with pytest.raises(FrontendError) as caught:
        import_model(given)
    assert str(caught.value).isprintable()
    assert "Evil ?[31mred" in str(caught.value)


def test_floats_of_eight_bits_are_refused() -> None:
    """With what is allowed, and what to do."""
    given = scaled()
    given.opset_import[0].version, given.ir_version = 21, 10
    graph = given.graph
    small = numpy_helper.from_array(np.zeros(8192, ml_dtypes.float8_e5m2), "w")
    for info in (*graph.input, *graph.output):
        info.type.tensor_type.elem_type = small.data_type
    graph.initializer[0].CopyFrom(small)
    graph.node[0].CopyFrom(helper.make_node("Identity", ["w"], ["y"]))
    said = (
        r"is of the type float8e5m2: the types that are supported are bfloat16, bool, float64, .*, "
        r"uint64; convert the model to float32$"
    )
    with pytest.raises(UnsupportedError, match=f"^initialiser w {said}"):
        import_model(given)
    graph.node[0].CopyFrom(helper.make_node("Identity", ["x"], ["y"]))
    graph.initializer[0].CopyFrom(numpy_helper.from_array(np.zeros(8192, np.float32), "w"))
    with pytest.raises(UnsupportedError, match=f"^input x {said}"):
        import_model(given)
