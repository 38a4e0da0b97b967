"""ONNX models from files and bytes: whole and legal, or refused."""

from __future__ import annotations

from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, external_data_helper

from compiler.errors import FrontendError
from compiler.frontends.onnx.checking import in_one_line

__all__ = ["read_model"]


def read_model(source: Path | str | bytes | ModelProto) -> ModelProto:
    """A model from a file, with what of it lies in files beside it, or from its bytes.

    Whether it means anything is asked by `import_model`.

    Raises
    ------
    FrontendError
        No such file, no ONNX model, or a part that is missing.
    """
    if isinstance(source, ModelProto):
        return source
    if isinstance(source, bytes):
        return _parsed(source, "the model")
    path = Path(source)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FrontendError(f"{path}: {error.strerror or error}") from error
    model = _parsed(content, str(path))
    try:
        external_data_helper.load_external_data_for_model(model, str(path.parent))
    except (OSError, ValueError, TypeError, onnx.checker.ValidationError) as error:
        raise FrontendError(
            f"{path}: what lies in other files cannot be read: {in_one_line(error)}"
        ) from error
    return model


def _parsed(content: bytes, what: str) -> ModelProto:
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise FrontendError(f"{what} is no ONNX model, or not all of one") from error
    if not model.HasField("graph") or not model.opset_import or not model.ir_version:
        raise FrontendError(f"{what} is no ONNX model: it has no graph, or no version")
    return model
